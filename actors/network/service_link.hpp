#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "hippo/base/endpoint.hpp"
#include "hippo/checkpoint/depot/event_thread.hpp"
#include "hippo/net/keys/credentials.hpp"
#include "messages.hpp"
#include "network/remote_service.hpp"

namespace hippo {

/// How long it may take until a service has answered: connected, made the TLS
/// handshake and greeted.
inline constexpr auto connect_patience = std::chrono::seconds{10};

/// A service that was reached.
struct reached_service {
  remote_service_actor service; ///< stands for it until either of them ends
  std::string own_host;         ///< the address of this end, without brackets
};

/// Connects the trainers of a process to a service, each by a connection of its
/// own, on a thread for all of them.
///
/// The actor system outlives it.
class service_link {
public:
  /// @param keys to show to the service; null: no TLS. Outlives this
  service_link(caf::actor_system& system, const credentials* keys,
               std::chrono::milliseconds patience = connect_patience);
  ~service_link();
  service_link(const service_link&) = delete;
  service_link& operator=(const service_link&) = delete;

  /// Connects a trainer; blocks the caller. The trainer is told nothing yet.
  /// @returns the service, or `errc::io_failed` or `errc::not_allowed` with the
  ///          reason
  expected<reached_service> connect(const endpoint& where,
                                    const trainer_actor& who);

private:
  class loop;

  caf::actor_system& system_;
  const credentials* keys_;
  std::chrono::milliseconds patience_;
  event_thread thread_;
  std::unique_ptr<loop> loop_; ///< made and destroyed on the thread
};

} // namespace hippo
