#include "hippo/space/complexity.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>

namespace hippo {

namespace {

/// How much of a range counts.
constexpr double central_share = 0.999;

/// Of a choice, so many alternatives are looked into.
constexpr std::uint64_t ways_max = 64;

bool is_whole(double x) { return std::abs(x - std::round(x)) < 1e-9; }

/// The length of a logarithmic range in the units of its exponent.
double decades(double low, double high) {
  for (auto* log : {+[](double x) { return std::log10(x); },
                    +[](double x) { return std::log2(x); }})
    if (is_whole(log(low)) && is_whole(log(high)))
      return log(high) - log(low);
  return std::log(high) - std::log(low);
}

double complexity_of(const space_leaf& x) {
  if (const auto ways = x.ways(); ways > 0)
    return 2 - 1 / static_cast<double>(ways);
  const auto length = x.is_logarithmic() ? decades(x.low(), x.high())
                                         : x.high() - x.low();
  return 2 + central_share * length;
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

double complexity_of(const search_space& x) {
  if (x.empty())
    return 1;
  // Choice by choice, as long as that makes it greater.
  alternatives taken;
  double best = 0;
  for (bool more = true; more;) {
    more = false;
    alternatives met;
    best = std::max(best, product(x, taken, &met));
    for (const auto& [path, ways] : met)
      for (std::uint64_t i = 0; i < ways; ++i) {
        auto other = taken;
        other[path] = i;
        const auto found = product(x, other, nullptr);
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
