#pragma once

#include <cstdint>
#include <memory>

#include "hippo/train/device.hpp"
#include "hippo/train/torch/device_stream.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// Makes the built-in workload that `spec` names, to train on `device`, which
/// `prepare_device` has accepted, by `stream`, which outlives it. It is
/// `shareable`. Throws `missing_data_error`, or `std::invalid_argument` for
/// options that do not fit together.
std::unique_ptr<workload> make_image_workload(const workload_spec& spec,
                                              at::Device device,
                                              device_stream& stream,
                                              const data_options& data);

} // namespace hippo
