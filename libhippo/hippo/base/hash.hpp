#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace hippo {

/// XXH3 of `size` bytes, 64 bits. Stable across machines and versions.
std::uint64_t hash_bytes(const void* data, std::size_t size,
                         std::uint64_t seed = 0) noexcept;

/// A hash of 128 bits.
struct wide_hash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend auto operator<=>(const wide_hash&, const wide_hash&) = default;
};

/// XXH3 of `size` bytes, 128 bits. Bytes that differ by chance have different
/// ones; who wants to can make some that have the same.
wide_hash wide_hash_of(const void* data, std::size_t size) noexcept;

/// The hash of bytes that come in parts: equals `hash_bytes` of all of them.
class byte_hasher {
public:
  byte_hasher();
  byte_hasher(byte_hasher&& other) noexcept;
  byte_hasher& operator=(byte_hasher&& other) noexcept;
  ~byte_hasher();

  /// REQUIRES: not moved from, here and below.
  void add(const void* data, std::size_t size) noexcept;

  /// Returns the hash of what has been added so far.
  [[nodiscard]] std::uint64_t digest() const noexcept;

private:
  struct state;
  std::unique_ptr<state> state_;
};

/// The hash as 16 lower-case hexadecimal digits.
std::string hash_text(const std::string& text);

} // namespace hippo
