#include "hippo/core/hash.hpp"

#include <array>
#include <cstdio>

#include <xxhash.h>

namespace hippo {

std::uint64_t hash_bytes(const void* data, std::size_t size,
                         std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(data, size, seed);
}

std::string hash_text(const std::string& text) {
  std::array<char, 17> out{};
  std::snprintf(out.data(), out.size(), "%016llx",
                static_cast<unsigned long long>(
                  hash_bytes(text.data(), text.size())));
  return out.data();
}

} // namespace hippo
