#include "hippo/net/keys/issue.hpp"

#include <array>

#include <arpa/inet.h>

#include <openssl/ec.h>

namespace hippo::openssl {

namespace {

constexpr int serial_bits = 159; // at most 20 bytes, the first bit 0

bool set_serial(X509* certificate) {
  const number_ptr number{BN_new()};
  return number
         && BN_rand(number.get(), serial_bits, BN_RAND_TOP_ONE,
                    BN_RAND_BOTTOM_ANY)
              == 1
         && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate))
              != nullptr;
}

bool set_name(X509* certificate, const std::string& common_name) {
  return X509_NAME_add_entry_by_txt(
           X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
           reinterpret_cast<const unsigned char*>(common_name.data()),
           static_cast<int>(common_name.size()), -1, 0)
         == 1;
}

bool add_extension(X509* certificate, X509* authority, int kind,
                   const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, authority, certificate, nullptr, nullptr, 0);
  const extension_ptr extension{
    X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str())};
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

std::string alternative_names(const std::vector<std::string>& hosts) {
  std::string result;
  for (const auto& host : hosts)
    result += (result.empty() ? "" : ",")
              + std::string{is_address(host) ? "IP:" : "DNS:"} + host;
  return result;
}

bool add_extensions(X509* certificate, X509* authority, const request& what) {
  const auto add = [&](int kind, const std::string& value) {
    return add_extension(certificate, authority, kind, value);
  };
  if (!add(NID_subject_key_identifier, "hash"))
    return false;
  if (what.is_authority)
    return add(NID_basic_constraints, "critical,CA:TRUE,pathlen:0")
           && add(NID_key_usage, "critical,keyCertSign,cRLSign");
  return add(NID_authority_key_identifier, "keyid:always")
         && add(NID_basic_constraints, "critical,CA:FALSE")
         && add(NID_key_usage, "critical,digitalSignature")
         && add(NID_ext_key_usage, what.is_service ? "serverAuth"
                                                   : "clientAuth")
         && (what.hosts.empty()
             || add(NID_subject_alt_name, alternative_names(what.hosts)));
}

} // namespace

key_ptr make_key() {
  return key_ptr{EVP_EC_gen("P-256")};
}

certificate_ptr issue(const request& what, EVP_PKEY* key, X509* authority,
                      EVP_PKEY* authority_key) {
  certificate_ptr made{X509_new()};
  auto* x = made.get();
  auto* issuer = authority == nullptr ? x : authority;
  auto* issuer_key = authority == nullptr ? key : authority_key;
  const bool done
    = x != nullptr && X509_set_version(x, X509_VERSION_3) == 1 && set_serial(x)
      && set_name(x, what.common_name)
      && X509_set_issuer_name(x, X509_get_subject_name(issuer)) == 1
      && ASN1_TIME_set(X509_getm_notBefore(x), what.not_before) != nullptr
      && ASN1_TIME_set(X509_getm_notAfter(x), what.not_after) != nullptr
      && X509_set_pubkey(x, key) == 1 && add_extensions(x, issuer, what)
      && X509_sign(x, issuer_key, EVP_sha256()) > 0;
  return done ? std::move(made) : nullptr;
}

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1
         || ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

} // namespace hippo::openssl
