#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "hippo/model/workload_spec.hpp"
#include "hippo/train/shareable.hpp"
#include "hippo/train/torch/epoch_parts.hpp"
#include "hippo/train/torch/kernels/step_recorder.hpp"
#include "hippo/train/torch/optimizer.hpp"
#include "hippo/train/torch/part_sum.hpp"
#include "hippo/train/torch/precision.hpp"
#include "hippo/train/torch/stateful_workload.hpp"
#include "hippo/train/torch/step_values.hpp"

namespace hippo {

/// A workload whose steps are epochs of batches, each in one part or in several
/// (`parts_option`, `sync_name`), which members may share.
///
/// A class that derives from it says how the loss of a part is computed. The
/// gradient of a batch is that of the mean loss of its examples: a whole batch
/// goes back by this mean, a part by its share of it.
class epoch_workload : public stateful_workload, public shareable {
public:
  void init() final;

  void share(gang* members) final;

protected:
  /// @param weights,buffers,decays as of `training_state`
  /// Throws `std::invalid_argument` if the device has not the spec's precision.
  epoch_workload(const workload_spec& spec, at::Device device,
                 device_stream& stream, const named_tensors& weights,
                 const named_tensors& buffers,
                 decay_predicate decays = all_decay);

  /// Sets the state to that before the first step.
  virtual void reset() = 0;

  /// Returns the loss of the part that was put last, the sum or the mean of
  /// those of its examples. May be recorded (`step_recorder`).
  virtual at::Tensor training_loss(const batch_part& part,
                                   at::Reduction::Reduction reduction) = 0;

  /// Returns the property of dropout by which recordings differ: unless kernels
  /// are given its share when they are launched, whether there is any.
  [[nodiscard]] virtual std::int64_t recorded_dropout() const {
    return values_.drops() ? 1 : 0;
  }

  training_state& state() final { return state_; }

  /// The parts of a batch, those of all members.
  [[nodiscard]] std::int64_t parts() const { return parts_.all; }

  /// An epoch in training.
  struct epoch {
    update_rule rule;
    std::vector<std::uint32_t> order; ///< of the examples
    epoch_parts parts;                ///< of this member
  };

  /// Begins an epoch, and `values_` anew: with dropout, and nothing else.
  /// Throws `std::invalid_argument` for values that a schedule should not have
  /// come to, and leaves the state as it is.
  /// @param examples to train on
  epoch begin_epoch(const configuration& config, step_t step,
                    const update_rule& rule, std::int64_t examples);

  /// Trains an epoch; a last batch that is not full counts as any other.
  /// @param put launched before each part that has examples, to put these and
  ///        `values_`, whose `iteration` is the part's address already
  /// @param wait called on the workload's own thread before each part, with or
  ///        without examples, to wait for its data; empty: they are there
  void train_epoch(const epoch& now,
                   const std::function<void(const batch_part&)>& put,
                   const std::function<void()>& wait = {});

  /// Calls `launch(i)` for each `i` below `count`, which is above 0.
  void launch_each(std::int64_t count,
                   const std::function<void(std::int64_t)>& launch);

  /// Returns those of some things to measure that are up to this member.
  [[nodiscard]] member_range own_share(std::size_t things) const;

  /// Gives all members what each has measured of its share.
  /// @param width the bytes of a thing
  void gather(std::span<std::byte> measured, std::size_t width);

  const std::uint64_t seed_;
  const at::Device device_;
  const precision precision_;
  training_state state_;
  step_values values_;
  step_recorder steps_;

private:
  void launch_in_turn(std::int64_t count,
                      const std::function<void(std::int64_t)>& launch,
                      const std::function<void()>& wait);
  void end_iteration(std::int64_t iteration, bool is_last);
  void train_batch(const batch_part& part);
  void train_part(const batch_part& part);
  void train_copy(const batch_part& part);
  [[nodiscard]] bool clips() const;
  void apply();
  void update();

  gang* members_ = nullptr; ///< null: this one computes all parts
  own_parts parts_;
  std::optional<part_sum> sum_; ///< if one model has several parts
  at::Tensor loss_; ///< sum over the examples that were trained so far
};

} // namespace hippo
