#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "messages.hpp"
#include "network/link_messages.hpp"

namespace hippo {

/// What stands for a trainer of another process in that of the service.
using remote_trainer_actor = trainer_actor::extend<
  // The trainer has sent a frame.
  caf::reacts_to<frame>,
  // It is gone.
  caf::reacts_to<link_ended>>;

/// State of what stands for a trainer.
struct remote_trainer_state {
  /// Prefix of this actor's lines in the log.
  static inline const char* name = "hippo.remote_trainer";

  remote_trainer_state() = default;
  remote_trainer_state(const remote_trainer_state&) = delete;
  remote_trainer_state& operator=(const remote_trainer_state&) = delete;
  ~remote_trainer_state() { link.finish(); }

  link_handle link;
  registrar_actor pool;
  trainer_id number{}; ///< given by the pool; 0: unregistered
  bool has_left = false;    ///< it has taken leave of the pool
  /// Who hears of its leases, by their numbers, until they have ended.
  std::map<lease_id, lease_owner_actor> owners;
  /// Of the trainer's frames that the service is done with, what the connection
  /// does not know yet.
  std::size_t done_frames = 0;
  std::size_t done_bytes = 0;
};

/// Passes on what a trainer says, and what the service says to it. All that a
/// trainer reaches is the pool as a registrar, in its own name, and the owners
/// of the leases that it was given, about these.
remote_trainer_actor::behavior_type
remote_trainer(remote_trainer_actor::stateful_pointer<remote_trainer_state>
                 self,
               const link_handle& link, registrar_actor pool);

} // namespace hippo
