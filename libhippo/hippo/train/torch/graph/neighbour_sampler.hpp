#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hippo/base/types.hpp"
#include "hippo/train/torch/graph/graph.hpp"
#include "hippo/train/torch/random.hpp"

namespace hippo {

/// A fanout that takes all neighbours.
inline constexpr std::int64_t all_neighbours = 0;

/// The most neighbours of a node that are drawn.
inline constexpr std::int64_t fanout_max = 1000;

/// Reads fanouts such as `10,5` or `all,5`, a number from 1 to `fanout_max` or
/// `all` for each layer, from the nodes of a batch outwards; `all` alone: of
/// all layers. Throws `std::invalid_argument`.
/// @param name of the option or hyper-parameter
std::vector<std::int64_t> fanouts_from(const std::string& name,
                                       const std::string& text,
                                       std::int64_t layers);

/// Appends `count` different numbers below `size`, which are drawn, to `to` in
/// ascending order; all subsets are equally likely (Floyd's algorithm: Bentley
/// and Floyd, "A Sample of Brilliance", CACM 30(9), 1987).
/// REQUIRES: `count <= size`
/// @complexity O(count^2), with copies of neighbouring numbers alone
void draw_subset(std::int64_t size, std::int64_t count, random_numbers numbers,
                 std::vector<std::int64_t>& to);

/// The edges of a layer: row i is computed of row i of the rows before and of
/// the mean of those of `list[offsets[i]]` to below `list[offsets[i + 1]]`.
struct layer_edges {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::uint32_t> list;

  [[nodiscard]] edge_rows rows() const { return {offsets, list}; }
  bool operator==(const layer_edges&) const = default;
};

/// The part of a graph that a batch reads. Rows are numbered once for all
/// layers: those of the batch come first, then the neighbours of these, then
/// theirs.
struct sampled_nodes {
  std::vector<std::uint32_t> nodes; ///< of the graph, one for each row
  std::vector<layer_edges> layers;  ///< in the order of computation

  bool operator==(const sampled_nodes&) const = default;
};

/// Draws neighbours for the layers of GraphSAGE (Hamilton, Ying and Leskovec,
/// "Inductive Representation Learning on Large Graphs", NeurIPS 2017): all
/// neighbours of a node if there are at most as many as the layer's fanout,
/// else as many, without replacement. Random numbers are addressed by seed,
/// purpose, epoch, batch, layer and node, so a batch depends on no other.
///
/// It has memory for each node of the graph: each thread needs its own.
class neighbour_sampler {
public:
  /// @param edges outlive it
  /// @param fanouts as `fanouts_from` returns them
  neighbour_sampler(const graph& edges, std::vector<std::int64_t> fanouts,
                    std::uint64_t seed, purpose use, step_t epoch);

  /// Returns the part that a batch of different nodes reads.
  sampled_nodes sample(std::uint64_t batch,
                       std::span<const std::uint32_t> nodes);

private:
  /// Adds a node to the rows unless it is there. @returns its row
  std::uint32_t row_of(std::uint32_t node, std::vector<std::uint32_t>& rows);

  const graph& edges_;
  std::vector<std::int64_t> fanouts_;
  std::uint64_t seed_;
  purpose use_;
  step_t epoch_;
  std::vector<std::uint32_t> rows_; ///< of each node of the graph, or none
  std::vector<std::int64_t> drawn_; ///< places in a row of the graph
};

} // namespace hippo
