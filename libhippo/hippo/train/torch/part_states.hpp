#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hippo/train/torch/device_stream.hpp"
#include "hippo/train/torch/epoch_parts.hpp"
#include "hippo/train/torch/optimizer.hpp"
#include "hippo/train/torch/part_sync.hpp"
#include "hippo/train/torch/tensor_piece.hpp"

namespace hippo {

/// The states of parts that train copies of the weights: of each its weights,
/// statistics and moments, and what they exchange (`part_sync`).
///
/// A network is in one place: parts take turns in it, so what they launch may
/// be recorded. Between two steps the mean of all parts is there, and every
/// member has the states of all.
///
/// Calls of a step: `begin`; in each iteration, for each of the member's parts,
/// `enter` and, after its update, `add_loss`, then `end_iteration`; `end_step`.
class part_states {
public:
  /// @param values the network's weights, followed by statistics; outlives this
  /// @param weights the number of weights
  /// @param updates the optimiser whose moments a part has in the network's
  ///        place; outlives this
  /// @param kind of the exchanges, not `step`
  part_states(const tensor_piece& values, std::size_t weights,
              const optimizer& updates, std::int64_t parts, sync_kind kind);
  part_states(const part_states&) = delete;
  part_states& operator=(const part_states&) = delete;

  [[nodiscard]] std::int64_t count() const { return own_.all; }
  [[nodiscard]] sync_kind kind() const { return kind_; }

  /// Computes as one member from now on; see `shareable`.
  void share(gang* members, const own_parts& own);

  /// Begins afresh: all parts at the network's values.
  void restart();

  /// Gets ready for other values of the parts, and for the moments of the
  /// present kind of update, which it sets to zero if these are new.
  void expect();

  /// Sets the moments of all parts to zero: the kind of update has changed.
  void restart_moments();

  void begin(const sync_rule& rule);

  /// Puts a part's state in the network's place.
  void enter(std::int64_t part);

  /// Adds to the losses of the part that is in the network's place.
  void add_loss(const at::Tensor& loss);

  // The next ones wait for others, so they are for a thread that may wait.

  /// Exchanges what is due after the updates of an iteration.
  void end_iteration(device_stream& stream, std::uint64_t iteration,
                     bool is_last);

  /// Tells all members the states of all parts, and puts the mean in the
  /// network's place. @returns the sum of the losses of all parts
  double end_step(device_stream& stream);

  /// Lets go of what is under way, of a step that has failed.
  void abandon() { sync_.drop(); }

  // A state: pieces, of which the first have a row for each part.

  /// The values, and moments of the present kind of update: parts x length.
  [[nodiscard]] std::vector<at::Tensor> rows() const;

  /// The tensors that are exchanged beside these: 1 x length of the weights
  /// each.
  [[nodiscard]] const named_tensors& exchanged() const {
    return sync_.buffers();
  }

private:
  /// The network's place of each of `rows`.
  [[nodiscard]] std::vector<at::Tensor> places() const;
  /// Takes the state out of the network's place, if a part's is there.
  void leave();

  const tensor_piece& values_;
  const optimizer& updates_;
  const sync_kind kind_;
  own_parts own_;
  gang* members_ = nullptr;
  at::Tensor of_values_;               ///< parts x length
  std::vector<at::Tensor> of_moments_; ///< the same; once there were any
  at::Tensor losses_;                  ///< of the step so far, by part
  part_sync sync_;
  std::int64_t present_ = -1; ///< the part in the network's place; -1: none
};

} // namespace hippo
