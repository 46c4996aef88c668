#pragma once

#include "coordinator.hpp"

// Keeps what a service's studies and plans take in memory within its limit:
// `memory_shares` decides, the coordinator asks and tells.

namespace hippo {

/// Counts a study from now on, with what it will take at first.
void count_study(coordinator_state& st, study_id id,
                 const accepted_study& study);

/// Asks all studies and mergers what they take, and tells each study whether
/// new trials of it may begin, where that has changed. Gives what studies and
/// plans that are gone had taken back to the operating system.
void look_at_memory(coordinator_self self);

/// Has the coordinator look in a while, unless it is to look anyway.
void look_at_memory_later(coordinator_self self);

/// A study or a plan is gone.
void note_let_go(coordinator_self self);

} // namespace hippo
