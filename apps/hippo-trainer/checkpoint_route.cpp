#include "checkpoint_route.hpp"

#include <filesystem>
#include <utility>

#include <spdlog/spdlog.h>

#include "hippo/checkpoint/folder_token.hpp"
#include "hippo/checkpoint/object_store/object_checkpoints.hpp"
#include "hippo/model/checkpoint_path.hpp"
#include "hippo/train/process/made_workload.hpp"
#include "service.capnp.h"

namespace hippo {

checkpoint_route::checkpoint_route(std::string host, const credentials* keys)
  : host_(std::move(host)) {
  if (keys == nullptr)
    return;
  if (auto peer = rpc_tls_peer::make(*keys))
    tls_ = std::make_shared<rpc_tls_peer>(std::move(*peer));
  else
    spdlog::error("trainer: {}", peer.failure().message);
}

std::unique_ptr<checkpoint_store>
checkpoint_route::store_of(const lease& lease) {
  if (is_in_object_store(lease.folder))
    return objects_of(lease);
  const std::filesystem::path folder{lease.folder};
  if (lease.depot == 0 || lease.token.empty()
      || sees_folder(folder.parent_path().string(), lease.token))
    return folder_of(lease);
  const auto name = folder.filename().string();
  return recent_.over(
    name, std::make_unique<remote_store>(client_of(lease.depot), name));
}

std::unique_ptr<checkpoint_store>
checkpoint_route::objects_of(const lease& lease) {
  const auto slash = lease.folder.rfind('/');
  const auto name = lease.folder.substr(slash + 1);
  // The service keeps what it leaves itself.
  std::unique_ptr<checkpoint_store> result =
    std::make_unique<remote_store>(client_of(lease.depot), name);
  auto where = parse_location(lease.folder.substr(0, slash));
  if (!where) {
    spdlog::error("trainer: {}", where.failure().message);
    return result;
  }
  if (!objects_ || objects_->reads.where() != *where) {
    spdlog::info("trainer: checkpoints are in an object store, {}",
                 to_text(*where));
    objects_.reset(new object_clients{object_client{*where},
                                      object_client{std::move(*where)}});
  }
  return recent_.over(name, std::make_unique<object_checkpoints>(
                              objects_->reads, objects_->writes, name,
                              std::move(result)));
}

depot_client& checkpoint_route::client_of(std::uint16_t port) {
  if (client_ && port_ == port)
    return *client_;
  spdlog::info("trainer: checkpoints come over the network, port {}", port);
  depot_address where;
  where.host = host_;
  where.port = port_ = port;
  if (tls_)
    where.wrap = [tls = tls_](kj::Own<kj::AsyncIoStream> stream) {
      return tls->connect(kj::mv(stream)).attach(tls);
    };
  where.find = [](capnp::Capability::Client entrance) {
    return entrance.castAs<schema::Entrance>()
      .depotRequest()
      .send()
      .getDepot()
      .castAs<schema::Depot>();
  };
  client_ = std::make_unique<depot_client>(std::move(where));
  return *client_;
}

} // namespace hippo
