#pragma once

#include <optional>

#include "hippo/merge/status.hpp"
#include "hippo/study/answers.hpp"

namespace hippo {

/// Estimates how long a study takes yet, from what it has asked for and is
/// expected to ask for, and the speed that was measured: `seconds_left`.
/// @param plan of its workload
/// @returns seconds; nothing if there is nothing that says it
std::optional<double> time_left(const study_status& study,
                                const merger_status& plan);

} // namespace hippo
