#pragma once

#include <memory>

#include "hippo/train/workload.hpp"

namespace hippo {

/// Whether a built-in workload is a linear model.
bool is_linear_workload(const workload_spec& spec);

/// Makes the built-in linear model that `spec` names. It computes on the CPU,
/// whatever the trainer's device is, and gives the same bits on every CPU.
/// Throws `missing_data_error`, or `std::invalid_argument` for options that do
/// not fit together.
std::unique_ptr<workload> make_linear_workload(const workload_spec& spec);

} // namespace hippo
