#include "hippo/space/complexity.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace hippo {

namespace {

/// Of a choice, so many alternatives are looked into.
constexpr std::uint64_t ways_max = 64;

double complexity_of(const space_leaf& x) {
  if (const auto ways = x.ways(); ways > 0)
    return 2 - 1 / static_cast<double>(ways);
  return 2 + x.length();
}

/// Which alternatives are taken, by the paths of their choices.
using alternatives = std::map<std::string, std::uint64_t>;

/// The product over the leaves that a combination with these has.
/// @param met gets how many alternatives the choices among them have
double product(const search_space& x, const alternatives& taken,
               alternatives* met) {
  double result = 1;
  x.walk([&](const space_leaf& leaf) -> std::uint64_t {
    result *= complexity_of(leaf);
    if (!leaf.is_choice())
      return 0;
    if (met)
      (*met)[leaf.path()] = std::min(leaf.ways(), ways_max);
    const auto i = taken.find(leaf.path());
    return i == taken.end() ? 0 : i->second;
  });
  return result;
}

} // namespace

double complexity_of(const search_space& space) {
  if (space.empty())
    return 1;
  // Choice by choice, as long as that makes it greater.
  alternatives taken;
  double best = 0;
  for (bool more = true; more;) {
    more = false;
    alternatives met;
    best = std::max(best, product(space, taken, &met));
    for (const auto& [path, ways] : met)
      for (std::uint64_t i = 0; i < ways; ++i) {
        auto other = taken;
        other[path] = i;
        const auto found = product(space, other, nullptr);
        if (found <= best)
          continue;
        best = found;
        taken = std::move(other);
        more = true;
      }
  }
  return best;
}

} // namespace hippo
