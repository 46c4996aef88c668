#include "hippo/client/transport.hpp"

#include <memory>

#include "hippo/keys/credentials.hpp"
#include "hippo/keys/rpc_tls.hpp"

namespace hippo {

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

} // namespace hippo
