#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"

namespace hippo {

/// The key that signs requests to an object store. It is never logged, sent
/// to anybody or kept on a disk by Hippo.
struct aws_credentials {
  std::string id;
  std::string secret;
  std::string session{}; ///< token of temporary credentials; else empty
  /// When they end, in seconds since 1970; nothing: nobody has said.
  std::optional<std::int64_t> ends{};
  friend bool operator==(const aws_credentials&,
                         const aws_credentials&) = default;
};

/// Returns the value of a variable of the environment, or nothing.
using environment
  = std::function<std::optional<std::string>(const std::string& name)>;

/// A place where credentials may be.
struct credential_source {
  enum class kind {
    variables, ///< AWS_ACCESS_KEY_ID and what belongs to it
    identity,  ///< a token that a security token service (STS) at `where` takes
    file,      ///< a profile of the file that tools share
    container, ///< what runs the container answers at `where`
    machine    ///< what runs the virtual machine does
  };
  kind from = kind::variables;
  std::string where{};      ///< path or address
  std::string profile{};    ///< of a file
  std::string token{};      ///< what to show to `where`, if anything
  std::string token_file{}; ///< or the file that has it
  std::string role{};       ///< to ask an STS for
  std::string name{};       ///< of the session, which the STS's log has
  friend bool operator==(const credential_source&,
                         const credential_source&) = default;
};

/// Returns the places to look at, in their order: that of Amazon's tools.
std::vector<credential_source> find_sources(const environment& env);

/// Returns the credentials in the variables of the environment, if there are
/// any.
std::optional<aws_credentials> read_variables(const environment& env);

/// Reads a profile of a shared credentials file (INI).
/// @returns the credentials, or nothing if the profile has none
std::optional<aws_credentials> read_profile(const std::string& text,
                                            const std::string& profile);

/// Reads what the metadata service of a container or a machine answers (JSON).
/// @returns the credentials, or `errc::io_failed`; the message has nothing of
///          what was answered, which may be secret
expected<aws_credentials> read_answer(const std::string& json);

/// Reads what an STS answers (XML).
/// @returns as `read_answer`
expected<aws_credentials> read_sts_answer(const std::string& xml);

/// The form that asks an STS for a role by a web identity's token.
std::string identity_form(const credential_source& from,
                          const std::string& token);

/// Reads `2026-01-31T12:00:00Z`. @returns seconds since 1970
std::optional<std::int64_t> parse_time(const std::string& text);

/// Whether to ask for newer ones: they have ended, or will within five minutes.
/// @param now in seconds since 1970
bool is_ending(const aws_credentials& credentials, std::int64_t now);

} // namespace hippo
