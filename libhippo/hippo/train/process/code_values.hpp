#pragma once

#include <nlohmann/json.hpp>

#include "hippo/sequence/configuration.hpp"
#include "hippo/train/process/process_workload.hpp"
#include "process.capnp.h"

namespace hippo {

// The values that code is given: arguments and the values of hyper-parameters,
// each of the type that it has in the study file.

/// Returns the arguments by name.
nlohmann::json arguments_json(const process_setup& setup);

/// Returns the values of each hyper-parameter at each step.
/// REQUIRES: `from <= to`
nlohmann::json values_json(const configuration& params, step_t from, step_t to);

/// Writes the same into the messages for a process.
void put_arguments(const process_setup& setup, schema::Setup::Builder to);
void put_values(const configuration& params, step_t from, step_t to,
                schema::Train::Builder out);

} // namespace hippo
