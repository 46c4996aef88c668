#pragma once

#include <functional>

#include "coordinator.hpp"

// How a coordinator stores the ends of studies that cannot go on, and hears of
// actors that have ended; `coordinator_core` decides what follows.

namespace hippo {

/// An actor that the coordinator watches has ended.
void note_down(coordinator_self self, const caf::down_msg& msg);

/// Calls `function` once the journal has committed all that it was given so
/// far; if it cannot, the coordinator ends.
void after_journal(coordinator_self self, std::function<void()> function);

// -- effects ------------------------------------------------------------------

void carry_out(coordinator_self self, coordinator_effect::end_study& what);
void carry_out(coordinator_self self, coordinator_effect::submit_again& what);
void carry_out(coordinator_self self, coordinator_effect::tell_death& what);

} // namespace hippo
