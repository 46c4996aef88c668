#pragma once

#include <torch/types.h>

#include <cstdint>

#include "hippo/base/types.hpp"
#include "hippo/train/torch/graph/graph_parts.hpp"

namespace hippo {

/// The messages about a layer between the parts of a graph, in one row for each
/// clone of `graph_parts::split()`.
struct part_messages {
  at::Tensor remote; ///< the present contribution of the other clones
  at::Tensor up;     ///< of leaves: their sums on the way to their roots
  at::Tensor down;   ///< to leaves: the sums of other clones on the way

  /// Begins without any: all is 0.
  void clear() const;
};

/// Adds up rows of the clones of each node, and gives all of them the sum.
/// @param rows clones x features
void add_clones(const graph_parts& parts, const at::Tensor& rows);

/// Adds to the rows of clones the contributions of other clones as they are
/// known by now, by the delayed partial aggregates of DistGNN (Md et al.,
/// "DistGNN: Scalable Distributed Training for Large-Scale Graph Neural
/// Networks", SC 2021). Node v is in bucket v mod `delay`. In epoch e the
/// bucket e mod `delay` exchanges: sums that its leaves have sent `delay`
/// epochs ago arrive at roots, and roots' messages of then at leaves; leaves
/// send their present sums, and roots to each leaf their own present sum with
/// those that arrived from the other leaves.
/// REQUIRES: `delay > 1`
void add_delayed(const graph_parts& parts, step_t epoch, step_t delay,
                 const part_messages& messages, const at::Tensor& rows);

} // namespace hippo
