#include "hippo/base/number.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace hippo {

double canonical(double x) {
  if (!std::isfinite(x))
    return x;
  if (x == 0)
    return 0; // drops the sign of -0: it is no other value to a person
  if (std::abs(x) < 1e12 && std::nearbyint(x) == x)
    return x; // has 12 digits at most
  std::array<char, 40> buf{};
  const auto end = std::to_chars(buf.data(), buf.data() + buf.size(), x,
                                 std::chars_format::scientific, 11);
  double result = x;
  std::from_chars(buf.data(), end.ptr, result);
  return result;
}

std::string to_text(double x) {
  std::array<char, 400> buf{};
  const bool whole = std::isfinite(x) && std::abs(x) < 1e15
                     && std::nearbyint(x) == x;
  const auto end
    = whole ? std::to_chars(buf.data(), buf.data() + buf.size(), x + 0.0,
                            std::chars_format::fixed)
            : std::to_chars(buf.data(), buf.data() + buf.size(), x);
  return {buf.data(), end.ptr};
}

std::string to_text(const scalar& x) {
  if (auto* number = std::get_if<double>(&x))
    return to_text(*number);
  return std::get<std::string>(x);
}

} // namespace hippo
