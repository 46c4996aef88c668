#include "gateway/live_study.hpp"

#include <algorithm>
#include <utility>

#include "gateway/time_left.hpp"

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
  if (const auto merger = live.merger_of.find(stored.workload_key);
      merger != live.merger_of.end())
    result.seconds_left
      = time_left(running->second, live.mergers[merger->second],
                  idle_trainers(live.pool.trainers, live.mergers));
  return result;
}

} // namespace hippo
