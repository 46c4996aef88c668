#include "gateway/live_study.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "hippo/core/ratio.hpp"
#include "hippo/report/run_figures.hpp"

namespace hippo {

namespace {

/// Why no trainer can train a workload now; empty: one can.
std::string why_waiting(const pool_status& pool, const std::string& key) {
  const auto is_there = [](const trainer_record& x) {
    return x.lost.empty() && !x.left;
  };
  if (std::ranges::none_of(pool.trainers, is_there))
    return "no trainer is connected: start one with hippo-trainer --connect "
           "HOST:PORT";
  const auto stuck
    = std::ranges::find(pool.stuck, key, &pool_status::stuck_workload::key);
  return stuck == pool.stuck.end() ? std::string{} : stuck->why;
}

/// Estimates how long a study takes yet.
std::optional<double> time_left(const study_status& study,
                                const std::string& key, const live_view& live) {
  const auto merger = live.merger_of.find(key);
  if (merger == live.merger_of.end())
    return std::nullopt;
  const auto& plan = live.mergers[merger->second];
  work_left left;
  left.waiting_steps = study.waiting_steps;
  left.steps_to_come = study.to_come.steps;
  left.longest_to_come = study.to_come.longest;
  left.step_seconds = plan.step_seconds;
  left.unique_share
    = 1 / ratio(plan.figures.asked_steps, plan.figures.unique_steps);
  std::set<trainer_id> trainers;
  for (const auto& x : plan.running)
    if (std::ranges::find(x.studies, study.id) != x.studies.end()) {
      trainers.insert(x.trainer);
      left.running = std::max(left.running, x.to - std::min(x.at, x.to));
    }
  if (study.seconds_max)
    left.seconds_max = std::max(0.0, *study.seconds_max - study.active_seconds);
  return seconds_left({left}, trainers.size());
}

} // namespace

live_study_view live_view_of(study_view x, const live_view& live) {
  live_study_view result{std::move(x), 0};
  const auto& stored = result.stored;
  result.active_seconds = stored.study.active_seconds;
  const auto running = live.studies.find(stored.study.id);
  if (running == live.studies.end() || has_ended(stored.study.state))
    return result;
  result.active_seconds = running->second.active_seconds;
  result.waiting = stored.study.state == study_phase::paused
                     ? stored.study.reason // empty: somebody wants it so
                     : why_waiting(live.pool, stored.workload_key);
  result.seconds_left = time_left(running->second, stored.workload_key, live);
  return result;
}

} // namespace hippo
