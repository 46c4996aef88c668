#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hippo/core/error.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// Makes this process ready to train on `device`: `cpu` or `cuda:N`. CUDA's
/// libraries are loaded here, and only when asked for. Training uses so many CPU
/// threads and deterministic kernels from then on, in every thread.
/// Call it before anything trains; again for each further device.
/// @param threads those of the first call count; they decide the bits of what a
///                CPU computes
/// @returns the kind of device, which decides the bits of a result, e.g.
///          `cpu amd x86-64-v4 avx512 1-thread torch-2.11.0`, or
///          `errc::invalid_argument` if there is no such device
expected<std::string> prepare_device(const std::string& device,
                                     unsigned threads = 1);

/// Returns every CUDA device of this machine, as `cuda:N`, or `cpu` if there is
/// none.
std::vector<std::string> all_devices();

/// Returns the bytes of a device's memory, that of the machine for `cpu`; 0: it
/// cannot be found out.
/// REQUIRES: `prepare_device(device)` was successful.
std::uint64_t memory_of(const std::string& device);

/// Adds the implementations of `built_in_workloads()`, which train on `device`.
/// REQUIRES: `prepare_device(device)` was successful before one is made.
void add_built_in_workloads(workload_registry& registry,
                            const std::string& device);

} // namespace hippo
