#include "hippo/net/keys/key_folder.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <system_error>
#include <utility>

#include <unistd.h>

#include <openssl/rand.h>

#include "hippo/net/keys/issue.hpp"
#include "hippo/net/keys/private_file.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t host_length_max = 253;

error openssl_failed(const std::string& what) {
  return {errc::io_failed,
          "cannot make " + what + ": " + openssl::take_errors()};
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// A certificate and its key, ready to sign.
struct signer {
  openssl::certificate_ptr certificate;
  openssl::key_ptr key;
  unix_seconds not_after = 0;
};

expected<openssl::certificate_ptr>
load_authority_certificate(const std::string& path) {
  const auto bytes = read_private_file(path);
  if (!bytes)
    return bytes.failure();
  auto result = openssl::certificate_from(*bytes);
  if (!result)
    return {errc::invalid_argument,
            path + " is damaged: " + openssl::take_errors()};
  return result;
}

expected<signer> load_signer(const std::string& certificate_path,
                             const std::string& key_path) {
  auto certificate = load_authority_certificate(certificate_path);
  if (!certificate)
    return certificate.failure();
  const auto bytes = read_private_file(key_path);
  if (!bytes)
    return bytes.failure();
  signer result{std::move(*certificate), openssl::key_from(*bytes), 0};
  if (!result.key)
    return {errc::invalid_argument,
            key_path + " is damaged: " + openssl::take_errors()};
  if (!openssl::is_key_of(result.certificate.get(), result.key.get()))
    return {errc::invalid_argument,
            key_path + " is not the key of " + certificate_path};
  const auto end
    = openssl::seconds_of(X509_get0_notAfter(result.certificate.get()));
  if (!end)
    return {errc::invalid_argument,
            certificate_path + " is damaged: no time at which it ends"};
  result.not_after = *end;
  return result;
}

/// A name for an authority that no other has.
std::string authority_name(key_role role) {
  std::array<unsigned char, 4> bytes{};
  RAND_bytes(bytes.data(), static_cast<int>(bytes.size()));
  constexpr auto digits = "0123456789abcdef";
  auto result = "hippo " + std::string{to_string(role)} + " authority ";
  for (const auto byte : bytes) {
    result += digits[byte >> 4];
    result += digits[byte & 15];
  }
  return result;
}

/// @returns why a host is neither a name nor an IP address
std::optional<error> check_host(const std::string& host) {
  const bool is_name
    = !host.empty() && host.size() <= host_length_max
      && std::all_of(host.begin(), host.end(), [](unsigned char x) {
           return std::isalnum(x) != 0 || x == '-' || x == '.';
         });
  if (is_name || openssl::is_address(host))
    return {};
  return error{errc::invalid_argument,
               "'" + host + "' is neither a host name nor an IP address"};
}

/// Returns the names by which a service on this machine is known.
std::vector<std::string> all_hosts(const std::vector<std::string>& hosts) {
  std::vector<std::string> result{service_host, "localhost", "127.0.0.1",
                                  "::1"};
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) == 0 && !check_host(name))
    result.emplace_back(name);
  for (const auto& x : hosts)
    if (std::find(result.begin(), result.end(), x) == result.end())
      result.push_back(x);
  return result;
}

/// @returns `errc::invalid_argument` if the folder holds other things than keys
std::optional<error> check_empty(const std::string& path) {
  std::error_code reason;
  fs::directory_iterator entries{path, reason};
  if (reason)
    return error{errc::io_failed, "cannot read the folder " + path + ": "
                                    + reason.message()};
  if (entries == fs::directory_iterator{})
    return {};
  return error{errc::invalid_argument,
               path + " holds no keys of Hippo, but other things ("
                 + entries->path().filename().string()
                 + "): choose an empty folder or a new name"};
}

} // namespace

// -- making -------------------------------------------------------------------

