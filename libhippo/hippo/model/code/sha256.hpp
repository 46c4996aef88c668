#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace hippo {

/// The SHA-256 of bytes that come in parts. It stands for content in workload
/// keys: nobody can make two files of one digest.
class sha256_hasher {
public:
  /// @throws std::bad_alloc
  sha256_hasher();
  sha256_hasher(sha256_hasher&& other) noexcept;
  sha256_hasher& operator=(sha256_hasher&& other) noexcept;
  ~sha256_hasher();

  /// REQUIRES: not moved from, and `digest` was not called, here and below.
  void add(const void* data, std::size_t size);

  /// Returns the digest of all that was added, 64 lower-case hexadecimal
  /// digits.
  [[nodiscard]] std::string digest();

private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Returns the digest of `bytes`, 64 lower-case hexadecimal digits.
std::string sha256_of(std::string_view bytes);

/// Whether a text has the form of such a digest.
bool is_sha256(std::string_view text) noexcept;

} // namespace hippo
