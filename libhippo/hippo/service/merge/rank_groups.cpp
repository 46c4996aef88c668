#include "hippo/service/merge/rank_groups.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace hippo {

namespace {

/// Trainers that could hold the ranks of a trial together.
struct rank_group {
  std::uint32_t members = 1; ///< that it takes
  std::vector<trainer_id> idle;
};

/// The kind of device, and the ranks that each holds.
using likeness = std::pair<std::string, std::uint32_t>;

likeness likeness_of(const merge_view& view, trainer_id trainer) {
  const auto* kind = view.kinds.kind_of_trainer(trainer);
  return {kind ? *kind : std::string{}, view.leases.trainer(trainer).ranks};
}

std::map<likeness, rank_group> groups_of(const merge_view& view) {
  std::map<likeness, rank_group> result;
  if (view.ranks == 1)
    return result;
  for (auto x : view.leases.idle_trainers())
    if (const auto members = members_needed(view, x); members > 1) {
      auto& group = result[likeness_of(view, x)];
      group.members = members;
      group.idle.push_back(x);
    }
  return result;
}

} // namespace

std::uint32_t members_needed(const merge_view& view, trainer_id trainer) {
  const auto own = view.leases.trainer(trainer).ranks;
  return std::max(view.ranks / own, 1u);
}

std::vector<trainer_id> members_for(const merge_view& view, trainer_id lead,
                                    const path& what) {
  const auto needed = members_needed(view, lead);
  std::vector<trainer_id> result;
  if (needed > 1) {
    const auto like = likeness_of(view, lead);
    for (auto x : view.leases.idle_trainers())
      if (x != lead && likeness_of(view, x) == like && has_time(view, x, what))
        result.push_back(x);
    if (result.size() + 1 < needed)
      return {};
    const auto& by = settings_for(view, what.stages);
    std::ranges::stable_partition(result, [&](trainer_id x) {
      return !view.retries.is_left_to_others(x, what, by, [&](trainer_id y) {
        return view.kinds.may_train(y, what);
      });
    });
    result.resize(needed - 1);
  }
  result.insert(result.begin(), lead);
  return result;
}

std::set<trainer_id> idle_parts(const merge_view& view) {
  std::set<trainer_id> result;
  for (const auto& [like, group] : groups_of(view))
    result.insert(group.idle.begin(), group.idle.end());
  return result;
}

std::set<trainer_id> collected(const merge_view& view) {
  std::set<trainer_id> result;
  for (const auto& [like, group] : groups_of(view))
    if (group.idle.size() < group.members)
      result.insert(group.idle.begin(), group.idle.end());
  return result;
}

bool is_any_ready(const merge_view& view) {
  const auto waiting = collected(view);
  return std::ranges::any_of(view.leases.free_trainers(), [&](trainer_id x) {
    return !waiting.contains(x);
  });
}

std::set<trainer_id> ready_leads(const merge_view& view) {
  std::set<trainer_id> result;
  for (const auto& [like, group] : groups_of(view))
    for (std::size_t i = 0; i < group.idle.size() / group.members; ++i)
      result.insert(group.idle[i]);
  return result;
}

std::uint64_t trainers_lacking(const merge_view& view, std::uint64_t paths,
                               std::uint32_t members) {
  std::vector<std::uint64_t> missing;
  for (const auto& [like, group] : groups_of(view))
    if (group.idle.size() < group.members)
      missing.push_back(group.members - group.idle.size());
  std::ranges::sort(missing);
  missing.resize(std::min<std::uint64_t>(missing.size(), paths));
  auto result = (paths - missing.size()) * members;
  for (const auto x : missing)
    result += x;
  return result;
}

} // namespace hippo
