#pragma once

#include <memory>
#include <string>

#include "hippo/train/workload.hpp"

namespace hippo {

/// Makes the built-in workload that `spec` names, to train on `device`, which
/// `prepare_device` has accepted.
/// Throws `missing_data_error`, or `std::invalid_argument` for options that do
/// not fit together.
std::unique_ptr<workload> make_fashion_workload(const workload_spec& spec,
                                                const std::string& device);

} // namespace hippo
