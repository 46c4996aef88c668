#include "hippo/base/number.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace hippo {

namespace {

/// Powers of ten that a double holds exactly.
constexpr std::array powers{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                            1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/// Rounds to 12 digits without a text: as a whole number of 12 digits, divided
/// by an exact power of ten, which gives the double nearest to that decimal.
/// @returns nothing where the rounding of the product may decide (Clinger, How
///          to read floating point numbers accurately, PLDI 1990)
std::optional<double> quickly_rounded(double x) {
  const auto size = std::abs(x);
  if (size < 1e-11 || size >= 1e12)
    return std::nullopt;
  // log10(2) times the binary exponent is the decimal one, or one less.
  const auto digits
    = 11 - static_cast<int>(std::floor(std::ilogb(x) * 0.30103));
  if (digits < 0 || digits >= static_cast<int>(powers.size()))
    return std::nullopt;
  auto power = powers[static_cast<std::size_t>(digits)];
  if (digits > 0 && size * power >= 1e12)
    power = powers[static_cast<std::size_t>(digits) - 1];
  const auto scaled = x * power; // off by 1e-4 at most
  const auto whole = std::nearbyint(scaled);
  if (std::abs(scaled - whole) > 0.499)
    return std::nullopt;
  return whole / power;
}

} // namespace

double canonical(double value) {
  if (!std::isfinite(value))
    return value;
  if (value == 0)
    return 0; // drops the sign of -0: it is no other value to a person
  if (const auto found = quickly_rounded(value))
    return *found;
  std::array<char, 40> buf{};
  const auto end = std::to_chars(buf.data(), buf.data() + buf.size(), value,
                                 std::chars_format::scientific, 11);
  double result = value;
  std::from_chars(buf.data(), end.ptr, result);
  return result;
}

std::string to_text(double value) {
  std::array<char, 400> buf{};
  const bool whole = std::isfinite(value) && std::abs(value) < 1e15
                     && std::nearbyint(value) == value;
  const auto end =
    whole ? std::to_chars(buf.data(), buf.data() + buf.size(), value + 0.0,
                          std::chars_format::fixed)
          : std::to_chars(buf.data(), buf.data() + buf.size(), value);
  return {buf.data(), end.ptr};
}

std::string to_text(const scalar& value) {
  if (auto* number = std::get_if<double>(&value))
    return to_text(*number);
  return std::get<std::string>(value);
}

} // namespace hippo
