#pragma once

#include "hippo/model/workload_spec.hpp"

namespace hippo {

/// The option of a workload that all its randomness follows from.
inline constexpr auto seed_option = "seed";

/// Returns a spec but for its seed. Leases that differ in nothing else are of
/// one merger, and a trainer may train them at once.
workload_spec without_seed(workload_spec spec);

} // namespace hippo
