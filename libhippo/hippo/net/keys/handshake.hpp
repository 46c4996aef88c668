#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "hippo/base/error.hpp"
#include "hippo/net/keys/credentials.hpp"

namespace hippo {

/// Makes a TLS connection to a service, ends it, and says why it fails if it
/// does. Neither CAF nor kj tells who connects why it is refused; ask here
/// after a connection has failed, on either port.
///
/// Blocks for at most `patience`, beside what resolving the name takes.
/// @returns nothing if the service lets in who shows `shown`;
///          `errc::not_allowed` with what is wrong with either certificate and
///          what to do about it; `errc::io_failed` if nobody answers, or what
///          answers does not speak TLS
std::optional<error> why_refused(const std::string& host, std::uint16_t port,
                                 const credentials& shown,
                                 std::chrono::milliseconds patience);

} // namespace hippo
