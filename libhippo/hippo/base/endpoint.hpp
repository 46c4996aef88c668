#pragma once

#include <cstdint>
#include <string>

#include "hippo/base/error.hpp"

namespace hippo {

/// Where a service listens.
struct endpoint {
  std::string host; ///< name or address, without brackets
  std::uint16_t port = 0;
  friend bool operator==(const endpoint&, const endpoint&) = default;
};

/// Reads `HOST:PORT`; an IPv6 address stands in brackets: `[::1]:4848`.
/// @param least port 0 stands for any, where one listens
/// @returns the endpoint, or `errc::invalid_argument` with what is wrong
expected<endpoint> parse_endpoint(const std::string& text,
                                  std::uint16_t least = 1);

/// Renders what `parse_endpoint` reads.
std::string to_text(const endpoint& endpoint);

/// Whether an address is that of a socket in the file system, `unix:PATH`.
bool is_local_socket(const std::string& address);

/// Whether nobody but processes of this machine can reach it.
bool is_loopback(const endpoint& endpoint);

} // namespace hippo
