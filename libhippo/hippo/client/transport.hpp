#pragma once

#include <functional>

#include <kj/async-io.h>

#include "hippo/client/client.hpp"

namespace hippo {

/// Makes the bytes of a new connection safe on their way, or leaves them alone.
using transport
  = std::function<kj::Promise<kj::Own<kj::AsyncIoStream>>(
    kj::Own<kj::AsyncIoStream>)>;

/// Returns what `options` want between the socket and the messages.
expected<transport> make_transport(const client_options& options);

} // namespace hippo
