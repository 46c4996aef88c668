#pragma once

#include <memory>

#include "hippo/train/torch/device_stream.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// Makes the built-in workload that `spec` names, a BERT that answers questions
/// by spans of a passage, to train on `device`, which `prepare_device` has
/// accepted, by `stream`, which outlives it. It is `shareable`.
/// Throws `missing_data_error`, `std::runtime_error` for files that are
/// damaged, or `std::invalid_argument` for options that do not fit together.
std::unique_ptr<workload> make_span_workload(const workload_spec& spec,
                                             at::Device device,
                                             device_stream& stream);

} // namespace hippo
