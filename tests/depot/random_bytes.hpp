#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>

namespace hippo {

/// Bytes that depend on the seed.
inline std::string random_bytes(std::size_t size, std::uint64_t seed = 1) {
  std::mt19937_64 rng{seed};
  std::string result(size, '\0');
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    const auto x = rng();
    std::memcpy(result.data() + at, &x, std::min(sizeof(x), size - at));
  }
  return result;
}

} // namespace hippo
