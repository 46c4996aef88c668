#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/endpoint.hpp"
#include "hippo/net/keys/credentials.hpp"
#include "hippo/train/gang/gang_port.hpp"
#include "leaving.hpp"
#include "messages.hpp"
#include "network/service_link.hpp"

namespace hippo {

/// A port for others of a gang that is wherever the service is reached from.
struct following_port {
  gang_port* port = nullptr;
  std::uint16_t number = 0; ///< its port; 0: any
};

/// Keeps the trainers of this process connected to a service.
class connector {
public:
  /// @param keys to show to the service; null: it speaks no TLS
  /// @param gangs moves with each connection; nothing: no port does
  connector(caf::actor_system& system, const trainer_list& trainers,
            const credentials* keys, std::optional<following_port> gangs = {});

  /// Connects the trainers that are not. @returns whether all of them are now
  bool connect(const std::string& name, const endpoint& where);

  /// Waits until the service is gone, for one of the trainers at least.
  /// @returns false if a trainer has ended instead: it was refused
  bool wait_until_lost();

private:
  struct entry {
    training_actor trainer;
    registrar_actor service; ///< null: not connected
  };

  /// Has others of a gang reach this process at a host.
  /// @returns where they do; empty: they do not
  std::string listen_at(const std::string& host);

  caf::actor_system& system_;
  caf::scoped_actor self_;
  service_link link_;
  std::optional<following_port> gangs_;
  std::vector<entry> trainers_;
  std::string last_failure_; ///< as logged, so that it is logged once
};

} // namespace hippo
