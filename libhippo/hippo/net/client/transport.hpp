#pragma once

#include <functional>
#include <optional>
#include <string>

#include <kj/async-io.h>

#include "hippo/net/client/client.hpp"

namespace hippo {

/// Makes the bytes of a new connection safe on their way, or leaves them alone.
using transport
  = std::function<kj::Promise<kj::Own<kj::AsyncIoStream>>(
    kj::Own<kj::AsyncIoStream>)>;

/// Returns what `options` want between the socket and the messages.
expected<transport> make_transport(const client_options& options);

/// Asks a service why it did not let in who shows the credentials of `options`:
/// what TLS says does not come with the failure of a connection. Blocks for
/// 10 s at most.
/// @returns nothing if they are not the reason, or if there are none
std::optional<error> find_refusal(const std::string& address,
                                  const client_options& options);

} // namespace hippo
