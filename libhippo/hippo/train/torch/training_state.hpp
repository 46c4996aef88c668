#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hippo/model/averaging.hpp"
#include "hippo/train/torch/optimizer.hpp"
#include "hippo/train/torch/part_states.hpp"
#include "hippo/train/torch/tensor_file.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// The parts of a state that are no tensors.
struct state_header {
  std::string workload; ///< whose it is
  optimizer::progress updates;
  double train_loss = 0;
  std::uint64_t kept = 0; ///< earlier weights that it has for their mean
};

/// Where tensors of a state lie: in which of its pieces (`tensor_piece`), by name.
struct state_place {
  std::string name;
  std::size_t piece = 0;
  tensor_piece::place where;
};
using state_layout = std::vector<state_place>;

/// The state of a workload: weights, and everything else that a later step of
/// training reads.
class training_state {
public:
  /// @param workload whose states these are: those of others are refused
  /// @param weights what is trained
  /// @param buffers what is saved with them and changed by others
  /// @param average the mean of them that is measured
  training_state(std::string workload, named_tensors weights,
                 named_tensors buffers, decay_predicate decays = all_decay,
                 averaging average = {});
  training_state(const training_state&) = delete;
  training_state& operator=(const training_state&) = delete;

  /// Has parts train copies of the weights from the next `restart` on. What
  /// stands for weights and buffers is then the mean of the parts.
  void divide(std::int64_t parts, sync_kind kind);

  /// The parts that train copies of the weights; null: there is one model.
  [[nodiscard]] part_states* parts() { return parts_ ? &*parts_ : nullptr; }

  /// Begins afresh, but for weights and buffers.
  void restart(double loss);

  /// Plans the next update of the weights (`optimizer::plan`).
  void plan(const update_rule& rule, step_values& values);

  /// Computes the gradients of a loss, by way of that loss `scale` times, in the
  /// place of those that are there.
  void go_back(const at::Tensor& loss, double scale) const;

  /// Scales the gradients down so that the norm of all of them together is at
  /// most `hippo_cuda_step::clip`, as PyTorch's `clip_grad_norm_` does.
  /// REQUIRES: every weight has a gradient.
  void clip_gradients(const step_values& values) const;

  /// Updates the weights as planned, and drops the gradients.
  /// REQUIRES: every weight has a gradient.
  void apply(const step_values& values);

  /// Returns the moments of all weights, each like its weight.
  [[nodiscard]] std::vector<at::Tensor> moment_tensors() const;

  /// How many moments each weight has.
  [[nodiscard]] std::int64_t moments() const {
    return optimizer_.second().empty() ? 1 : 2;
  }

  /// The weights, followed by the buffers.
  [[nodiscard]] const tensor_piece& values() const { return values_; }

  [[nodiscard]] const averaging& average() const { return average_; }

  /// Keeps weights and buffers for means to come, in place of the oldest ones.
  /// REQUIRES: `average()` takes the present step.
  void keep_weights();

  /// Puts the mean in the place of weights and buffers until `leave_mean`.
  /// Nothing else may be done with the state meanwhile.
  void enter_mean();
  void leave_mean();

  [[nodiscard]] std::string save() const;

  /// Restores what `save` of the same workload wrote.
  /// Throws `std::runtime_error` if the bytes are anything else; nothing may be
  /// done with it then but `restart` and `load`.
  void load(const std::string& bytes);

  /// Copies the state within the memory of its device, in the order of the
  /// present stream: a launch or three, however many tensors there are. Throws `std::bad_alloc` if there is no room for it.
  [[nodiscard]] std::shared_ptr<const workload_state> snapshot() const;

  /// Restores what `snapshot` of the same workload on the same device has kept,
  /// or what `load` takes. Throws as that does.
  void restore(const workload_state& saved);

  /// Writes weights and buffers, as they are measured (`write_weights`).
  void export_weights(const std::string& path) const;

  double train_loss = 0; ///< mean over the last epoch

private:
  [[nodiscard]] state_header header() const {
    return {workload_, optimizer_.present(), train_loss, kept_.size()};
  }
  /// Returns the mean of what is kept, summed up from the oldest on.
  /// REQUIRES: something is kept
  [[nodiscard]] at::Tensor mean() const;
  /// Weights with buffers, the moments of the present kind of update, or the
  /// states of parts, and what is kept.
  [[nodiscard]] std::vector<at::Tensor> pieces() const;
  /// Of those. It is made once for each kind and number of what is kept: there
  /// are hundreds of tensors.
  [[nodiscard]] const std::shared_ptr<const state_layout>& layout() const;
  /// Gets ready to be given such a state. Throws if it is of another workload.
  void expect(const state_header& header);

  std::string workload_;
  named_tensors weights_;
  named_tensors buffers_;
  tensor_piece values_; ///< of weights, then of buffers
  optimizer optimizer_;
  averaging average_;
  std::optional<part_states> parts_;
  std::deque<at::Tensor> kept_; ///< copies of `values_.all()`, the oldest first
  at::Tensor measured_as_mean_; ///< these values, while the mean is in place
  mutable std::map<std::pair<optimizer_kind, std::size_t>,
                   std::shared_ptr<const state_layout>>
    layouts_;
};

} // namespace hippo
