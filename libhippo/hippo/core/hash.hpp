#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace hippo {

/// XXH3 of `size` bytes, 64 bits. Stable across machines and versions.
std::uint64_t hash_bytes(const void* data, std::size_t size,
                         std::uint64_t seed = 0) noexcept;

/// The hash as 16 lower-case hexadecimal digits.
std::string hash_text(const std::string& text);

} // namespace hippo
