#include "hippo/search/sampler/permutation.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace hippo {

namespace {

/// The finaliser of SplitMix64: every bit of `x` reaches every bit of the
/// result.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

} // namespace

permutation::permutation(std::uint64_t size, std::uint64_t seed)
  : size_(size),
    half_bits_(
      std::max(1u, static_cast<unsigned>(std::bit_width(size - 1) + 1) / 2)) {
  assert(size > 0 && size <= std::uint64_t{1} << 63);
  for (unsigned round = 0; round < rounds; ++round)
    keys_[round] = mixed(seed ^ round);
}

std::uint64_t permutation::shuffled(std::uint64_t value) const {
  const auto mask = (std::uint64_t{1} << half_bits_) - 1;
  auto left = value >> half_bits_, right = value & mask;
  for (const auto key : keys_) {
    const auto next = left ^ (mixed(key ^ right) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

std::uint64_t permutation::operator()(std::uint64_t index) const {
  assert(index < size_);
  do
    index = shuffled(index);
  while (index >= size_);
  return index;
}

} // namespace hippo
