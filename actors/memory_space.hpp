#pragma once

#include "coordinator.hpp"

// Keeps what a service's studies and plans take in memory within its limit:
// `memory_shares` decides, the coordinator asks and tells.

namespace hippo {

/// Counts a study from now on, by what it will take at first.
void count_study(coordinator_state& st, study_id id,
                 const accepted_study& x);

/// Asks all studies and mergers what they take, and tells each study whether it
/// may ask for new trials, where that has changed.
void look_at_memory(coordinator_self self);

} // namespace hippo
