#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hippo/base/error.hpp"

namespace hippo {

/// The secret that a service signs its notifications with, as the
/// specification "Standard Webhooks" 1.0 has it: receivers check it with the
/// libraries of that name.
class webhook_key {
public:
  /// Reads the key from a file that only its owner can read; makes one of 32
  /// random bytes if there is none.
  /// @returns as `read_private_file` and `write_private_file`;
  ///          `errc::malformed_message` if the file holds something else
  static expected<webhook_key> open(const std::string& path);

  /// @param text `whsec_` and 24 to 64 bytes in base64
  static expected<webhook_key> from(std::string_view text);

  /// Returns the text of the header `webhook-signature`: `v1,` and the HMAC
  /// with SHA-256 of `ID.SECONDS.BODY` in base64.
  /// @param seconds since 1970, of the header `webhook-timestamp`
  [[nodiscard]] std::string sign(std::string_view id, std::int64_t seconds,
                                 std::string_view body) const;

private:
  explicit webhook_key(std::string secret) : secret_(std::move(secret)) {}

  std::string secret_; ///< bytes
};

} // namespace hippo
