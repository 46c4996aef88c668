#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hippo/model/records.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/plan/schedule/step_model.hpp"

namespace hippo {

/// A step model learns from so many times of other workloads: the last ones.
inline constexpr std::size_t other_steps_max = 500;

/// Returns what a step model learns of the times of other workloads than that
/// of `key`, as far as the workloads are known.
/// @param all in the order in which the workloads came
std::vector<step_profile>
step_profiles_of_others(const std::vector<workload_timings>& all,
                        const std::string& key,
                        const std::vector<workload_descriptor>& workloads);

} // namespace hippo
