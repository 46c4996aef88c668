#pragma once

#include <cstdint>

namespace hippo {

/// Returns `numerator / denominator`, or 1 if there is nothing to compare with.
inline double ratio(std::uint64_t numerator, std::uint64_t denominator) {
  return denominator == 0
           ? 1
           : static_cast<double>(numerator) / static_cast<double>(denominator);
}

} // namespace hippo
