#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine.hpp"
#include "hippo/service/trace/core_trace.hpp"
#include "hippo/service/trainer/trainer_core.hpp"
#include "messages.hpp"

namespace hippo {

/// What the trainer actor receives besides the protocol, all of it from its own
/// process.
using training_actor = trainer_actor::extend<
  // A service has been reached: register there.
  caf::reacts_to<connect_atom, registrar_actor>,
  // Likewise. Other trainers of a gang reach it there from now on, HOST:PORT;
  // empty: it is in none.
  caf::reacts_to<connect_atom, registrar_actor, std::string>,
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

/// State of a trainer: its decisions, and the actors that they are about.
struct trainer_state {
  /// Prefix of this actor's lines in the log.
  static inline const char* name = "hippo.trainer";

  ~trainer_state();

  /// An owner of a lease.
  struct owner {
    lease_owner_actor handle;
    /// The last lines of the log when the lease began, if it has and there is
    /// a log.
    std::optional<std::string> log_before{};
  };

  std::shared_ptr<engine> device;
  std::function<std::string()> log_tail;
  std::optional<trainer_core> core; ///< set when the actor starts
  core_trace trace;                 ///< of the core
  registrar_actor pool;             ///< null: away
  registrar_actor joining;          ///< the one that was reached last
  std::map<owner_number, owner> owners;
  owner_number last_owner = 0;
};

/// Registers with `pool`, or with the first one that it learns of if that is
/// null, as `self_description` and serves its leases, as `trainer_core`
/// decides: decodes what comes, applies it and sends what follows.
/// @param log_tail returns the last lines of the process's log, for leases that
///        fail
training_actor::behavior_type
trainer(training_actor::stateful_pointer<trainer_state> self,
        registrar_actor pool, hello self_description,
        std::shared_ptr<engine> device, std::function<std::string()> log_tail);

/// Likewise.
/// @param trace where its events are written
training_actor::behavior_type
traced_trainer(training_actor::stateful_pointer<trainer_state> self,
               registrar_actor pool, hello self_description,
               std::shared_ptr<engine> device,
               std::function<std::string()> log_tail, core_trace trace);

} // namespace hippo
