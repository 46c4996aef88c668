#include "hippo/net/keys/certificate.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

#include <openssl/x509v3.h>

#include "hippo/net/keys/openssl.hpp"

namespace hippo {

namespace {

std::string common_name_of(const X509_NAME* name) {
  const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (at < 0)
    return {};
  return openssl::text_of(
    X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
}

std::vector<std::string> hosts_of(const X509* certificate) {
  std::vector<std::string> result;
  const openssl::general_names_ptr names{static_cast<GENERAL_NAMES*>(
    X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr))};
  if (!names)
    return result;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const auto* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS)
      result.push_back(openssl::text_of(name->d.dNSName));
    else if (name->type == GEN_IPADD)
      result.push_back(openssl::address_text(name->d.iPAddress));
  }
  return result;
}

bool is_letter_or_digit(char x) {
  return (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z')
         || (x >= '0' && x <= '9');
}

} // namespace

const char* to_string(key_role role) noexcept {
  switch (role) {
    case key_role::service: return "service";
    case key_role::trainer: return "trainer";
    case key_role::client: return "client";
  }
  return "unknown";
}

unix_seconds now_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
           std::chrono::system_clock::now().time_since_epoch())
    .count();
}

std::string date_text(unix_seconds at) {
  const auto seconds = static_cast<std::time_t>(at);
  std::tm parts{};
  char text[32] = "";
  ::gmtime_r(&seconds, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

std::optional<error> check_key_name(std::string_view name) {
  const bool fine
    = !name.empty() && name.size() <= key_name_length_max
      && is_letter_or_digit(name.front())
      && std::all_of(name.begin(), name.end(), [](char x) {
           return is_letter_or_digit(x) || x == '.' || x == '_' || x == '-';
         });
  if (fine)
    return {};
  return error{errc::invalid_argument,
               "a name is made of letters, digits, '.', '_' and '-', begins "
               "with a letter or digit and has at most "
                 + std::to_string(key_name_length_max)
                 + " characters, not '" + std::string{name} + "'"};
}

std::string to_text(const key_holder& holder) {
  return std::string{to_string(holder.role)} + ":" + holder.name;
}

expected<key_holder> read_key_holder(std::string_view common_name) {
  const auto colon = common_name.find(':');
  if (colon != common_name.npos)
    for (const auto role : all_key_roles)
      if (common_name.substr(0, colon) == to_string(role))
        if (const auto name = common_name.substr(colon + 1);
            !check_key_name(name))
          return key_holder{role, std::string{name}};
  return {errc::not_allowed, "a certificate's common name must say role and "
                             "name, as in trainer:gpu1, not '"
                               + std::string{common_name} + "'"};
}

expected<certificate_info> read_certificate(const std::string& pem) {
  const auto certificate = openssl::certificate_from(pem);
  if (!certificate)
    return {errc::invalid_argument,
            "no certificate that can be read: " + openssl::take_errors()};
  auto holder = read_key_holder(
    common_name_of(X509_get_subject_name(certificate.get())));
  if (!holder)
    return holder.failure();
  const auto begin
    = openssl::seconds_of(X509_get0_notBefore(certificate.get()));
  const auto end = openssl::seconds_of(X509_get0_notAfter(certificate.get()));
  if (!begin || !end)
    return {errc::invalid_argument,
            "a certificate whose times cannot be read"};
  return certificate_info{
    std::move(*holder),
    common_name_of(X509_get_issuer_name(certificate.get())), *begin, *end,
    hosts_of(certificate.get())};
}

std::optional<error> check_validity(const certificate_info& certificate,
                                    unix_seconds now) {
  const auto subject = "the certificate of " + to_text(certificate.holder);
  if (now < certificate.not_before)
    return error{errc::not_allowed,
                 subject + " is valid from "
                   + date_text(certificate.not_before)
                   + " on, and this machine's clock says " + date_text(now)};
  if (now > certificate.not_after)
    return error{errc::not_allowed,
                 subject + " expired on " + date_text(certificate.not_after)
                   + "; a new one: " + renewal_of(certificate.holder)};
  return {};
}

std::string renewal_of(const key_holder& holder) {
  if (holder.role == key_role::service)
    return "hippo keys init --renew";
  return "hippo keys add " + holder.name + " --role " + to_string(holder.role)
         + " --renew";
}

} // namespace hippo
