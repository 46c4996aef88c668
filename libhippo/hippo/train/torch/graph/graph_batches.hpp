#pragma once

#include <cstdint>
#include <vector>

#include "hippo/train/batch_pipeline.hpp"
#include "hippo/train/torch/graph/graph_data.hpp"
#include "hippo/train/torch/graph/neighbour_sampler.hpp"

namespace hippo {

/// The batches of some nodes of a graph, and the neighbours that they read.
struct batch_plan {
  std::vector<std::uint32_t> nodes; ///< in the order in which they are taken
  std::uint64_t batch_size = 1;     ///< the last batch may be smaller
  std::vector<std::int64_t> fanouts;
  std::uint64_t seed = 0;
  purpose use = purpose::neighbours;
  step_t epoch = 0;

  [[nodiscard]] std::uint64_t batches() const {
    return (nodes.size() + batch_size - 1) / batch_size;
  }
};

/// Everything that a batch trains with.
struct graph_batch {
  sampled_nodes part;
  std::vector<float> features;       ///< of its rows
  std::vector<std::uint32_t> labels; ///< of the nodes of the batch

  bool operator==(const graph_batch&) const = default;
};

/// Returns a function that makes batches of a plan, for one thread.
/// @param data,plan outlive it
batch_pipeline<graph_batch>::preparer
make_batch_preparer(const graph_data& data, const batch_plan& plan);

} // namespace hippo
