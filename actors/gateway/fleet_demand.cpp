#include "gateway/fleet_demand.hpp"

#include <algorithm>
#include <set>

#include "hippo/service/pool/options.hpp"

namespace hippo {

namespace {

/// The most trials that the studies of a workload may train at once.
std::uint64_t trials_at_once(const live_view& now, const std::string& key) {
  std::uint64_t result = 0;
  for (const auto& [id, x] : now.studies)
    if (x.view.workload == key
        && (x.state == study_phase::running
            || x.state == study_phase::stopping))
      result += (x.view.trials - std::min(x.view.trials, x.view.finished))
                * std::max(x.view.seeds, 1u);
  return result;
}

bool any_is_connected(const pool_status& pool) {
  return std::ranges::any_of(pool.trainers, &trainer_record::is_there);
}

work_demand work_of(const live_view& now, const workload_demand& x,
                    const merger_status& merger) {
  work_demand result;
  result.workload = x.key;
  result.ranks = x.ranks;
  result.kinds.assign(x.kinds.begin(), x.kinds.end());
  result.unfit.assign(x.unfit.begin(), x.unfit.end());
  std::set<trainer_id> working;
  for (const auto& lease : merger.running)
    working.insert(lease.trainer);
  result.working = working.size();
  const auto stuck =
    std::ranges::find(now.pool.stuck, x.key, &pool_status::stuck_workload::key);
  if (stuck != now.pool.stuck.end())
    result.stuck = stuck->why;
  const bool is_anyone_there = any_is_connected(now.pool);
  if (!merger.hindered.empty() && is_anyone_there)
    return result;
  // A study that starts more for each trainer wants any number of them.
  const auto most = trials_at_once(now, x.key) * x.members;
  result.waiting = x.wanted >= waiting_leases_max
                     ? most - std::min(most, result.working)
                     : merger.startable_stages * x.members;
  // More of what is there, or was there last, would be of no use either; one
  // that comes may be.
  if ((!result.stuck.empty() && is_anyone_there) || !merger.hindered.empty()
      || !merger.short_of_time.empty())
    result.waiting = std::min<std::uint64_t>(result.waiting, x.members);
  return result;
}

/// Adds the time until the last of its studies ends with so many trainers, and
/// the one until their first deadline.
void add_times(work_demand& to, const live_view& now, std::uint64_t trainers) {
  for (const auto& [id, ahead] : now.ahead) {
    const auto study = now.studies.find(id);
    if (study == now.studies.end()
        || study->second.view.workload != to.workload)
      continue;
    if (const auto seconds = ahead.seconds(trainers))
      to.seconds = std::max(to.seconds.value_or(0), *seconds);
    if (const auto left = study->second.view.deadline_seconds_left)
      to.deadline_seconds =
        std::min(to.deadline_seconds.value_or(*left), *left);
  }
}

std::vector<connected_trainer> connected_to(const pool_status& pool) {
  std::vector<connected_trainer> result;
  for (const auto& x : pool.trainers) {
    if (!x.is_there())
      continue;
    auto& view = result.emplace_back();
    view.trainer = x.number;
    view.name = x.name;
    view.device = x.device;
    view.memory_bytes = x.memory_bytes;
    view.ranks = x.ranks;
    const auto idle = pool.idle_seconds.find(trainer_id{x.number});
    if (idle != pool.idle_seconds.end() && x.held_up.empty())
      view.idle_seconds = idle->second;
    view.seconds_left = x.seconds_left;
  }
  return result;
}

} // namespace

demand_view demand_of(const live_view& now) {
  demand_view result;
  for (const auto& x : now.pool.demands) {
    const auto merger = now.merger_of.find(x.key);
    if (merger == now.merger_of.end())
      continue;
    auto work = work_of(now, x, now.mergers[merger->second]);
    if (work.working + work.waiting == 0)
      continue;
    result.trainers += work.working + work.waiting;
    result.work.push_back(std::move(work));
  }
  for (auto& x : result.work)
    add_times(x, now, result.trainers);
  result.connected = connected_to(now.pool);
  result.refused = now.pool.refused;
  return result;
}

std::string kinds_text(const work_demand& x) {
  std::string result;
  for (const auto& kind : x.kinds)
    result += (result.empty() ? "" : "|") + kind;
  return result.empty() ? "any" : result;
}

} // namespace hippo
