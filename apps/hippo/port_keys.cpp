#include "port_keys.hpp"

#include <memory>
#include <utility>

#include "hippo/net/keys/key_folder.hpp"
#include "hippo/net/keys/private_file.hpp"
#include "hippo/net/keys/rpc_tls.hpp"
#include "hippo/net/wire/exceptions.hpp"

namespace hippo {

expected<port_keys> load_port_keys(const std::string& folder) {
  auto keys = key_folder::open(folder);
  if (!keys)
    return keys.failure();
  const auto now = now_seconds();
  auto trainers = keys->serving({key_role::trainer}, now);
  if (!trainers)
    return trainers.failure();
  // Trainers come here as well, for checkpoints.
  auto clients = keys->serving({key_role::trainer, key_role::client}, now);
  if (!clients)
    return clients.failure();
  return port_keys{std::move(*trainers), std::move(*clients)};
}

authenticator_maker let_in_by_certificate(credentials shown) {
  return
    [shown = std::move(shown)](kj::Timer& timer) -> expected<authenticator> {
      auto made = rpc_tls_service::make(shown, timer);
      if (!made)
        return made.failure();
      const auto service = std::make_shared<rpc_tls_service>(std::move(*made));
      return authenticator{[service](kj::AuthenticatedStream stream) {
        return service->accept(kj::mv(stream))
          .then(
            [service](admitted_peer peer) {
              return admitted_connection{kj::mv(peer.stream),
                                         peer.holder.role == key_role::trainer
                                           ? peer_role::trainer
                                           : peer_role::client,
                                         to_text(peer.holder)};
            },
            [](kj::Exception&& why) -> admitted_connection {
              kj::throwFatalException(exception_saying(explain(why)));
            });
      }};
    };
}

authenticator_maker let_in_by_token(credentials shown) {
  return
    [shown = std::move(shown)](kj::Timer& timer) -> expected<authenticator> {
      auto made = open_tls_service::make(shown, timer);
      if (!made)
        return made.failure();
      const auto service = std::make_shared<open_tls_service>(std::move(*made));
      return authenticator{[service](kj::AuthenticatedStream stream) {
        return service->accept(kj::mv(stream))
          .then([](kj::Own<kj::AsyncIoStream> secured) {
            return admitted_connection{kj::mv(secured), peer_role::anybody, {}};
          });
      }};
    };
}

} // namespace hippo
