#pragma once

#include <memory>
#include <string>

#include "hippo/train/lanes.hpp"

namespace hippo {

/// Makes the built-in workload that `spec` names, a BERT that answers questions
/// by spans of a passage, to train on `device`, which `prepare_device` has
/// accepted. It has one lane.
/// Throws `missing_data_error`, `std::runtime_error` for files that are
/// damaged, or `std::invalid_argument` for options that do not fit together.
std::unique_ptr<laned_workload> make_span_workload(const workload_spec& spec,
                                                   const std::string& device);

} // namespace hippo
