#include "hippo/sequence/percentage.hpp"

#include <algorithm>

namespace hippo {

namespace {

constexpr int digits_max = 9;

} // namespace

std::optional<percentage> percentage::from(std::string_view text) {
  if (text.empty() || text.back() != '%')
    return {};
  text.remove_suffix(1);
  std::uint64_t digits = 0, whole = 100;
  int count = 0;
  bool has_point = false;
  for (const char c : text) {
    if (c == '.' && !has_point && count > 0) {
      has_point = true;
      continue;
    }
    if (c < '0' || c > '9' || ++count > digits_max)
      return {};
    digits = 10 * digits + static_cast<std::uint64_t>(c - '0');
    if (has_point)
      whole *= 10;
  }
  if (digits == 0 || text.back() == '.')
    return {};
  return percentage{digits, whole};
}

step_t percentage::of(step_t length) const {
  // Below 2 * 10^9 * 10^9 + 10^10, which 64 bits hold.
  return std::max<step_t>((2 * length * digits_ + whole_) / (2 * whole_), 1);
}

} // namespace hippo
