#pragma once

#include <memory>
#include <string>

#include "hippo/train/lanes.hpp"

namespace hippo {

/// Makes the built-in workload that `spec` names, to train on `device`, which
/// `prepare_device` has accepted. It has as many lanes as the option `lanes`
/// says; one if there is no such option.
/// Throws `missing_data_error`, or `std::invalid_argument` for options that do
/// not fit together.
std::unique_ptr<laned_workload> make_image_workload(const workload_spec& spec,
                                                    const std::string& device);

} // namespace hippo
