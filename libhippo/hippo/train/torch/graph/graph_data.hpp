#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hippo/model/workload_spec.hpp"
#include "hippo/train/torch/graph/graph.hpp"

namespace hippo {

/// A graph whose nodes have features and a class.
struct graph_data {
  graph edges;
  std::int64_t width = 0;            ///< features of a node
  std::vector<float> features;       ///< nodes x width
  std::vector<std::uint32_t> labels; ///< of each node, below `classes`
  std::int64_t classes = 0;
  std::vector<std::uint32_t> training;   ///< nodes whose labels are trained on
  std::vector<std::uint32_t> validation; ///< others, which are measured on

  /// The features of a node.
  [[nodiscard]] std::span<const float> features_of(std::uint32_t node) const {
    return std::span{features}.subspan(node * static_cast<std::size_t>(width),
                                       static_cast<std::size_t>(width));
  }
};

/// Returns the nodes from `first` to below `end`.
std::vector<std::uint32_t> node_range(std::uint64_t first, std::uint64_t end);

/// Throws `std::invalid_argument` if a workload trains on and measures more
/// nodes than there are.
/// @param place of the nodes, for the message: ` of data.nodes`
void check_nodes(const workload_spec& spec, std::uint64_t nodes,
                 const std::string& place);

/// Returns the data that the options of a workload name (docs/workloads.md),
/// which all workloads of the same ones share. Throws `missing_data_error`, or
/// `std::invalid_argument` for options that do not fit together.
std::shared_ptr<const graph_data> graph_data_of(const workload_spec& spec);

} // namespace hippo
