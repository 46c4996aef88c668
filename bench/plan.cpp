// What inserting a trial and deciding what to train next cost in a search plan
// of a given size.
//
//   plan TRIALS COMBINATIONS [STUDIES]
//
// Trials take turns through so many combinations of schedules over 100 steps:
// learning rate, momentum, batch size and, from step 60 on, weight decay. With
// as many combinations as trials each one brings a node of its own. Prints a
// line of JSON; times are microseconds, memory is what is allocated in the end.
//
// A decision is: choose a path, lease it, follow what that changes. It is timed
// while so many stages wait, or fewer where combinations are fewer.

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "hippo/plan/schedule/scheduler.hpp"
#include "waiting_trials.hpp"

namespace {

using namespace hippo;
using clock_type = std::chrono::steady_clock;

constexpr std::size_t decisions_max = 10'000;

double microseconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double, std::micro>(clock_type::now() - begin)
    .count();
}

double allocated() {
  const auto now = ::mallinfo2();
  return static_cast<double>(now.uordblks + now.hblkhd);
}

double quantile(const std::vector<double>& sorted, double share) {
  const auto i = static_cast<double>(sorted.size() - 1) * share;
  return sorted[static_cast<std::size_t>(i)];
}

} // namespace

int main(int argc, char** argv) {
  const auto trials = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const auto combinations = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  const auto studies = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  if (trials == 0 || combinations == 0 || studies == 0) {
    std::fprintf(stderr, "usage: plan TRIALS COMBINATIONS [STUDIES]\n");
    return 2;
  }
  std::vector<std::vector<segment>> ways;
  for (std::uint64_t i = 0; i < std::min(combinations, trials); ++i)
    ways.push_back(segments_of(i));

  const auto before = allocated();
  search_plan plan;
  for (std::uint64_t i = 0; i < studies; ++i)
    plan.add_study({last_step, {last_step}});
  auto begin = clock_type::now();
  for (std::uint64_t i = 0; i < trials; ++i)
    plan.ask(
      plan.add_trial(static_cast<study_no>(i % studies), ways[i % ways.size()]),
      last_step);
  const auto insert = microseconds_since(begin) / static_cast<double>(trials);
  const auto in_plan = (allocated() - before) / static_cast<double>(trials);

  const time_estimates estimates{{"batch_size"}};
  scheduler chooser{plan, estimates, policy::critical_path};
  begin = clock_type::now();
  chooser.update(plan.take_changed());
  const auto follow = microseconds_since(begin) / static_cast<double>(trials);
  const auto in_all = (allocated() - before) / static_cast<double>(trials);

  std::vector<double> times;
  while (times.size() < decisions_max) {
    begin = clock_type::now();
    auto path = chooser.choose();
    if (!path)
      break;
    lease work;
    work.number = lease_id{times.size() + 1};
    work.stages = std::move(path->stages);
    plan.begin_lease(work);
    chooser.update(plan.take_changed());
    times.push_back(microseconds_since(begin));
    finish(plan, work);
    chooser.update(plan.take_changed());
    plan.take_deliveries();
  }
  std::sort(times.begin(), times.end());
  std::printf("{\"insert_us\": %.3f, \"follow_us\": %.3f, "
              "\"plan_bytes\": %.1f, \"bytes\": %.1f, \"nodes\": %zu, "
              "\"decision_p50_us\": %.3f, \"decision_p99_us\": %.3f}\n",
              insert, follow, in_plan, in_all, plan.size(),
              quantile(times, 0.5), quantile(times, 0.99));
}
