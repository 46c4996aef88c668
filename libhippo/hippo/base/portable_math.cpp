// Compiled without contraction (see CMakeLists.txt): a product and a sum in one
// instruction are rounded once where others round twice.

#include "hippo/base/portable_math.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace hippo {

namespace {

/// ln 2 in two parts: a multiple of the first by a whole number is exact.
constexpr double ln2_high = 0x1.62e42feep-1;
constexpr double ln2_low = 0x1.a39ef35793c76p-33;

/// The share of the normal distribution beyond `deviations_max`, on one side.
constexpr double tail = 3.1671241833119921e-05;

template <std::size_t N>
double polynomial(const std::array<double, N>& coefficients, double x) {
  double result = 0;
  for (auto i = N; i-- > 0;)
    result = result * x + coefficients[i];
  return result;
}

/// Where `0.5 + q` of the whole distribution lies below. REQUIRES: the rest,
/// on the shorter side, is above 1e-10.
double quantile_at(double q) {
  if (std::abs(q) <= 0.425) {
    constexpr std::array above{
      3.3871328727963666080e0, 1.3314166789178437745e+2,
      1.9715909503065514427e+3, 1.3731693765509461125e+4,
      4.5921953931549871457e+4, 6.7265770927008700853e+4,
      3.3430575583588128105e+4, 2.5090809287301226727e+3};
    constexpr std::array below{
      1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2,
      5.3941960214247511077e+3, 2.1213794301586595867e+4,
      3.9307895800092710610e+4, 2.8729085735721942674e+4,
      5.2264952788528545610e+3};
    const auto r = 0.180625 - q * q;
    return q * polynomial(above, r) / polynomial(below, r);
  }
  constexpr std::array above{
    1.42343711074968357734e0, 4.63033784615654529590e0,
    5.76949722146069140550e0, 3.64784832476320460504e0,
    1.27045825245236838258e0, 2.41780725177450611770e-1,
    2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr std::array below{
    1.0, 2.05319162663775882187e0, 1.67638483018380384940e0,
    6.89767334985100004550e-1, 1.48103976427480074590e-1,
    1.51986665636164571966e-2, 5.47593808499534494600e-4,
    1.05075007164441684324e-9};
  const auto r = std::sqrt(-portable_log(0.5 - std::abs(q))) - 1.6;
  const auto result = polynomial(above, r) / polynomial(below, r);
  return q < 0 ? -result : result;
}

} // namespace

double portable_exp(double value) {
  if (value > 709.8)
    return std::numeric_limits<double>::infinity();
  if (value < -745.2)
    return 0;
  const auto n = std::floor(value / std::numbers::ln2 + 0.5);
  const auto r = (value - n * ln2_high) - n * ln2_low; // below ln 2 / 2
  double sum = 1;
  for (int i = 18; i > 0; --i) // Taylor's series
    sum = 1 + sum * r / i;
  return std::ldexp(sum, static_cast<int>(n));
}

double portable_log(double value) {
  int n = 0;
  auto m = std::frexp(value, &n);
  if (m < std::numbers::sqrt2 / 2) {
    m *= 2;
    --n;
  }
  // log m = 2 artanh s, of which the series is short: s^2 is below 0.03.
  const auto s = (m - 1) / (m + 1);
  double sum = 0;
  for (int i = 23; i > 0; i -= 2)
    sum = sum * s * s + 1.0 / i;
  return n * ln2_high + (n * ln2_low + 2 * s * sum);
}

double normal_quantile(double share) {
  if (share <= 0)
    return -deviations_max;
  if (share >= 1)
    return deviations_max;
  return quantile_at((share - 0.5) * (1 - 2 * tail));
}

double normal_share(double deviations) {
  if (deviations <= -deviations_max)
    return 0;
  if (deviations >= deviations_max)
    return 1;
  double low = 0, high = 1;
  while (true) {
    const auto middle = low + (high - low) / 2;
    if (middle <= low || middle >= high)
      return high;
    (normal_quantile(middle) < deviations ? low : high) = middle;
  }
}

} // namespace hippo
