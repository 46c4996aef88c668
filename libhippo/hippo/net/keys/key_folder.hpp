#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/net/keys/certificate.hpp"
#include "hippo/net/keys/credentials.hpp"

namespace hippo {

inline constexpr auto default_key_folder = "hippo-keys";

inline constexpr int authority_days = 3650; ///< and of the service
inline constexpr int default_key_days = 825;

/// Certificates hold from so long before they were made, for clocks that are
/// behind.
inline constexpr unix_seconds clock_slack_seconds = day_seconds;

/// Names and addresses that one service certificate may carry.
inline constexpr std::size_t service_hosts_max = 64;

/// One certificate in a key folder.
struct key_entry {
  std::string path; ///< of its file
  std::optional<certificate_info> certificate;
  std::string problem; ///< why it lets nobody in; empty: it does
};

/// The keys of one service: an authority for each role, the service's own key,
/// and a file for each name that may come in.
///
///     hippo-keys/                0700, every file 0600
///       authority/ROLE.crt       certificate of the authority of that role
///       authority/ROLE.key       its key: signs certificates, and is needed
///                                for nothing else
///       service.pem              the service's key and certificate
///       NAME.pem                 key, certificate, and the certificate of the
///                                service's authority: all that NAME needs
///
/// One authority a role, since what checks a certificate may see no more than
/// whose it is: CAF does not tell who connected.
class key_folder {
public:
  /// Makes a folder with authorities and a service certificate.
  /// @param hosts further names and IP addresses for the service certificate;
  ///              `hippo`, `localhost` and this machine's name are in it. Only
  ///              programs other than Hippo's look at them.
  /// @param renew give the service of an existing folder a new certificate, and
  ///              make what authorities are missing; false: refuse one
  /// @returns `errc::in_use` if there is a key folder, `errc::invalid_argument`
  ///          if there are other things or a host is none, `errc::io_failed`
  static expected<key_folder> init(const std::string& path,
                                   const std::vector<std::string>& hosts,
                                   bool renew, unix_seconds now);

  /// @returns `errc::invalid_argument` if there is no key folder,
  ///          `errc::not_allowed` if others than its owner can enter it
  static expected<key_folder> open(const std::string& path);

  /// Makes a key and a certificate for a trainer or a client.
  /// @param days from `now`, 1 to what the authority has left
  /// @param renew replace the file of that name and role; false: refuse
  /// @returns the path of its file, `errc::in_use` if there is one,
  ///          `errc::invalid_argument` or `errc::io_failed`
  expected<std::string> add(const key_holder& holder, int days, bool renew,
                            unix_seconds now) const;

  /// Returns the service and then all names, by name.
  expected<std::vector<key_entry>> list(unix_seconds now) const;

  /// Loads what the service shows.
  /// @param admitted the roles that it lets in
  /// @returns errors as of `load_credentials`
  expected<credentials> serving(const std::vector<key_role>& admitted,
                                unix_seconds now) const;

private:
  explicit key_folder(std::string path) : path_(std::move(path)) {}

  std::string authority(key_role role, const char* extension) const;
  std::string file_of(const std::string& name) const;
  std::optional<error> make_missing_authorities(unix_seconds now) const;
  std::optional<error> write_service(const std::vector<std::string>& hosts,
                                     bool renew, unix_seconds now) const;
  key_entry entry_of(const std::string& path, unix_seconds now) const;

  std::string path_;
};

} // namespace hippo
