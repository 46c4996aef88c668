#pragma once

#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/net/keys/certificate.hpp"

namespace hippo {

/// The certificate of one side of a TLS connection, and its trust. Each text is
/// PEM, checked when it was loaded.
struct credentials {
  key_holder holder;       ///< who shows this certificate
  std::string key;         ///< one private key
  std::string certificate; ///< one certificate, of that key
  std::string authorities; ///< certificates of those whose word counts
  /// Of a service: as what each of the authorities lets somebody in.
  std::vector<key_role> admitted{};
};

/// Loads what `hippo keys add` wrote for one name: all that its holder needs to
/// connect to the service.
/// @param role what it must be good for
/// @param now the time at which it must be valid
/// @returns `errc::not_allowed` if it is of another role or not valid now, or
///          if others can read the file; `errc::invalid_argument` if the file
///          is missing or damaged; `errc::io_failed`. Each sentence says what
///          would be right.
expected<credentials> load_credentials(const std::string& path, key_role role,
                                       unix_seconds now);

} // namespace hippo
