#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <capnp/rpc-twoparty.h>

#include "hippo/checkpoint/depot/event_thread.hpp"

namespace hippo {

/// Serves a capability on a port of the loopback interface, in a thread of its
/// own.
class rpc_host {
public:
  using maker = std::function<capnp::Capability::Client(kj::AsyncIoContext&)>;

  /// @param make makes what is served, on the thread
  /// @param port 0: any
  explicit rpc_host(const maker& make, std::uint16_t port = 0) {
    thread_.run([&](kj::AsyncIoContext& io) {
      return io.provider->getNetwork()
        .parseAddress("127.0.0.1", port)
        .then([&](kj::Own<kj::NetworkAddress> address) {
          served_ = std::make_unique<served>(make(io), address->listen());
        });
    });
  }
  rpc_host(const rpc_host&) = delete;
  rpc_host& operator=(const rpc_host&) = delete;

  /// Closes the port and cuts all connections.
  ~rpc_host() {
    thread_.run([this](kj::AsyncIoContext&) { served_.reset(); });
  }

  [[nodiscard]] std::uint16_t port() const {
    return static_cast<std::uint16_t>(served_->listener->getPort());
  }

  /// Waits until no connection is left, and what came by them has been dropped.
  void await_idle() {
    thread_.run(
      [this](kj::AsyncIoContext&) { return served_->server.drain(); });
  }

private:
  struct served {
    served(capnp::Capability::Client what, kj::Own<kj::ConnectionReceiver> port)
      : server(kj::mv(what)), listener(kj::mv(port)),
        listening(server.listen(*listener).eagerlyEvaluate(nullptr)) {}

    capnp::TwoPartyServer server;
    kj::Own<kj::ConnectionReceiver> listener;
    kj::Promise<void> listening;
  };

  event_thread thread_;
  std::unique_ptr<served> served_;
};

} // namespace hippo
