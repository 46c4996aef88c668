#include "hippo/sequence/family/piecewise.hpp"

#include <algorithm>
#include <utility>

namespace hippo::family {

std::vector<piece> piecewise(const argument& in) {
  std::vector<piece> result;
  for (const auto& item : in.items()) {
    const auto pair = item.items();
    if (pair.size() != 2) {
      if (!pair.empty())
        item.error("must be a pair [begin, value], found "
                   + std::to_string(pair.size()) + " items");
      continue;
    }
    const auto begin = pair[0].good_steps(0);
    auto value = pair[1].plateau();
    if (!begin)
      continue;
    if (result.empty() && *begin != 0)
      pair[0].error("must be 0, for the first value begins at step 0, found "
                    + std::to_string(*begin));
    else if (!result.empty() && *begin <= result.back().begin)
      pair[0].error("must be above the begin before it, found "
                    + std::to_string(*begin) + " after "
                    + std::to_string(result.back().begin));
    item.warn_unless_reached(*begin);
    result.push_back({*begin, std::move(value)});
  }
  if (result.empty())
    return {{0, form::constant(0)}};
  std::stable_sort(
    result.begin(), result.end(),
    [](const piece& x, const piece& y) { return x.begin < y.begin; });
  result.front().begin = 0;
  return result;
}

} // namespace hippo::family
