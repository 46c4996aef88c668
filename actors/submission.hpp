#pragma once

#include <cstdint>
#include <variant>

#include "coordinator.hpp"

// How a coordinator takes in studies, new ones and those of earlier runs.

namespace hippo {

/// Answered with a study's id, or why it does not run.
using submission_promise = caf::typed_response_promise<study_id>;

/// Why no study is taken in any more.
error retired_error();

/// Stores a study if it is new, and starts it, along with a merger if there is
/// none for its workload key.
void submit(coordinator_self self, study_submission submission,
            submission_promise promise);

/// Reads which numbers of studies and leases earlier runs have given, and which
/// studies are to come.
/// REQUIRES: `st.options.known` is set.
expected<std::monostate> read_what_was(coordinator_state& st);

/// What is stored of a workload key was read, or cannot be.
void note_plan_read(coordinator_self self, const std::string& key);

} // namespace hippo
