#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine.hpp"
#include "hippo/base/backoff.hpp"
#include "hippo/net/wire/messages.hpp"
#include "messages.hpp"

namespace hippo {

/// A trainer keeps so many reports that were not acknowledged; beyond that, it
/// forgets the oldest, and what they say is trained again if need be.
inline constexpr std::size_t unacknowledged_max = 10'000;

/// What the trainer actor receives besides the protocol, all of it from its own
/// process.
using training_actor = trainer_actor::extend<
  // A service has been reached: register there.
  caf::reacts_to<connect_atom, registrar_actor>,
  // End in good order: save after the present step, report, take leave, quit.
  caf::reacts_to<leave_atom>,
  // From the engine's thread.
  caf::reacts_to<notify_atom, stop_report>,
  caf::reacts_to<notify_atom, lease_end>,
  // Likewise, in place of the last: its device is stuck (`device_stuck`).
  caf::reacts_to<stalled_atom, lease_end>,
  // Time to try anew, unless there has been another registration since.
  caf::reacts_to<register_atom, std::uint64_t>,
  // Time for a heartbeat of that registration.
  caf::reacts_to<tick_atom, std::uint64_t>>;

/// State of a trainer:
///
///     away --connect--> greeting --welcome--> idle <--ended-- training
///      ^                   ^                    \----lease---->/ (each lane)
///      |                   \---dropped by the pool------|
///      \------------------- pool is gone ---------------/
///
/// It leaves when it is asked to, and when its device is stuck: then the process
/// must start anew, and whoever runs this is told by the engine.
///
/// Whenever it loses its registration, the leases that run are asked to save
/// after their present steps; reports that nobody has acknowledged are sent again
/// after the next welcome. It quits when a pool refuses it, and when it has
/// taken leave.
struct trainer_state {
  /// Prefix of this actor's lines in the log.
  static inline const char* name = "hippo.trainer";

  ~trainer_state();

  std::shared_ptr<engine> device;
  hello self_description;
  std::function<std::string()> log_tail;
  registrar_actor pool;     ///< null: away
  trainer_id number{}; ///< given by the pool; 0: unregistered
  std::uint64_t registrations = 0; ///< tried so far
  bool greets = false;             ///< waits for the answer to the last one
  std::uint64_t heartbeat_interval_ms = 0;
  std::uint64_t heartbeats = 0;
  backoff greeting{std::chrono::seconds(1), std::chrono::seconds(30)};
  bool leaving = false;

  /// A lease and who is notified of it.
  struct task {
    lease work;
    lease_owner_actor owner;
    std::uint64_t registration = 0; ///< under which it was leased
    std::string log_before{};       ///< the last lines when it began
  };
  std::map<lease_id, task> running; ///< by the number of the lease
  /// Each starts when what is in its way has ended.
  std::vector<task> waiting;
  std::deque<resent> unacknowledged; ///< oldest first
};

/// Registers with `pool`, or with the first one that it learns of if that is
/// null, as `self_description` and serves its leases.
/// @param log_tail returns the last lines of the process's log, for leases that
///        fail
training_actor::behavior_type
trainer(training_actor::stateful_pointer<trainer_state> self,
        registrar_actor pool, hello self_description,
        std::shared_ptr<engine> device, std::function<std::string()> log_tail);

} // namespace hippo
