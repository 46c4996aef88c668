#pragma once

#include <cstddef>

namespace hippo::fuzz {

/// Bytes that `new` has given out and not got back. Linked in, it counts for
/// all of the program.
std::size_t bytes_in_use() noexcept;

/// The most that they were since `reset_peak`.
std::size_t peak_bytes() noexcept;
void reset_peak() noexcept;

} // namespace hippo::fuzz
