#pragma once

#include <memory>

#include "hippo/train/torch/device_stream.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// Whether a built-in workload trains on a graph.
bool is_graph_workload(const workload_spec& spec);

/// Makes the built-in workload of a graph that `spec` names. It computes on the
/// CPU, whatever the trainer's device is, and gives the same bits on every CPU.
/// Throws `missing_data_error`, or `std::invalid_argument` for options that do
/// not fit together.
/// @param stream of the CPU; outlives it
/// @param prepare_threads threads that prepare batches; no result depends on
///        them
std::unique_ptr<workload> make_graph_workload(const workload_spec& spec,
                                              device_stream& stream,
                                              unsigned prepare_threads);

} // namespace hippo
