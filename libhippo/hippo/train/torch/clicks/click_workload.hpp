#pragma once

#include <memory>

#include "hippo/train/torch/device_stream.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// Whether a built-in workload predicts clicks.
bool is_click_workload(const workload_spec& spec);

/// Makes the built-in workload that predicts clicks, on a device.
/// @param prepare_threads threads that deal out the next impressions Throws
/// `missing_data_error`, or `std::invalid_argument` for options that do not fit
/// together.
std::unique_ptr<workload> make_click_workload(const workload_spec& spec,
                                              at::Device device,
                                              device_stream& stream,
                                              unsigned prepare_threads);

} // namespace hippo
