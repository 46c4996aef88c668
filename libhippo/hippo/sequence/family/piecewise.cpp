#include "hippo/sequence/family/piecewise.hpp"

#include <algorithm>
#include <optional>
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
    const auto begin = pair[0].begin_after(
      result.empty() ? std::nullopt : std::optional{result.back().begin});
    auto value = pair[1].plateau();
    if (!begin)
      continue;
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
