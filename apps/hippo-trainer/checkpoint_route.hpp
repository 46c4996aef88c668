#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "hippo/checkpoint/checkpoint_store.hpp"
#include "hippo/checkpoint/depot/depot_client.hpp"
#include "hippo/checkpoint/object_store/object_client.hpp"
#include "hippo/checkpoint/recent_checkpoints.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/net/keys/credentials.hpp"
#include "hippo/net/keys/rpc_tls.hpp"

namespace hippo {

/// How trainers of this process come to checkpoints: in the folder that a lease
/// names if they see what the service sees there, else over the network; or in
/// the object store that it names.
///
/// Not thread-safe.
class checkpoint_route {
public:
  /// @param keys to show to the service; null: it speaks no TLS
  checkpoint_route(std::string host, const credentials* keys);

  /// Chooses the store of a lease.
  std::unique_ptr<checkpoint_store> store_of(const lease& lease);

private:
  std::unique_ptr<checkpoint_store> objects_of(const lease& lease);
  depot_client& client_of(std::uint16_t port);

  std::string host_;
  std::shared_ptr<rpc_tls_peer> tls_;
  recent_checkpoints recent_;
  std::uint16_t port_ = 0;
  std::unique_ptr<depot_client> client_;
  /// For reads and for writes: neither waits for the other.
  struct object_clients {
    object_client reads;
    object_client writes;
  };
  std::unique_ptr<object_clients> objects_;
};

} // namespace hippo
