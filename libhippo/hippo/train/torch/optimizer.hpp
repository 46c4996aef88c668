#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

namespace hippo {

enum class optimizer_kind : std::uint8_t { none, sgd, adamw };

/// The hyper-parameters of an update.
struct update_rule {
  optimizer_kind kind = optimizer_kind::sgd;
  double lr = 0;
  double momentum = 0; ///< AdamW's beta1
  double beta2 = 0;    ///< AdamW only
  double weight_decay = 0;
  bool nesterov = false; ///< SGD only
};

/// Updates weights as PyTorch's `SGD` (dampening 0) and `AdamW` (epsilon 1e-8)
/// do; every hyper-parameter may be another one at every update.
///
/// With another kind than that of the update before, moments and count begin
/// afresh: they mean different things to the two. Otherwise they stay, and new
/// values count from the update that they are given to; AdamW's bias
/// correction uses the present betas, as in PyTorch.
struct optimizer {
  optimizer_kind kind = optimizer_kind::none; ///< of the last update
  std::uint64_t count = 0;                    ///< updates with this kind
  /// One for each weight; empty before the first update.
  std::vector<at::Tensor> first;  ///< SGD's momentum buffers, AdamW's mean
  std::vector<at::Tensor> second; ///< AdamW's mean of squares

  /// Updates `weights` by their gradients.
  /// REQUIRES: always the same weights in the same order.
  void update(const update_rule& rule, const std::vector<at::Tensor>& weights);

  /// Makes zero moments for `weights`, as before a first update of kind `x`.
  void restart(optimizer_kind x, const std::vector<at::Tensor>& weights);
};

} // namespace hippo
