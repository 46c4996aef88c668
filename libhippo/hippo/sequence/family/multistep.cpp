#include "hippo/sequence/family/multistep.hpp"

#include <algorithm>

#include "hippo/sequence/family/exponential.hpp"

namespace hippo::family {

std::vector<piece> multistep(const argument& in) {
  const auto initial = in["initial"].initial();
  const auto gamma = in["gamma"].ratio();
  std::vector<step_t> milestones;
  for (const auto& item : in["milestones"].items()) {
    const auto at = item.good_steps(1);
    if (!at)
      continue;
    if (!milestones.empty() && *at <= milestones.back())
      item.error("must be above the milestone before it, found "
                 + std::to_string(*at) + " after "
                 + std::to_string(milestones.back()));
    item.warn_unless_reached(*at);
    milestones.push_back(*at);
  }
  std::sort(milestones.begin(), milestones.end());
  std::vector<piece> result{{0, decayed(in, initial, gamma, 0)}};
  for (const auto at : milestones)
    result.push_back({at, decayed(in, initial, gamma, result.size())});
  return result;
}

} // namespace hippo::family
