#pragma once

#include <string>

#include "hippo/core/error.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// Makes this process ready to train on `device`: `cpu` or `cuda:N`. CUDA's
/// libraries are loaded here, and only when asked for. Training uses one CPU
/// thread and deterministic kernels from then on, in every thread.
/// Call it before anything trains; again for each further device.
/// @returns the kind of device, which decides the bits of a result, e.g.
///          `cpu amd x86-64-v4 avx512 1-thread torch-2.11.0`, or
///          `errc::invalid_argument` if there is no such device
expected<std::string> prepare_device(const std::string& device);

/// Adds the implementations of `built_in_workloads()`, which train on `device`.
/// REQUIRES: `prepare_device(device)` was successful before one is made.
void add_built_in_workloads(workload_registry& registry,
                            const std::string& device);

} // namespace hippo
