#include "hippo/sequence/family/multistep.hpp"

#include <algorithm>
#include <cmath>

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
  std::vector<piece> result{{0, form::constant(initial)}};
  for (const auto at : milestones)
    result.push_back(
      {at, form::constant(
             initial * std::pow(gamma, static_cast<double>(result.size())))});
  return result;
}

} // namespace hippo::family
