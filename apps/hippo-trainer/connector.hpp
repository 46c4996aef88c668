#pragma once

#include <string>

#include "hippo/core/endpoint.hpp"
#include "hippo/keys/credentials.hpp"
#include "leaving.hpp"
#include "messages.hpp"

namespace hippo {

/// Keeps the trainers of this process connected to a service.
class connector {
public:
  /// @param trainers outlive this
  /// @param keys to show to the service; null: it speaks no TLS
  connector(caf::actor_system& system, const trainer_list& trainers,
            const credentials* keys);

  /// Connects the trainers once. @returns whether that worked
  bool connect(const std::string& name, const endpoint& where);

  /// Waits until the service is gone.
  /// @returns false if a trainer has ended instead: it was refused
  bool wait_until_lost();

private:
  caf::actor_system& system_;
  caf::scoped_actor self_;
  const trainer_list& trainers_;
  const credentials* keys_;
  registrar_actor pool_;
  std::string last_failure_; ///< as logged, so that it is logged once
};

} // namespace hippo
