#pragma once

#include <optional>

#include "hippo/base/error.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/space/study.hpp"
#include "hippo/yaml/diagnostic.hpp"

namespace hippo {

/// The most combinations of a space that are all checked for values that do not
/// go together; of a larger space `together_samples` are drawn.
inline constexpr std::uint64_t together_max = 4096;
inline constexpr std::uint64_t together_samples = 300;

/// Checks the values of several hyper-parameters in one trial against each
/// other: `parameter_descriptor::max_parameter`, and that no hyper-parameter is
/// given whose `only_with` is 0 in all trials because the study leaves it out.
/// @param max_steps of a trial
void check_together(const search_space& space, step_t max_steps,
                    const workload_descriptor& workload, diagnostics& notes);

/// Says which values of one trial, given by hand, do not go together, if some
/// do not: `parameter_descriptor::max_parameter`.
std::optional<error> refusal_together(const trial_parameters& trial,
                                      const workload_descriptor& workload);

} // namespace hippo
