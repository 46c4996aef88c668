#pragma once

#include <optional>
#include <string>

#include "hippo/base/error.hpp"
#include "hippo/checkpoint/state_store.hpp"
#include "hippo/model/lease.hpp"

namespace hippo {

/// Reads the first state of a lease. @param to empty
/// @returns as `state_store::read`
std::optional<error> read_start(state_store& store, const lease& lease,
                                std::string& to);

/// Reads the first state of a lease into a file. @returns likewise
std::optional<error> read_start_to_file(state_store& store, const lease& lease,
                                        const std::string& path);

/// Returns the stage of a lease that has all steps from one state to another;
/// null: there is none, or no step.
const stage* stage_of_steps(const lease& lease, step_t from, step_t to);

} // namespace hippo
