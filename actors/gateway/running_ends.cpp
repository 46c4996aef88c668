#include "gateway/running_ends.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace hippo {

std::vector<stored_end>
with_running(const std::vector<stored_end>& ended,
             const std::vector<overview_stage>& stages) {
  std::map<std::pair<node_id, step_t>, std::uint64_t> all;
  for (const auto& x : ended)
    all[{x.node, x.step}] = x.trials;
  std::vector<std::uint64_t> going_on(stages.size() + 1);
  for (const auto& x : stages)
    going_on[x.parent] += x.trials;
  for (const auto& x : stages) {
    const auto ending = x.trials - std::min(going_on[x.id], x.trials);
    if (ending == 0)
      continue;
    auto& known = all[{x.node, x.end}];
    known = std::max(known, ending);
  }
  std::vector<stored_end> result;
  for (const auto& [where, trials] : all)
    result.push_back({where.first, where.second, trials});
  return result;
}

} // namespace hippo
