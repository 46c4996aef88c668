#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hippo {

/// Edges by the rows that they lead to: row i has those of
/// `list[offsets[i]]` to below `list[offsets[i + 1]]`.
struct edge_rows {
  const std::vector<std::int64_t>& offsets;
  const std::vector<std::uint32_t>& list;

  [[nodiscard]] std::int64_t rows() const {
    return static_cast<std::int64_t>(offsets.size()) - 1;
  }
};

/// A directed graph as compressed sparse rows (CSR), a row for each node.
/// @invariant offsets begin with 0, never fall, and end with the number of
///            edges; neighbours are nodes
class graph {
public:
  /// Throws `std::invalid_argument` with the first place that breaks the
  /// invariant.
  graph(std::vector<std::int64_t> offsets,
        std::vector<std::uint32_t> neighbours);

  [[nodiscard]] std::int64_t nodes() const {
    return static_cast<std::int64_t>(offsets_.size()) - 1;
  }
  [[nodiscard]] edge_rows rows() const { return {offsets_, neighbours_}; }

  /// The neighbours of one node.
  [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t node) const {
    return {neighbours_.data() + offsets_[node],
            neighbours_.data() + offsets_[node + 1]};
  }

private:
  std::vector<std::int64_t> offsets_;
  std::vector<std::uint32_t> neighbours_;
};

/// The parameters of a stochastic block model (Holland, Laskey and Leinhardt,
/// 1983).
struct block_model {
  std::int64_t nodes = 0;
  std::int64_t blocks = 1;
  double within = 0;  ///< probability of an edge within a block, below 1
  double between = 0; ///< and between two blocks, below 1
};

/// Draws the block of each node.
std::vector<std::uint32_t> draw_blocks(const block_model& model,
                                       std::uint64_t seed);

/// Draws the edges between nodes whose blocks are given, each in both
/// directions. Random numbers are addressed by seed and node.
/// @complexity O(nodes + pairs * max(within, between))
graph draw_graph(const block_model& model,
                 const std::vector<std::uint32_t>& blocks, std::uint64_t seed);

/// Returns the graph in which the neighbours of each point are the `count`
/// nearest other ones, by Euclidean distance, the nearest first; of equally
/// near ones the one of the smaller number.
/// @param points rows of `width` whole numbers from 0 to 255
/// REQUIRES: `count` is below the number of points.
/// @complexity O(points^2 * width)
graph nearest_neighbours(const std::vector<float>& points, std::int64_t width,
                         std::int64_t count);

} // namespace hippo
