#pragma once

#include <functional>
#include <string>

#include "gateway/gateway.hpp"
#include "hippo/net/keys/credentials.hpp"

namespace hippo {

/// The certificates that a service shows on its ports, and the authorities of
/// the peers that it lets in there.
struct port_keys {
  credentials trainers;
  credentials clients;
};

/// Loads them from a folder that `hippo keys` has made.
expected<port_keys> load_port_keys(const std::string& folder);

/// Makes an authenticator on a gateway's thread.
using authenticator_maker = std::function<expected<authenticator>(kj::Timer&)>;

/// Lets clients and trainers in by their certificates.
authenticator_maker let_in_by_certificate(credentials shown);

/// Speaks TLS with everybody: who they are, tokens say.
authenticator_maker let_in_by_token(credentials shown);

} // namespace hippo
