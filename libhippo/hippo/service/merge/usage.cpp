#include "hippo/service/merge/usage.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <utility>

namespace hippo {

namespace {

double seconds(std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

} // namespace

double usage::add(std::vector<interval>& to, moment since, moment now) {
  assert(to.empty() || to.back().end <= now);
  auto begin = since;
  auto end = now; // of what has not been looked at
  auto added = moment::duration::zero();
  for (; !to.empty() && to.back().end >= since; to.pop_back()) {
    added += end - to.back().end;
    end = to.back().begin;
    begin = std::min(begin, end);
  }
  if (end > since)
    added += end - since;
  to.push_back({begin, now});
  return std::chrono::duration<double>(added).count();
}

double usage::book(const running_lease& lease, const stop_report& report,
                   moment now, moment unreported_since) {
  const auto since = lease.progress.reported;
  assert(now >= since);
  assert(report.at >= lease.progress.reached);
  auto& trainer = by_trainer_[lease.trainer];
  const auto span = seconds_between(since, now);
  const auto unbooked = add(trainer.intervals, since, now);
  assert(unbooked <= span);
  const auto part = span > 0 ? unbooked / span : 1;
  std::erase_if(trainer.intervals, [&](const interval& y) {
    return y.end <= unreported_since;
  });
  trainer.seconds += unbooked;
  busy_record busy;
  busy.trainer = number_of(lease.trainer);
  busy.lane = lease.work.lane;
  busy.begin = seconds_between(begun_, since);
  busy.end = seconds_between(begun_, now);
  busy.stage =
    number_of(lease.work.stages[stage_index(lease.work, report.at)].node);
  busy.from = lease.progress.reached;
  busy.to = report.at;
  busy.load = seconds(report.load_ns);
  busy.train = seconds(report.train_ns);
  busy.wait = seconds(report.wait_ns);
  busy.evaluate = seconds(report.evaluate_ns);
  busy.save = seconds(report.save_ns);
  totals_.busy_seconds += unbooked;
  totals_.load_seconds += part * busy.load;
  totals_.train_seconds += part * busy.train;
  totals_.wait_seconds += part * busy.wait;
  totals_.evaluate_seconds += part * busy.evaluate;
  totals_.save_seconds += part * busy.save;
  totals_.dispatch_seconds
    += part
       * std::max(0.0, span - busy.load - busy.train - busy.evaluate
                         - busy.save);
  totals_.timeline_is_whole = totals_.timeline.size() < timeline_entries_max;
  if (totals_.timeline_is_whole)
    totals_.timeline.push_back(busy);
  count_steps(report.trained_steps);
  check_invariants();
  return span;
}

void usage::forget(trainer_id trainer) {
  if (const auto entry = by_trainer_.extract(trainer))
    forgotten_seconds_ += entry.mapped().seconds;
  check_invariants();
}

std::optional<steps_trained>
usage::take_unstored(const std::string& workload_key) {
  assert(stored_steps_ <= trained_steps_);
  const auto steps = trained_steps_ - stored_steps_;
  if (steps == 0)
    return std::nullopt;
  stored_steps_ = trained_steps_;
  return steps_trained{
    workload_key, steps,
    totals_.busy_seconds
      - std::exchange(stored_device_seconds_, totals_.busy_seconds)};
}

trained_time usage::trained() const {
  return {before_.steps + trained_steps_,
          before_.device_seconds + totals_.busy_seconds};
}

void usage::check_invariants() const {
#ifndef NDEBUG
  assert(stored_steps_ <= trained_steps_);
  assert(stored_device_seconds_ <= totals_.busy_seconds);
  assert(totals_.timeline.size() <= timeline_entries_max);
  // O(trainers): where there are many, a part of the calls makes the check.
  constexpr std::size_t trainers_checked_max = 64;
  if (by_trainer_.size() > trainers_checked_max)
    return;
  auto sum = forgotten_seconds_;
  for (const auto& [id, x] : by_trainer_) {
    sum += x.seconds;
    for (std::size_t i = 1; i < x.intervals.size(); ++i)
      assert(x.intervals[i - 1].end < x.intervals[i].begin);
  }
  assert(std::abs(sum - totals_.busy_seconds)
         <= 1e-9 * std::max(1.0, totals_.busy_seconds));
#endif
}

} // namespace hippo
