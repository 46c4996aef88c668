#include "hippo/service/pool/workload_demand.hpp"

namespace hippo {

std::vector<workload_demand> workload_demands(const pool_view& view) {
  std::vector<workload_demand> result;
  for (const auto& x : view.needs.all()) {
    const auto place = view.demands.place_of(x.merger);
    if (!place)
      continue;
    const auto& known = view.demands[*place];
    auto& demand = result.emplace_back();
    demand.key = x.need.key;
    demand.ranks = x.need.ranks;
    demand.kinds = known.kinds;
    for (const auto& [kind, speed] : known.facts.speeds)
      if (speed == 0)
        demand.unfit.insert(kind);
    demand.wanted = known.wanted;
  }
  return result;
}

} // namespace hippo