expected<key_folder> key_folder::init(const std::string& path,
                                      const std::vector<std::string>& hosts,
                                      bool renew, unix_seconds now) {
  for (const auto& host : hosts)
    if (auto why = check_host(host))
      return std::move(*why);
  if (all_hosts(hosts).size() > service_hosts_max)
    return {errc::invalid_argument,
            "a service certificate carries at most "
              + std::to_string(service_hosts_max) + " hosts"};
  if (auto why = make_private_folder(path))
    return std::move(*why);
  const key_folder folder{path};
  const auto authorities = path + "/authority";
  if (!exists(authorities)) {
    if (auto why = check_empty(path))
      return std::move(*why);
  } else if (!renew && exists(folder.file_of("service"))) {
    return {errc::in_use,
            path + " holds keys already; --renew gives its service a new "
                   "certificate"};
  }
  if (auto why = make_private_folder(authorities))
    return std::move(*why);
  if (auto why = folder.make_missing_authorities(now))
    return std::move(*why);
  if (auto why = folder.write_service(hosts, renew, now))
    return std::move(*why);
  return folder;
}

std::optional<error>
key_folder::make_missing_authorities(unix_seconds now) const {
  for (const auto role : all_key_roles) {
    const auto certificate_path = authority(role, ".crt");
    const auto key_path = authority(role, ".key");
    if (exists(certificate_path))
      continue;
    const auto key = openssl::make_key();
    if (!key)
      return openssl_failed("a key");
    const auto certificate = openssl::issue(
      {authority_name(role), true, false, {}, now - clock_slack_seconds,
       now + authority_days * day_seconds},
      key.get(), nullptr, nullptr);
    if (!certificate)
      return openssl_failed(certificate_path);
    // The certificate last: where it is, the key is.
    if (auto why = write_private_file(key_path, openssl::to_pem(key.get()),
                                      true))
      return why;
    if (auto why = write_private_file(
          certificate_path, openssl::to_pem(certificate.get()), false))
      return why;
  }
  return {};
}

std::optional<error>
key_folder::write_service(const std::vector<std::string>& hosts, bool renew,
                          unix_seconds now) const {
  const auto from = load_signer(authority(key_role::service, ".crt"),
                                authority(key_role::service, ".key"));
  if (!from)
    return from.failure();
  const auto key = openssl::make_key();
  if (!key)
    return openssl_failed("a key");
  const auto certificate = openssl::issue(
    {to_text(key_holder{key_role::service, service_host}), false, true,
     all_hosts(hosts), now - clock_slack_seconds, from->not_after},
    key.get(), from->certificate.get(), from->key.get());
  if (!certificate)
    return openssl_failed("the service's certificate");
  return write_private_file(file_of("service"),
                            openssl::to_pem(key.get())
                              + openssl::to_pem(certificate.get()),
                            renew);
}

expected<key_folder> key_folder::open(const std::string& path) {
  if (!exists(path + "/authority"))
    return {errc::invalid_argument,
            path + " is no folder with keys; hippo keys init makes one"};
  if (auto why = check_private_folder(path))
    return std::move(*why);
  return key_folder{path};
}

expected<std::string> key_folder::add(const key_holder& holder, int days,
                                      bool renew, unix_seconds now) const {
  if (auto why = check_key_name(holder.name))
    return std::move(*why);
  if (holder.role == key_role::service || holder.name == "service")
    return {errc::invalid_argument,
            "'service' is the service itself: choose another name, and the "
            "role trainer or client"};
  const auto path = file_of(holder.name);
  const auto before = exists(path) ? entry_of(path, now) : key_entry{};
  if (before.certificate && before.certificate->holder.role != holder.role)
    return {errc::in_use, path + " is the key of a "
                            + to_string(before.certificate->holder.role)
                            + ": choose another name"};
  if (before.certificate && !renew)
    return {errc::in_use,
            path + " is there already, valid until "
              + date_text(before.certificate->not_after)
              + "; --renew replaces it"};
  const auto from = load_signer(authority(holder.role, ".crt"),
                                authority(holder.role, ".key"));
  if (!from)
    return from.failure();
  const auto service
    = load_authority_certificate(authority(key_role::service, ".crt"));
  if (!service)
    return service.failure();
  const auto days_max = (from->not_after - now) / day_seconds;
  if (days < 1 || days > days_max)
    return {errc::invalid_argument,
            "a key is valid for 1 to " + std::to_string(days_max)
              + " days, not " + std::to_string(days)
              + ": its authority ends on " + date_text(from->not_after)};
  const auto key = openssl::make_key();
  if (!key)
    return openssl_failed("a key");
  const auto certificate = openssl::issue(
    {to_text(holder), false, false, {}, now - clock_slack_seconds,
     now + days * day_seconds},
    key.get(), from->certificate.get(), from->key.get());
  if (!certificate)
    return openssl_failed("the certificate of " + to_text(holder));
  if (auto why = write_private_file(path,
                                    openssl::to_pem(key.get())
                                      + openssl::to_pem(certificate.get())
                                      + openssl::to_pem(service->get()),
                                    renew))
    return std::move(*why);
  return path;
}

