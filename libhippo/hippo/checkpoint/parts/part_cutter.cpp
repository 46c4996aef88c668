#include "hippo/checkpoint/parts/part_cutter.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace hippo {

namespace {

/// A random number for each byte (SplitMix64, Steele et al. 2014). A change
/// would cut all states anew: nothing that is stored would be shared.
constexpr std::array<std::uint64_t, 256> make_gear() {
  std::array<std::uint64_t, 256> result{};
  std::uint64_t state = 0;
  for (auto& x : result) {
    state += 0x9e3779b97f4a7c15;
    auto z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    x = z ^ (z >> 31);
  }
  return result;
}

constexpr auto gear = make_gear();

/// The `bits` highest bits.
constexpr std::uint64_t high_bits(int bits) {
  return ~std::uint64_t{0} << (64 - bits);
}

/// A part ends where these bits of the hash are 0: more of them before the mean
/// size than after it, so that sizes lie about it.
constexpr auto bits_before_mean = high_bits(19);
constexpr auto bits_after_mean = high_bits(15);

} // namespace

std::size_t first_part(const char* data, std::size_t size) noexcept {
  if (size <= part_bytes_min)
    return size;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(data);
  const auto mean = std::min(size, part_bytes_mean);
  const auto end = std::min(size, part_bytes_max);
  std::uint64_t hash = 0;
  auto at = part_bytes_min;
  for (; at < mean; ++at) {
    hash = (hash << 1) + gear[bytes[at]];
    if ((hash & bits_before_mean) == 0)
      return at + 1;
  }
  for (; at < end; ++at) {
    hash = (hash << 1) + gear[bytes[at]];
    if ((hash & bits_after_mean) == 0)
      return at + 1;
  }
  return end;
}

} // namespace hippo
