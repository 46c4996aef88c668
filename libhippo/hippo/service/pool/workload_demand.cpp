#include "hippo/service/pool/workload_demand.hpp"

#include <algorithm>

namespace hippo {

namespace {

/// Returns how many ranks of a trial those trainers hold that it had best be
/// trained by: all of them if one that is there does, or if none is there.
std::uint32_t ranks_held(const pool_view& view, const workload_need& need) {
  std::uint32_t result = 0;
  for (const auto& [number, x] : view.trainers.all())
    if (x.is_there() && x.can_train(need))
      result = std::max(result, x.record.ranks);
  return result > 0 ? result : need.ranks;
}

} // namespace

std::vector<workload_demand> workload_demands(const pool_view& view) {
  std::vector<workload_demand> result;
  for (const auto& x : view.needs.all()) {
    const auto place = view.demands.place_of(x.merger);
    if (!place)
      continue;
    const auto& known = view.demands[*place];
    auto& demand = result.emplace_back();
    demand.key = x.need.key;
    demand.ranks = ranks_held(view, x.need);
    demand.members = x.need.ranks / demand.ranks;
    demand.kinds = known.kinds;
    for (const auto& [kind, speed] : known.facts.speeds)
      if (speed == 0)
        demand.unfit.insert(kind);
    demand.wanted = known.wanted;
  }
  return result;
}

} // namespace hippo
