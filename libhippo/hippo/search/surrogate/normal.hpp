#pragma once

#include <cmath>
#include <numbers>

namespace hippo {

/// How often a draw off a range is repeated before it is moved onto it, from
/// normal distributions that lie on the range for at least a third.
inline constexpr int normal_draws_max = 64;

/// The standard normal distribution below a value.
inline double normal_below(double value) {
  return std::erfc(-value / std::numbers::sqrt2) / 2;
}

} // namespace hippo
