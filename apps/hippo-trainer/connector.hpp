#pragma once

#include <string>
#include <vector>

#include "hippo/base/endpoint.hpp"
#include "hippo/net/keys/credentials.hpp"
#include "leaving.hpp"
#include "messages.hpp"
#include "network/service_link.hpp"

namespace hippo {

/// Keeps the trainers of this process connected to a service.
class connector {
public:
  /// @param keys to show to the service; null: it speaks no TLS
  connector(caf::actor_system& system, const trainer_list& trainers,
            const credentials* keys);

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

  caf::actor_system& system_;
  caf::scoped_actor self_;
  service_link link_;
  std::vector<entry> trainers_;
  std::string last_failure_; ///< as logged, so that it is logged once
};

} // namespace hippo
