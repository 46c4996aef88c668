#pragma once

#include <memory>
#include <string>

#include "hippo/train/device.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// Makes the implementation of one of `built_in_workloads()`, which trains on
/// `device`: on a GPU by a `device_stream` of its own, whoever calls.
/// Throws what `make_image_workload`, `make_span_workload` and
/// `make_graph_workload` throw, and `std::invalid_argument` if the process
/// computes with other `numerics`. REQUIRES: `prepare_device(device)` was
/// successful.
std::unique_ptr<workload> make_built_in_workload(const workload_spec& spec,
                                                 const std::string& device,
                                                 const data_options& data);

} // namespace hippo
