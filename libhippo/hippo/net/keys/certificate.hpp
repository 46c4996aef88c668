#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hippo/base/error.hpp"

namespace hippo {

/// As what a certificate lets its holder in.
enum class key_role : std::uint8_t {
  service, ///< is the service; only one certificate is
  trainer, ///< may register trainers and move checkpoints
  client,  ///< may submit studies, ask about them and change them
};

inline constexpr key_role all_key_roles[]{key_role::service, key_role::trainer,
                                          key_role::client};

/// Returns the enumerator's name, e.g. `"trainer"`.
const char* to_string(key_role role) noexcept;

/// Seconds since the beginning of 1970, UTC.
using unix_seconds = std::int64_t;

inline constexpr unix_seconds day_seconds = 24 * 60 * 60;

/// Returns the time by the system's clock.
unix_seconds now_seconds();

/// Returns the day in UTC, e.g. `2029-02-23`.
std::string date_text(unix_seconds at);

/// The holder of a certificate, by its common name.
struct key_holder {
  key_role role = key_role::client;
  std::string name; ///< letters, digits, `.`, `_` and `-`

  friend bool operator==(const key_holder&, const key_holder&) = default;
};

/// The name of every service: what those who connect look for in its
/// certificate, whatever the host is called.
inline constexpr auto service_host = "hippo";

inline constexpr std::size_t key_name_length_max = 48;

/// Checks a name for a certificate.
/// @returns why it cannot be one
std::optional<error> check_key_name(std::string_view name);

/// Returns the common name, e.g. `trainer:gpu1`.
std::string to_text(const key_holder& holder);

/// Reads a common name.
/// @returns `errc::not_allowed` if it is none that `hippo keys` gives
expected<key_holder> read_key_holder(std::string_view common_name);

/// The content of a certificate.
struct certificate_info {
  key_holder holder;
  std::string authority;       ///< the name of who gave it
  unix_seconds not_before = 0; ///< the first second at which it is valid
  unix_seconds not_after = 0;  ///< the last one
  std::vector<std::string> hosts; ///< names and addresses of a service
};

/// Reads a certificate in PEM; checks no signature.
/// @returns `errc::invalid_argument` if `pem` holds none that can be read
expected<certificate_info> read_certificate(const std::string& pem);

/// Checks that a certificate is valid at a time.
/// @returns `errc::not_allowed` saying since or until when it is not, and what
///          makes a new one
std::optional<error> check_validity(const certificate_info& certificate,
                                    unix_seconds now);

/// Returns the command that gives its holder a new certificate.
std::string renewal_of(const key_holder& holder);

} // namespace hippo
