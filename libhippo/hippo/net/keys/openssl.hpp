#pragma once

// The use of OpenSSL by the rest of this folder; of no use outside of it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "hippo/base/error.hpp"

namespace hippo::openssl {

template <auto Free>
struct freer {
  template <class T>
  void operator()(T* value) const noexcept {
    Free(value);
  }
};

using bio_ptr = std::unique_ptr<BIO, freer<BIO_free_all>>;
using key_ptr = std::unique_ptr<EVP_PKEY, freer<EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freer<X509_free>>;
using context_ptr = std::unique_ptr<SSL_CTX, freer<SSL_CTX_free>>;
using extension_ptr
  = std::unique_ptr<X509_EXTENSION, freer<X509_EXTENSION_free>>;
using general_names_ptr
  = std::unique_ptr<GENERAL_NAMES, freer<GENERAL_NAMES_free>>;
using number_ptr = std::unique_ptr<BIGNUM, freer<BN_free>>;

/// Returns what OpenSSL says is wrong, and forgets it.
std::string take_errors();

/// Returns the characters of an ASN.1 string.
std::string text_of(const ASN1_STRING* text);

/// Returns a time in seconds since 1970, or nothing if it cannot be read.
std::optional<std::int64_t> seconds_of(const ASN1_TIME* at);

/// Returns an IP address of 4 or 16 bytes as text; else an empty string.
std::string address_text(const ASN1_OCTET_STRING* address);

/// One block of a PEM file.
struct pem_block {
  std::string label; ///< e.g. `CERTIFICATE`
  std::string text;  ///< the block with its first and last line
};

/// Cuts a PEM file into its blocks; ignores what is around them.
/// @returns `errc::invalid_argument` if a block is damaged
expected<std::vector<pem_block>> blocks_of(const std::string& pem);

/// Returns the first certificate of `pem`, or null.
certificate_ptr certificate_from(const std::string& pem);

/// Returns the first private key of `pem`, or null; never asks for a password.
key_ptr key_from(const std::string& pem);

std::string to_pem(X509* certificate);
std::string to_pem(EVP_PKEY* key);

/// Whether a certificate is for this key.
bool is_key_of(X509* certificate, EVP_PKEY* key);

/// Whether `authority` has signed `certificate`; says nothing about times.
bool is_signed_by(X509* certificate, X509* authority);

} // namespace hippo::openssl
