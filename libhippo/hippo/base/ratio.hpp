#pragma once

#include <cstdint>

namespace hippo {

/// Returns `x / y`, or 1 if there is nothing to compare with.
inline double ratio(std::uint64_t x, std::uint64_t y) {
  return y == 0 ? 1 : static_cast<double>(x) / static_cast<double>(y);
}

} // namespace hippo
