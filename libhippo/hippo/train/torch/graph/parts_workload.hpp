#pragma once

#include <memory>

#include "hippo/train/torch/device_stream.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// Makes the workload that trains GraphSAGE on a whole graph in parts. Throws
/// as `make_graph_workload`.
std::unique_ptr<workload> make_parts_workload(const workload_spec& spec,
                                              device_stream& stream);

} // namespace hippo
