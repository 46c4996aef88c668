#pragma once

// Makes keys and certificates.

#include <string>
#include <vector>

#include "hippo/net/keys/certificate.hpp"
#include "hippo/net/keys/openssl.hpp"

namespace hippo::openssl {

/// A certificate to be made.
struct request {
  std::string common_name;
  bool is_authority = false;
  bool is_service = false;        ///< else, and no authority: one who connects
  std::vector<std::string> hosts; ///< names and IP addresses
  unix_seconds not_before = 0;
  unix_seconds not_after = 0;
};

/// Returns a new key on the curve P-256, or null if OpenSSL has no randomness.
key_ptr make_key();

/// Makes a certificate for `key`, signed by an authority.
/// @param authority null: by itself
/// @returns null, with the reason in `take_errors()`
certificate_ptr issue(const request& what, EVP_PKEY* key, X509* authority,
                      EVP_PKEY* authority_key);

/// Whether `host` is an IP address; else it is taken for a name.
bool is_address(const std::string& host);

} // namespace hippo::openssl
