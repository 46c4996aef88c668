#pragma once

#include <torch/types.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hippo/train/torch/optimizer.hpp"
#include "hippo/train/torch/tensor_file.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// What a later step of one lane reads.
struct lane_state {
  std::string workload; ///< whose it is
  optimizer::progress updates;
  double train_loss = 0;
  tensor_map tensors; ///< its weights, buffers and moments
};

/// What lanes (`laned_workload`) hold: weights, and everything else that a
/// later step of training reads.
class training_state {
public:
  /// Each tensor has the lanes' own ones behind each other along dimension 0.
  /// @param workload whose states these are: those of others are refused
  /// @param weights what is trained
  /// @param buffers what is saved with them and changed by others
  training_state(std::string workload, named_tensors weights,
                 named_tensors buffers, std::size_t lanes,
                 decay_predicate decays = all_decay);

  /// Begins a lane afresh, but for its weights and buffers.
  void restart(std::size_t lane, double loss);

  /// Plans the next update of the weights (`optimizer::plan`).
  void plan(const std::vector<std::optional<update_rule>>& rules,
            lane_table& rows) {
    optimizer_.plan(rules, rows);
  }

  /// Computes the gradients of a loss, by way of that loss `scale` times, in the
  /// place of those that are there.
  void go_back(const at::Tensor& loss, double scale) const;

  /// Scales each lane's gradients down so that the norm of all of them together
  /// is at most its `hippo_cuda_lane::clip`, as PyTorch's `clip_grad_norm_`
  /// does. REQUIRES: every weight has a gradient.
  void clip_gradients(const lane_table& rows) const;

  /// Updates the weights as planned, and drops the gradients.
  /// REQUIRES: every weight has a gradient.
  void apply(const lane_table& rows);

  /// How many moments each weight has.
  [[nodiscard]] std::int64_t moments() const {
    return optimizer_.second().empty() ? 1 : 2;
  }

  [[nodiscard]] std::string save(std::size_t lane) const;

  /// Restores what `save` of the same workload wrote, whichever lane it was.
  /// Throws `std::runtime_error` if the bytes are anything else; nothing may be
  /// done with the lane then but `restart` and `load`.
  void load(std::size_t lane, const std::string& bytes);

  /// Copies a lane's state within the memory of its device, in the order of the
  /// present stream. Throws `std::bad_alloc` if there is no room for it.
  [[nodiscard]] std::shared_ptr<const workload_state>
  snapshot(std::size_t lane) const;

  /// Restores what `snapshot` has kept of any lane, or what `load` takes.
  /// Throws as that does.
  void restore(std::size_t lane, const workload_state& x);

  /// Writes a lane's weights and buffers (`write_weights`).
  void export_weights(std::size_t lane, const std::string& path) const;

  std::vector<double> train_loss; ///< each lane's mean over its last epoch

private:
  [[nodiscard]] lane_state state_of(std::size_t lane) const;
  void assign(std::size_t lane, const lane_state& x);

  /// A lane's tensors by name; they share memory with all lanes' ones.
  [[nodiscard]] const tensor_map& tensors(std::size_t lane) const;
  [[nodiscard]] at::Tensor part(const at::Tensor& x, std::size_t lane) const;

  std::string workload_;
  named_tensors weights_;
  named_tensors buffers_;
  optimizer optimizer_;

  /// What `tensors` has returned, by lane and kind of update: there are hundreds
  /// of them, and they stay where they are.
  mutable std::map<std::pair<std::size_t, optimizer_kind>, tensor_map>
    tensors_;
};

} // namespace hippo
