#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "coordinator.hpp"

// How a coordinator takes in studies, new ones and those of earlier runs: what
// it reads and stores, and the actors that it makes.

namespace hippo {

/// Answered with a study's id, or why it does not run.
using submission_promise = caf::typed_response_promise<study_id>;

/// Stores a study if it is new, and starts it, along with a merger if there is
/// none for its workload key.
void submit(coordinator_self self, study_submission submission,
            submission_promise promise);

/// Reads which numbers of studies and leases earlier runs have given, and which
/// studies are to come, if they are restored.
expected<std::monostate> read_what_was(state_reader& known,
                                       coordinator_begin& to);

/// What is stored of a workload key was read, or cannot be.
void note_plan_read(coordinator_self self, const std::string& key);

// -- effects ------------------------------------------------------------------

void carry_out(coordinator_self self,
               coordinator_effect::store_submission& what);
void carry_out(coordinator_self self, coordinator_effect::read_plan& what);
void carry_out(coordinator_self self, coordinator_effect::make_merger& what);
void carry_out(coordinator_self self, coordinator_effect::spawn_study& what);
void carry_out(coordinator_self self, coordinator_effect::start_study& what);

} // namespace hippo
