#pragma once

namespace hippo {

// Functions of which every CPU gives the same bits: they are made of additions,
// multiplications, divisions and square roots alone, which IEEE 754 rounds in
// one way, while a library's may differ in the last bit from machine to
// machine.

/// Returns e^value: infinity and 0 where that is beyond a double. REQUIRES:
/// `value` is no NaN.
double portable_exp(double value);

/// Returns the natural logarithm. REQUIRES: `value > 0` and finite.
double portable_log(double value);

/// The standard normal distribution, cut off at so many deviations.
inline constexpr double deviations_max = 4;

/// Returns what lies so many deviations from the mean that `share` of a normal
/// distribution cut off at `deviations_max` on either side lies below it
/// (Wichura, *Algorithm AS 241*, Applied Statistics 37, 1988).
/// REQUIRES: `0 <= share && share <= 1`
double normal_quantile(double share);

/// Returns the share of that distribution that lies below `deviations`: what
/// `normal_quantile` turns into it, to the last bit that tells.
double normal_share(double deviations);

} // namespace hippo
