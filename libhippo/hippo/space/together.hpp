#pragma once

#include <optional>

#include "hippo/base/error.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/space/study.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

/// The most combinations of a space that are all checked for values that do not
/// go together; of a larger space `together_samples` are drawn.
inline constexpr std::uint64_t together_max = 4096;
inline constexpr std::uint64_t together_samples = 300;

/// Checks that no option of a workload is given that has no effect, since the
/// one that it needs has its fallback (`parameter_descriptor::only_option`).
/// @param place the map of the options @param spec has a value for each
void check_options_together(const document& place, const workload_spec& spec,
                            const workload_descriptor& workload,
                            diagnostics& notes);

/// Checks the values of several hyper-parameters in one trial against each
/// other: `parameter_descriptor::max_parameter`, and that no hyper-parameter is
/// given whose `only_with` is 0 in all trials because the study leaves it out,
/// or whose `only_option` it leaves out.
/// @param workload limited by the study's options (`limited_by`)
/// @param max_steps of a trial
void check_together(const search_space& space, step_t max_steps,
                    const workload_descriptor& workload, diagnostics& notes);

/// Says which values of one trial, given by hand, do not go together, if some
/// do not: `parameter_descriptor::max_parameter`.
std::optional<error> refusal_together(const trial_parameters& trial,
                                      const workload_descriptor& workload);

} // namespace hippo
