#include "hippo/net/client/transport.hpp"

#include <chrono>
#include <memory>

#include "hippo/base/endpoint.hpp"
#include "hippo/net/keys/credentials.hpp"
#include "hippo/net/keys/handshake.hpp"
#include "hippo/net/keys/rpc_tls.hpp"

namespace hippo {

namespace {

/// How long a service may take to say who it is.
constexpr std::chrono::seconds handshake_patience{10};

} // namespace

expected<transport> make_transport(const client_options& options) {
  if (options.credentials.empty())
    return transport{[](kj::Own<kj::AsyncIoStream> stream) {
      return kj::Promise<kj::Own<kj::AsyncIoStream>>{kj::mv(stream)};
    }};
  const auto shown
    = load_credentials(options.credentials, key_role::client, now_seconds());
  if (!shown)
    return shown.failure();
  auto made = rpc_tls_peer::make(*shown);
  if (!made)
    return made.failure();
  const auto peer = std::make_shared<rpc_tls_peer>(std::move(*made));
  return transport{[peer](kj::Own<kj::AsyncIoStream> stream) {
    return peer->connect(kj::mv(stream)).attach(peer);
  }};
}

std::optional<error> find_refusal(const std::string& address,
                                  const client_options& options) {
  if (options.credentials.empty())
    return std::nullopt;
  const auto where = parse_endpoint(address);
  const auto shown
    = load_credentials(options.credentials, key_role::client, now_seconds());
  if (!where || !shown)
    return std::nullopt;
  return why_refused(where->host, where->port, *shown, handshake_patience);
}

} // namespace hippo
