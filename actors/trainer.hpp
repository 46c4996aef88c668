#pragma once

#include <memory>
#include <optional>

#include "engine.hpp"
#include "hippo/wire/messages.hpp"
#include "messages.hpp"

namespace hippo {

/// What the trainer actor hears besides the protocol, all from itself.
using training_actor = trainer_actor::extend<
  // From the engine's thread.
  caf::reacts_to<told_atom, stop_report>,
  caf::reacts_to<told_atom, lease_end>,
  // Time for a beat.
  caf::reacts_to<tick_atom>>;

/// State of a trainer:
///
///     unregistered --welcome--> idle <--ended-- training
///                                 \----lease---->/
///
/// It quits when the pool refuses it or is gone; whoever spawned it may connect
/// anew with another one and the same engine.
struct trainer_state {
  /// Prefix of this actor's lines in the log.
  static inline const char* name = "hippo.trainer";

  ~trainer_state();

  std::shared_ptr<engine> device;
  registrar_actor pool;
  std::uint64_t number = 0; ///< given by the pool; 0: unregistered
  std::uint64_t beat_interval_ms = 0;
  std::uint64_t beats = 0;

  /// A lease and who wants to hear of it.
  struct task {
    lease work;
    lease_owner_actor owner;
  };
  std::optional<task> running;
  std::optional<task> waiting; ///< starts when `running` has ended
};

/// Registers with `pool` as `self_description` and serves its leases.
training_actor::behavior_type
trainer(training_actor::stateful_pointer<trainer_state> self,
        registrar_actor pool, hello self_description,
        std::shared_ptr<engine> device);

} // namespace hippo
