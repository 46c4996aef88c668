#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "hippo/train/gang.hpp"
#include "hippo/train/torch/epoch_parts.hpp"
#include "hippo/train/torch/tensor_file.hpp"
#include "hippo/train/torch/tensor_piece.hpp"

namespace hippo {

/// Sums over the parts of an iteration: of their gradients, their losses, and
/// the statistics that each has made of those before the iteration.
///
/// A sum is a tree, ((0+1)+(2+3))+..., so its bits do not depend on how many
/// members share the parts. A member keeps as many partial sums as its share of
/// the tree has levels.
///
/// Everything stays in the same places, so what a part launches may be
/// recorded. Calls of an iteration: `begin`; for each of the member's parts
/// `reset` and `take`, or `take_nothing`, then `add`; then `share` unless there
/// is one member; then `put`.
class part_sum {
public:
  /// @param values weights, followed by statistics
  /// @param weights the number of weights
  part_sum(const tensor_piece& values, std::size_t weights,
           const own_parts& own);

  /// Adds other parts from the next iteration on.
  void share_out(const own_parts& own) { own_ = own; }

  /// Begins an iteration at the present statistics.
  void begin();

  /// Gives the statistics the values that they had before the iteration.
  void reset() const;

  /// Takes the gradients of the weights, which it resets, the statistics, and a
  /// loss.
  void take(const at::Tensor& loss);

  /// Takes what a part without examples gives: no gradient, no loss, and the
  /// statistics as they were.
  void take_nothing();

  /// Adds what was taken last.
  /// @param number of the part; they come in order
  void add(std::int64_t number);

  /// Copies the sum of this member's parts to where `share` reads it.
  void read();

  /// Adds the sums of all members. REQUIRES: the device is done with `read`
  void share(gang& members);

  /// Copies the sum of all members back to the device.
  void write();

  /// Puts the sums of gradients in the place of gradients, and the means of
  /// statistics in that of statistics. Returns the sum of the losses.
  at::Tensor put() const;

private:
  /// The statistics in memory that is laid out as `values`.
  [[nodiscard]] at::Tensor statistics_of(const at::Tensor& all) const {
    return all.narrow(0, statistics_begin_,
                      statistics_end_ - statistics_begin_);
  }

  own_parts own_;
  std::vector<at::Tensor> weights_;
  at::Tensor values_;
  std::int64_t statistics_begin_ = 0, statistics_end_ = 0; ///< in floats
  tensor_piece taken_; ///< like `values`, then the loss; in the end the sum
  std::vector<at::Tensor> places_; ///< of the weights' gradients there
  std::vector<at::Tensor> sums_;   ///< of 1, 2, 4, ... parts, once needed
  at::Tensor before_;              ///< the statistics
  at::Tensor shared_; ///< on the machine: `taken_` itself where that is there
};

} // namespace hippo
