#pragma once

#include <deque>

#include "messages.hpp"
#include "network/link_messages.hpp"

namespace hippo {

/// What stands for a service in a trainer's process: its registrar, and the
/// owner of each of its leases.
using remote_service_actor
  = registrar_actor::extend_with<lease_owner_actor>::extend<
    // The service has sent a frame.
    caf::reacts_to<frame>,
    // It is gone.
    caf::reacts_to<link_ended>>;

/// State of what stands for a service.
struct remote_service_state {
  /// Prefix of this actor's lines in the log.
  static inline const char* name = "hippo.remote_service";

  remote_service_state() = default;
  remote_service_state(const remote_service_state&) = delete;
  remote_service_state& operator=(const remote_service_state&) = delete;
  ~remote_service_state() { link.finish(); }

  link_handle link;
  trainer_actor trainer; ///< the one whose connection it is
  /// Who waits for answers, in the order in which they asked.
  std::deque<caf::typed_response_promise<welcome_wire>> greeting;
  std::deque<caf::response_promise> leaving;
};

/// Passes on what a trainer says to its service, and what that says. Ends with
/// the trainer, or with a reason once the service is gone.
remote_service_actor::behavior_type
remote_service(remote_service_actor::stateful_pointer<remote_service_state>
                 self,
               const link_handle& link, trainer_actor trainer);

} // namespace hippo
