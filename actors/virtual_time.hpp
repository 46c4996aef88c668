#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "caf/actor_system.hpp"
#include "caf/actor_system_config.hpp"
#include "caf/scheduler/test_coordinator.hpp"

#include "hippo/forecast/simulate/virtual_timeline.hpp"

namespace hippo {

/// Makes CAF deliver messages on the calling thread and in order, under a clock
/// that stands still. Call before creating the actor system.
void use_virtual_time(caf::actor_system_config& cfg);

/// Moves an actor system through virtual time together with a timeline of other
/// events: the actors' clock and the timeline always show the same time.
///
/// Time stands still while messages are delivered. Once all are, it goes on to
/// the next thing that happens, a timeout or delayed message of an actor or an
/// entry of the timeline; of several at the same time the actors' come first.
/// One thread and no wall clock: equal beginnings have equal outcomes.
class virtual_time {
public:
  /// REQUIRES: `system` was made with `use_virtual_time` and outlives this
  virtual_time(caf::actor_system& system,
               std::shared_ptr<virtual_timeline> timeline);

  /// Delivers all messages; time stands still.
  void settle();

  /// Lets things happen until `done` holds, which is asked whenever all
  /// messages have been delivered.
  /// @param idle_max so long an empty timeline may leave time to the actors'
  ///                 timeouts; beyond that they wait for what never comes
  /// @returns whether it holds; else nothing is left that could happen
  bool run_until(const std::function<bool()>& done,
                 virtual_timeline::duration idle_max = std::chrono::hours{1});

  /// Returns the time since the begin.
  [[nodiscard]] virtual_timeline::duration now() const;

private:
  bool step(virtual_timeline::duration idle_max);
  void advance_to(virtual_timeline::duration when);

  caf::scheduler::test_coordinator* scheduler_;
  std::shared_ptr<virtual_timeline> timeline_;
  caf::actor_clock::time_point begin_;
  virtual_timeline::duration busy_until_{}; ///< of the timeline
};

} // namespace hippo
