#include "hippo/forecast/machines/costs.hpp"

#include <algorithm>

namespace hippo {

std::vector<machines_cost> costs_of(const std::vector<machine_life>& lives) {
  std::vector<machines_cost> result;
  for (const auto& x : lives) {
    auto i = std::ranges::find(result, x.kind.name, &machines_cost::kind);
    if (i == result.end()) {
      result.push_back({x.kind.name, x.kind.price, 0, 0, 0});
      i = result.end() - 1;
    }
    const auto until = x.end ? *x.end : x.last_lease_end.value_or(x.begin);
    const auto paid = x.kind.start_seconds + std::max(0.0, until - x.begin);
    const auto work = cost_of(x.kind.trainer_price(), x.busy_seconds);
    ++i->machines;
    i->work += work;
    i->idle += std::max(0.0, cost_of(x.kind.price, paid) - work);
  }
  return result;
}

} // namespace hippo
