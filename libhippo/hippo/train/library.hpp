#pragma once

#include <optional>
#include <string>

#include "hippo/base/error.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// Loads the shared library at `path`, which defines `HIPPO_WORKLOADS`, and
/// adds its workloads to `registry`, with a digest of the file as their version.
/// The library stays loaded until the process ends.
/// @returns nothing, or `errc::io_failed` if it cannot be loaded,
///          `errc::invalid_argument` if it is no workload library,
///          `errc::incompatible_version` if it was built for another Hippo, or
///          `errc::training_failed` with what it threw
[[nodiscard]] std::optional<error> load_workloads(const std::string& path,
                                                  workload_registry& registry);

} // namespace hippo
