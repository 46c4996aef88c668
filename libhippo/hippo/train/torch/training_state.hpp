#pragma once

#include <torch/torch.h>

#include <string>
#include <vector>

#include "hippo/train/torch/optimizer.hpp"
#include "hippo/train/torch/tensor_file.hpp"
#include "hippo/train/torch/weights_file.hpp"

namespace hippo {

/// Weights, and everything else that a later step of training reads.
///
/// Weights decay, but for biases and the scales of normalisations: those have
/// one dimension.
class training_state {
public:
  /// @param workload whose states these are: those of others are refused
  training_state(std::string workload, named_tensors weights);

  /// Begins afresh, but for the weights.
  void restart(double loss);

  /// Updates the weights by their gradients and drops those.
  /// @param clip the largest norm that all gradients together may have: larger
  ///             ones are scaled down to it. 0: any
  /// REQUIRES: every weight has a gradient.
  void update(const update_rule& rule, double clip);

  [[nodiscard]] std::string save() const;

  /// Restores what `save` of the same workload wrote. Throws
  /// `std::runtime_error` if the bytes are anything else; nothing may be done
  /// with the state then but `restart` and `load`.
  void load(const std::string& bytes);

  double train_loss = 0; ///< mean over the last epoch

private:
  /// Weights under one update rule.
  struct group {
    named_tensors named;
    std::vector<at::Tensor> weights; ///< the same ones
    optimizer updates;
  };

  void restart_updates(optimizer_kind kind);
  void clip_gradients(double limit) const;
  [[nodiscard]] tensor_map tensors() const;

  std::string workload_;
  group decaying_;
  group others_;
};

} // namespace hippo
