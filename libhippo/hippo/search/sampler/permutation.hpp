#pragma once

#include <array>
#include <cstdint>

namespace hippo {

/// A pseudo-random permutation of `[0, size)` that takes no memory: a Feistel
/// network over the next even power of two, walked until it comes back into
/// range. The same on every machine.
class permutation {
public:
  /// REQUIRES: `0 < size <= 2^63`
  permutation(std::uint64_t size, std::uint64_t seed);

  /// Returns where `index` goes. Different indices go to different places.
  /// REQUIRES: `index < size`
  /// @complexity O(1) expected: 4 walks on average at most
  [[nodiscard]] std::uint64_t operator()(std::uint64_t index) const;

private:
  [[nodiscard]] std::uint64_t shuffled(std::uint64_t value) const;

  static constexpr unsigned rounds = 8;

  std::uint64_t size_;
  std::array<std::uint64_t, rounds> keys_; ///< of the rounds
  unsigned half_bits_; ///< of the network's two halves, at least 1
};

} // namespace hippo
