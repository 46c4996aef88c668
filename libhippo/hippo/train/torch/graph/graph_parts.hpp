#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hippo/train/torch/graph/graph.hpp"

namespace hippo {

/// Two nodes with an edge between them, in one direction or both.
using node_pair = std::pair<std::uint32_t, std::uint32_t>;

/// Returns the pairs of a graph, each once, the smaller node first, in the
/// order that a seed gives.
std::vector<node_pair> ordered_pairs(const graph& edges, std::uint64_t seed);

/// Places pairs in parts by Libra's vertex cut (Xie, Yan, Li and Zhang,
/// "Distributed Power-law Graph Computing: Theoretical and Empirical Analysis",
/// NeurIPS 2014, as DistGNN uses it). A pair goes to the least loaded
///
/// - part of all, if neither node has a part yet;
/// - part of the one that has parts;
/// - part that both have;
/// - part of the node of the lower degree, if both have others;
///
/// of equally loaded ones to the first. The load is the number of pairs.
/// @returns the part of each pair
std::vector<std::uint32_t> libra_cut(const std::vector<node_pair>& pairs,
                                     std::int64_t nodes, std::int64_t parts);

/// A graph whose edges are in parts, each with a clone of every node that its
/// edges touch. Clones are numbered part by part; a node without edges has one
/// clone. One clone of each node, drawn by the seed, is its root.
class graph_parts {
public:
  /// REQUIRES: `parts > 0`
  graph_parts(const graph& edges, std::int64_t parts, std::uint64_t seed);

  /// The node of each clone.
  [[nodiscard]] const std::vector<std::uint32_t>& nodes() const {
    return nodes_;
  }

  /// The root of each node.
  [[nodiscard]] const std::vector<std::uint32_t>& roots() const {
    return roots_;
  }

  /// The edges between clones, which never leave a part.
  [[nodiscard]] edge_rows rows() const { return edges_.rows(); }

  /// The share of its node's edges that each clone has; 0 of none.
  [[nodiscard]] const std::vector<float>& shares() const { return shares_; }

  /// The clones of the nodes that have several: of each the root first, then
  /// its leaves.
  [[nodiscard]] edge_rows split() const { return {offsets_, clones_}; }

  /// The mean number of clones of a node with edges.
  [[nodiscard]] double replication() const { return replication_; }

private:
  std::vector<std::uint32_t> nodes_;
  std::vector<std::uint32_t> roots_;
  graph edges_{{0}, {}};
  std::vector<float> shares_;
  std::vector<std::int64_t> offsets_{0};
  std::vector<std::uint32_t> clones_;
  double replication_ = 1;
};

} // namespace hippo
