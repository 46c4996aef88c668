#include "hippo/sequence/line.hpp"

#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>

#include "hippo/base/number.hpp"

namespace hippo {

namespace {

__extension__ using wide = __int128;

/// What 12 digits, and those of a rise, stay below.
constexpr wide digits_12 = 1'000'000'000'000;
constexpr wide digits_15 = 1'000 * digits_12;

/// `digits * 10^exponent`.
struct decimal {
  wide digits = 0;
  int exponent = 0;
};

/// `digits / below * 10^exponent`.
struct fraction {
  wide digits = 0;
  wide below = 1;
  int exponent = 0;
};

wide magnitude(wide x) { return x < 0 ? -x : x; }

bool multiply(wide& x, wide by) { return !__builtin_mul_overflow(x, by, &x); }

/// Multiplies by 10^n. @returns false if that does not fit
bool shift(wide& x, int n) {
  for (; n > 0 && x != 0; --n)
    if (!multiply(x, 10))
      return false;
  return true;
}

void strip_zeros(decimal& x) {
  while (x.digits != 0 && x.digits % 10 == 0) {
    x.digits /= 10;
    ++x.exponent;
  }
}

/// Returns the shortest decimal that reads back as `x`, which is finite.
decimal decimal_of(double x) {
  std::array<char, 40> buf{};
  const auto end = std::to_chars(buf.data(), buf.data() + buf.size(), x,
                                 std::chars_format::scientific);
  decimal result;
  const char* at = buf.data();
  const bool negative = *at == '-';
  if (negative)
    ++at;
  bool after_point = false;
  for (; at != end.ptr && *at != 'e'; ++at) {
    if (*at == '.') {
      after_point = true;
      continue;
    }
    result.digits = 10 * result.digits + (*at - '0');
    result.exponent -= after_point;
  }
  const char* exponent = at + (at[1] == '+' ? 2 : 1);
  int tens = 0;
  std::from_chars(exponent, end.ptr, tens);
  result.exponent += tens;
  if (negative)
    result.digits = -result.digits;
  strip_zeros(result);
  return result;
}

/// Returns the double nearest to a decimal of at most 18 digits.
double to_double(decimal x) {
  const auto text = std::to_string(static_cast<long long>(x.digits)) + 'e'
                    + std::to_string(x.exponent);
  double result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result + 0.0;
}

/// Writes both with one exponent. @returns false if that does not fit
bool align(decimal& x, decimal& y) {
  const auto exponent = x.digits == 0   ? y.exponent
                        : y.digits == 0 ? x.exponent
                                        : std::min(x.exponent, y.exponent);
  if (!shift(x.digits, x.exponent - exponent)
      || !shift(y.digits, y.exponent - exponent))
    return false;
  x.exponent = y.exponent = exponent;
  return true;
}

/// Returns the exact value of a line; nothing if it does not fit.
std::optional<fraction> value_at(const form& x, step_t at) {
  if (!(x.a[2] >= 1 && x.a[2] < 1e18) || std::floor(x.a[2]) != x.a[2])
    return {};
  auto start = decimal_of(x.a[0]);
  auto rise = decimal_of(x.a[1]);
  const auto below = static_cast<wide>(x.a[2]);
  const auto t = static_cast<wide>(at) - static_cast<wide>(x.origin);
  wide sum = 0;
  if (!align(start, rise) || !multiply(start.digits, below)
      || !multiply(rise.digits, t)
      || __builtin_add_overflow(start.digits, rise.digits, &sum))
    return {};
  return fraction{sum, below, start.exponent};
}

/// Rounds to 12 digits, half to even; nothing if it does not fit.
std::optional<double> rounded(const fraction& x) {
  auto above = magnitude(x.digits);
  auto below = x.below;
  auto exponent = x.exponent;
  if (above == 0)
    return 0;
  for (; above / below < digits_12 / 10; --exponent)
    if (!multiply(above, 10))
      return {};
  for (; above / below >= digits_12; ++exponent)
    if (!multiply(below, 10))
      return {};
  auto digits = above / below;
  const auto rest = above % below;
  if (rest > below - rest || (rest == below - rest && digits % 2 == 1))
    ++digits;
  return to_double({x.digits < 0 ? -digits : digits, exponent});
}

} // namespace

std::optional<form> line_between(double from, double to, step_t steps,
                                 step_t origin) {
  auto rise = decimal_of(to);
  auto start = decimal_of(from);
  if (!align(rise, start))
    return {};
  rise.digits -= start.digits;
  strip_zeros(rise);
  auto below = static_cast<wide>(steps);
  auto common = magnitude(rise.digits);
  for (auto rest = below; rest != 0;) {
    const auto next = common % rest;
    common = rest;
    rest = next;
  }
  rise.digits /= common;
  below /= common;
  for (; below % 10 == 0; below /= 10)
    --rise.exponent;
  // What is left of 2 or 5 becomes digits of the rise: so there is one way to
  // write a slope, for any number of steps.
  for (const auto& [factor, other] : {std::pair{2, 5}, {5, 2}})
    for (; below % factor == 0 && magnitude(rise.digits) * other < digits_15;
         below /= factor) {
      rise.digits *= other;
      --rise.exponent;
    }
  if (magnitude(rise.digits) >= digits_15)
    return {};
  form result;
  result.kind = form_kind::line;
  result.origin = origin;
  result.a = {from, to_double(rise), static_cast<double>(below)};
  return result;
}

std::optional<form> moved_line(const form& item, step_t origin) {
  const auto there = value_at(item, origin);
  if (!there)
    return {};
  // It has at most 12 digits iff rounding changes nothing.
  const auto value = rounded(*there);
  if (!value)
    return {};
  form result = item;
  result.origin = origin;
  result.a[0] = *value;
  const auto back = value_at(result, item.origin);
  if (!back)
    return {};
  auto left = decimal_of(item.a[0]);
  auto right = decimal{back->digits, back->exponent};
  if (!align(left, right) || !multiply(left.digits, back->below)
      || left.digits != right.digits)
    return {};
  return result;
}

bool same_line(const form& left, const form& right) {
  return left.a[1] == right.a[1] && left.a[2] == right.a[2]
         && moved_line(left, right.origin) == right;
}

double line_at(const form& form, step_t at) {
  if (const auto exact = value_at(form, at))
    if (const auto result = rounded(*exact))
      return *result;
  return canonical(unrounded_line_at(form, at));
}

double unrounded_line_at(const form& form, step_t at) {
  const auto t = at >= form.origin ? static_cast<double>(at - form.origin)
                                   : -static_cast<double>(form.origin - at);
  return form.a[0] + form.a[1] * t / form.a[2];
}

} // namespace hippo
