#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "hippo/base/byte_ledger.hpp"
#include "hippo/base/endpoint.hpp"
#include "hippo/checkpoint/depot/event_thread.hpp"
#include "hippo/net/keys/credentials.hpp"
#include "messages.hpp"

namespace hippo {

/// Where trainers connect, and who may.
struct trainer_port_options {
  endpoint where{"127.0.0.1", 0}; ///< port 0: any
  /// What the service shows and whom it lets in; nothing: no TLS, everybody.
  std::optional<credentials> keys;
  /// How long a trainer may be silent, as the pool watches it.
  std::chrono::milliseconds silence_max = std::chrono::seconds{15};
  /// Connections that have not said yet which trainer it is. With one more, the
  /// oldest of the address that has the most is closed: who is honest says it
  /// at once.
  std::size_t arrivals_max = 256;
  /// Of all kinds. One more is closed, or the last of the address that has the
  /// most, if that has two more than the address of whoever comes.
  std::size_t connections_max = 16'384;
  /// Books what is held on behalf of trainers, by address and connection. Not
  /// null; shared by all ports of a service.
  std::shared_ptr<byte_ledger> held = std::make_shared<byte_ledger>();
};

/// Where trainers reach a service. What comes from outside is checked here, on
/// a thread of its own, before any actor sees it; and all that trainers reach
/// is `pool` as a registrar, through an actor that stands for each of them.
///
/// The actor system outlives it.
class trainer_port {
public:
  trainer_port(caf::actor_system& system, registrar_actor pool,
               trainer_port_options options);
  ~trainer_port();
  trainer_port(const trainer_port&) = delete;
  trainer_port& operator=(const trainer_port&) = delete;

  /// Begins to listen.
  /// @returns the port; `errc::io_failed` if it cannot listen there, or
  ///          `errc::invalid_argument` if the keys are of no use
  /// REQUIRES: was not called before.
  expected<std::uint16_t> open();

private:
  class loop;

  caf::actor_system& system_;
  registrar_actor pool_;
  trainer_port_options options_;
  std::unique_ptr<event_thread> thread_;
  std::unique_ptr<loop> loop_; ///< made and destroyed on the thread
};

} // namespace hippo
