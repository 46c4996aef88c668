#include "hippo/base/hash.hpp"

#include <array>
#include <cstdio>

#include <xxhash.h>

namespace hippo {

std::uint64_t hash_bytes(const void* data, std::size_t size,
                         std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(data, size, seed);
}

wide_hash wide_hash_of(const void* data, std::size_t size) noexcept {
  const auto hash = XXH3_128bits(data, size);
  return {hash.high64, hash.low64};
}

struct byte_hasher::state {
  XXH3_state_t xxh3;
};

byte_hasher::byte_hasher() : state_(std::make_unique<state>()) {
  XXH3_64bits_reset(&state_->xxh3);
}

byte_hasher::byte_hasher(byte_hasher&&) noexcept = default;
byte_hasher& byte_hasher::operator=(byte_hasher&&) noexcept = default;
byte_hasher::~byte_hasher() = default;

void byte_hasher::add(const void* data, std::size_t size) noexcept {
  XXH3_64bits_update(&state_->xxh3, data, size);
}

std::uint64_t byte_hasher::digest() const noexcept {
  return XXH3_64bits_digest(&state_->xxh3);
}

std::string hash_text(const std::string& text) {
  std::array<char, 17> out{};
  std::snprintf(out.data(), out.size(), "%016llx",
                static_cast<unsigned long long>(
                  hash_bytes(text.data(), text.size())));
  return out.data();
}

} // namespace hippo
