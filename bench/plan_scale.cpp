// How the cost of inserting a trial and of a scheduling decision grows with
// the size of the search plan.
//
//   plan_scale [--studies N] [TRIALS...]    default: 1 10000 100000 1000000
//
// Trials have one of 64 learning-rate schedules over 100 steps with a
// continuous weight decay from step 60 on, so that they share much and yet
// every one brings a node of its own. Those of several studies alternate. A
// decision is: choose a path, lease it, take in the report of its end.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "hippo/core/hash.hpp"
#include "hippo/schedule/scheduler.hpp"

namespace {

using namespace hippo;
using clock_type = std::chrono::steady_clock;

constexpr step_t last_step = 100;
constexpr std::uint64_t decisions = 2000;

double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

std::vector<segment> segments_of(std::uint64_t trial) {
  const auto draw = hash_bytes(&trial, sizeof(trial));
  const auto schedule = draw % 64;
  configuration x{{"batch_size", form::constant(64)},
                  {"lr", form::constant(0.1)},
                  {"momentum", form::constant(schedule % 2 == 0 ? 0.9 : 0.8)},
                  {"weight_decay", form::constant(0)}};
  std::vector<segment> result{{0, x}};
  x["lr"] = form::constant(0.01);
  result.push_back({10 + schedule / 2, x});
  x["weight_decay"]
    = form::constant(1e-5 * (1 + static_cast<double>(trial) / 16));
  result.push_back({60, x});
  return result;
}

double resident_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct costs {
  double insert_us = 0;
  double decision_us = 0;
};

costs measure(std::uint64_t trials, std::uint64_t studies) {
  search_plan plan;
  time_estimates estimates{{"batch_size"}};
  scheduler chooser{plan, estimates, policy::critical_path};
  for (std::uint64_t i = 0; i < studies; ++i)
    plan.add_study({last_step, {last_step}});
  costs result;
  auto begin = clock_type::now();
  for (std::uint64_t i = 0; i < trials; ++i) {
    plan.ask(plan.add_trial(static_cast<study_no>(i % studies), segments_of(i)),
             last_step);
    chooser.update(plan.take_changed());
  }
  result.insert_us = seconds_since(begin) * 1e6 / static_cast<double>(trials);
  begin = clock_type::now();
  std::uint64_t done = 0;
  for (; done < decisions; ++done) {
    auto path = chooser.choose();
    if (!path)
      break;
    lease work;
    work.number = done + 1;
    work.stages = path->stages;
    plan.begin_lease(work);
    chooser.update(plan.take_changed());
    for (const auto& stage : work.stages)
      for (const auto& stop :
           plan.stops_of(stage.node, stage.begin, stage.end, 0)) {
        stop_report report;
        report.lease = work.number;
        report.at = stop.at;
        if (stop.evaluate)
          report.values = {{"value", 1}};
        if (stop.save)
          report.saved = checkpoint{"file", 1, 1};
        plan.record(report);
      }
    plan.end_lease(work.number);
    chooser.update(plan.take_changed());
    plan.take_deliveries();
  }
  result.decision_us = seconds_since(begin) * 1e6 / static_cast<double>(done);
  std::printf("%9llu trials  %9zu nodes  insert %7.2f us  decision %7.2f us"
              "  peak %6.0f MB\n",
              static_cast<unsigned long long>(trials), plan.size(),
              result.insert_us, result.decision_us, resident_mb());
  std::fflush(stdout);
  return result;
}

} // namespace

int main(int argc, char** argv) {
  std::vector<std::uint64_t> sizes;
  std::uint64_t studies = 1;
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--studies") == 0 && i + 1 < argc)
      studies = std::max(std::strtoull(argv[++i], nullptr, 10), 1ull);
    else
      sizes.push_back(std::strtoull(argv[i], nullptr, 10));
  if (sizes.empty())
    sizes = {10'000, 100'000, 1'000'000};
  std::vector<costs> all;
  for (auto n : sizes)
    all.push_back(measure(n, studies));
  std::printf("largest against smallest: insert x %.2f, decision x %.2f\n",
              all.back().insert_us / all.front().insert_us,
              all.back().decision_us / all.front().decision_us);
}
