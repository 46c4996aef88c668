#pragma once

#include <cstddef>

namespace hippo {

/// Sizes of parts. The last part of a state may be smaller.
inline constexpr std::size_t part_bytes_min = 32 << 10;
inline constexpr std::size_t part_bytes_mean = 128 << 10; ///< about
inline constexpr std::size_t part_bytes_max = 512 << 10;

/// Returns the size of the part that `data` begins with. It depends on these
/// bytes alone, so that a state in which bytes were inserted or changed has
/// other parts there and the same ones elsewhere, in whatever form it is saved:
/// content-defined chunking by FastCDC (Xia et al., USENIX ATC 2016).
/// @param size bytes of `data`; fewer than `part_bytes_max` only at the end
/// @returns at most `size` and `part_bytes_max`; 0 for no bytes
/// @complexity O(result)
std::size_t first_part(const char* data, std::size_t size) noexcept;

} // namespace hippo