// -- reading ------------------------------------------------------------------

key_entry key_folder::entry_of(const std::string& path,
                               unix_seconds now) const {
  key_entry result;
  result.path = path;
  const auto bytes = read_private_file(path);
  if (!bytes) {
    result.problem = bytes.failure().message;
    return result;
  }
  auto certificate = read_certificate(*bytes);
  if (!certificate) {
    result.problem = path + ": " + certificate.failure().message;
    return result;
  }
  result.certificate = std::move(*certificate);
  const auto& info = *result.certificate;
  const auto issuer
    = load_authority_certificate(authority(info.holder.role, ".crt"));
  if (!issuer)
    result.problem = issuer.failure().message;
  else if (!openssl::is_signed_by(openssl::certificate_from(*bytes).get(),
                                  issuer->get()))
    result.problem = path + " is not of "
                     + authority(info.holder.role, ".crt") + ", but of "
                     + info.authority + "; a new one: "
                     + renewal_of(info.holder);
  else if (const auto why = check_validity(info, now))
    result.problem = why->message;
  return result;
}

expected<std::vector<key_entry>> key_folder::list(unix_seconds now) const {
  std::error_code reason;
  std::vector<std::string> names;
  for (fs::directory_iterator at{path_, reason}, end; !reason && at != end;
       at.increment(reason))
    if (const auto file = at->path(); file.extension() == ".pem")
      names.push_back(file.stem().string());
  if (reason)
    return {errc::io_failed,
            "cannot read the folder " + path_ + ": " + reason.message()};
  std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
    return std::pair{a != "service", a} < std::pair{b != "service", b};
  });
  std::vector<key_entry> result;
  for (const auto& name : names)
    result.push_back(entry_of(file_of(name), now));
  return result;
}

expected<credentials>
key_folder::serving(const std::vector<key_role>& admitted,
                    unix_seconds now) const {
  const auto path = file_of("service");
  const auto bytes = read_private_file(path);
  if (!bytes)
    return bytes.failure();
  auto entry = entry_of(path, now);
  if (!entry.problem.empty())
    return {errc::not_allowed, entry.problem};
  const auto certificate = openssl::certificate_from(*bytes);
  const auto key = openssl::key_from(*bytes);
  if (!key || !openssl::is_key_of(certificate.get(), key.get()))
    return {errc::invalid_argument,
            path + " is damaged: key and certificate are not of each other; "
                   "hippo keys init --renew makes a new one"};
  credentials result{entry.certificate->holder, openssl::to_pem(key.get()),
                     openssl::to_pem(certificate.get()), {}, {}};
  for (const auto role : admitted) {
    const auto trusted = load_authority_certificate(authority(role, ".crt"));
    if (!trusted)
      return trusted.failure();
    result.authorities += openssl::to_pem(trusted->get());
    result.admitted.push_back(role);
  }
  return result;
}

std::string key_folder::authority(key_role role, const char* extension) const {
  return path_ + "/authority/" + to_string(role) + extension;
}

std::string key_folder::file_of(const std::string& name) const {
  return path_ + "/" + name + ".pem";
}

} // namespace hippo
