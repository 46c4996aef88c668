#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <kj/async-io.h>

#include "gateway/limits.hpp"
#include "gateway/query_service.hpp"
#include "gateway/rpc.hpp"
#include "hippo/base/byte_ledger.hpp"

namespace hippo {

/// A connection that has been let in.
struct admitted_connection {
  kj::Own<kj::AsyncIoStream> stream;
  peer_role role = peer_role::anybody;
  /// Whom a certificate names; empty: nobody, then it is its address that has a
  /// share.
  std::string who{};
};

/// Lets connections in: makes a handshake, say. The promise fails for who must
/// stay out, with a text for the log.
using authenticator
  = std::function<kj::Promise<admitted_connection>(kj::AuthenticatedStream)>;

/// What a gateway answers from, and where it listens.
struct gateway_options {
  query_sources sources;
  /// Name or address, or `unix:PATH` of a socket to be made.
  std::string rpc_host = "127.0.0.1";
  std::uint16_t rpc_port = 0;         ///< 0: any
  std::string http_host = "127.0.0.1";
  std::optional<std::uint16_t> http_port; ///< 0: any; nothing: no HTTP
  /// Makes the authenticator of both ports, on their thread. Null: all may
  /// come in, as anybody.
  std::function<expected<authenticator>(kj::Timer&)> make_authenticator;
  /// Where people look who have a token; nothing: nowhere.
  struct people_port {
    std::string host;
    std::uint16_t port = 0; ///< 0: any
    /// Makes its authenticator. Null: TCP without TLS.
    std::function<expected<authenticator>(kj::Timer&)> make_authenticator{};
  };
  std::optional<people_port> people;
  gateway_limits limits;
  /// Books what is held on behalf of clients, by identity and connection. Not
  /// null; shared by all ports of a service.
  std::shared_ptr<byte_ledger> held = std::make_shared<byte_ledger>();
};

/// Where clients reach a service: Cap'n Proto RPC (schemas/service.capnp,
/// docs/clients.md) and HTTP (docs/http.md). It has a thread of its own, which
/// waits for nothing but the network; all that takes time is done elsewhere.
///
/// The actor system outlives it.
class gateway {
public:
  gateway(caf::actor_system& system, gateway_options options);
  ~gateway() { close(); }
  gateway(const gateway&) = delete;
  gateway& operator=(const gateway&) = delete;

  /// Begins to listen.
  /// @returns nothing, or `errc::io_failed` if it cannot listen there,
  ///          or as `query_service::open` and the authenticator say
  /// REQUIRES: was not called before.
  std::optional<error> open();

  /// Lets all clients go, and ends the thread.
  void close();

  /// Where it listens. REQUIRES: it is open.
  [[nodiscard]] std::uint16_t rpc_port() const noexcept { return rpc_port_; }
  [[nodiscard]] std::uint16_t http_port() const noexcept { return http_port_; }
  /// 0: there is no port for people.
  [[nodiscard]] std::uint16_t people_port() const noexcept {
    return people_port_;
  }

  /// Returns how many have a connection for RPC now.
  [[nodiscard]] std::size_t clients() const noexcept { return clients_; }

private:
  class loop;

  /// Runs the event loop.
  /// @param opened is told why it cannot be opened, or nothing
  void run(std::promise<std::optional<error>>& opened);

  caf::actor_system& system_;
  gateway_options options_;
  std::uint16_t rpc_port_ = 0;
  std::uint16_t http_port_ = 0;
  std::uint16_t people_port_ = 0;
  std::atomic<std::size_t> clients_{0};
  kj::Maybe<kj::Own<kj::CrossThreadPromiseFulfiller<void>>> stop_;
  std::thread thread_;
};

} // namespace hippo
