#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace hippo {

/// Random numbers that follow from an address alone: what is drawn for one
/// thing does not depend on what was drawn for others before. The same on every
/// machine.
class counter_rng {
public:
  /// @param name a further part of the address: what is drawn for
  counter_rng(std::initializer_list<std::uint64_t> address,
              std::string_view name = {});

  /// Returns 64 random bits, others each time.
  std::uint64_t next();

  /// Returns a number from 0 (included) to 1 (excluded), of 53 bits.
  double unit();

  /// Returns a number below `count`. REQUIRES: `0 < count`
  std::uint64_t below(std::uint64_t count);

  /// Returns a decision of a leaf of a space with so many ways; 0 of them stand
  /// for a range, which has 2^53.
  std::uint64_t decision(std::uint64_t ways);

private:
  std::uint64_t key_;
  std::uint64_t count_ = 0;
};

} // namespace hippo
