#include "hippo/net/keys/openssl.hpp"

#include <array>
#include <ctime>

#include <arpa/inet.h>

#include <openssl/err.h>
#include <openssl/pem.h>

namespace hippo::openssl {

namespace {

bio_ptr reader_of(const std::string& bytes) {
  return bio_ptr{
    BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size()))};
}

std::string bytes_of(BIO* memory) {
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(memory, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

/// Refuses: a service cannot ask anybody.
int no_password(char*, int, int, void*) {
  return -1;
}

} // namespace

std::string take_errors() {
  std::string result;
  while (const auto code = ERR_get_error())
    if (const char* reason = ERR_reason_error_string(code))
      result += (result.empty() ? "" : ", ") + std::string{reason};
  return result.empty() ? "no reason given" : result;
}

std::string text_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::optional<std::int64_t> seconds_of(const ASN1_TIME* at) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(at, &parts) != 1)
    return {};
  return ::timegm(&parts);
}

std::string address_text(const ASN1_OCTET_STRING* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const auto bytes = ASN1_STRING_length(address);
  if (bytes != 4 && bytes != 16)
    return {};
  return ::inet_ntop(bytes == 4 ? AF_INET : AF_INET6,
                     ASN1_STRING_get0_data(address), text.data(), text.size());
}

expected<std::vector<pem_block>> blocks_of(const std::string& pem) {
  const auto in = reader_of(pem);
  std::vector<pem_block> result;
  ERR_clear_error();
  for (;;) {
    char* name = nullptr;
    char* header = nullptr;
    unsigned char* data = nullptr;
    long size = 0;
    if (PEM_read_bio(in.get(), &name, &header, &data, &size) != 1) {
      const auto why = ERR_peek_last_error();
      if (ERR_GET_LIB(why) == ERR_LIB_PEM
          && ERR_GET_REASON(why) == PEM_R_NO_START_LINE) {
        ERR_clear_error();
        return result; // the end
      }
      return {errc::invalid_argument, take_errors()};
    }
    const bio_ptr out{BIO_new(BIO_s_mem())};
    PEM_write_bio(out.get(), name, header, data, size);
    result.push_back({name, bytes_of(out.get())});
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_clear_free(data, static_cast<std::size_t>(size));
  }
}

certificate_ptr certificate_from(const std::string& pem) {
  ERR_clear_error();
  return certificate_ptr{
    PEM_read_bio_X509(reader_of(pem).get(), nullptr, no_password, nullptr)};
}

key_ptr key_from(const std::string& pem) {
  ERR_clear_error();
  return key_ptr{PEM_read_bio_PrivateKey(reader_of(pem).get(), nullptr,
                                         no_password, nullptr)};
}

std::string to_pem(X509* certificate) {
  const bio_ptr out{BIO_new(BIO_s_mem())};
  PEM_write_bio_X509(out.get(), certificate);
  return bytes_of(out.get());
}

std::string to_pem(EVP_PKEY* key) {
  const bio_ptr out{BIO_new(BIO_s_mem())};
  PEM_write_bio_PKCS8PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr,
                                nullptr);
  return bytes_of(out.get());
}

bool is_key_of(X509* certificate, EVP_PKEY* key) {
  const bool result = X509_check_private_key(certificate, key) == 1;
  ERR_clear_error();
  return result;
}

bool is_signed_by(X509* certificate, X509* authority) {
  const bool result
    = X509_check_issued(authority, certificate) == X509_V_OK
      && X509_verify(certificate, X509_get0_pubkey(authority)) == 1;
  ERR_clear_error();
  return result;
}

} // namespace hippo::openssl
