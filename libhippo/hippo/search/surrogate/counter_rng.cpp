#include "hippo/search/surrogate/counter_rng.hpp"

#include <array>
#include <cassert>

#include "hippo/base/hash.hpp"

namespace hippo {

namespace {

std::uint64_t mixed(std::uint64_t x, std::uint64_t seed) {
  std::array<unsigned char, 8> bytes{};
  for (std::size_t i = 0; i < 8; ++i) // little-endian on every machine
    bytes[i] = static_cast<unsigned char>(x >> (8 * i));
  return hash_bytes(bytes.data(), bytes.size(), seed);
}

} // namespace

counter_rng::counter_rng(std::initializer_list<std::uint64_t> address,
                         std::string_view name)
  : key_(hash_bytes(name.data(), name.size())) {
  for (auto x : address)
    key_ = mixed(x, key_);
}

std::uint64_t counter_rng::next() {
  return mixed(count_++, key_);
}

double counter_rng::unit() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

std::uint64_t counter_rng::below(std::uint64_t count) {
  assert(count > 0);
  // The high half of 32 bits * count: without bias that anybody could see.
  return count >> 31 != 0 ? next() % count : ((next() >> 32) * count) >> 32;
}

std::uint64_t counter_rng::decision(std::uint64_t ways) {
  return ways == 0 ? next() >> 11 : below(ways);
}

} // namespace hippo
