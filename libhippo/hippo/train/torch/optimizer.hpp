#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "hippo/train/torch/step_values.hpp"
#include "hippo/train/torch/tensor_piece.hpp"

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

/// Says of a weight whether it decays (`update_rule::weight_decay`).
using decay_predicate = bool (*)(const at::Tensor& weight);

inline bool all_decay(const at::Tensor& /*weight*/) { return true; }

/// Updates weights, of floats, as PyTorch's `SGD` (dampening 0) and `AdamW`
/// (epsilon 1e-8) do; every hyper-parameter may be another one at every update.
///
/// With another kind than that of the update before, moments and count begin
/// afresh: they mean different things to the two. Otherwise they stay, and new
/// values count from the update that they are given to; AdamW's bias correction
/// uses the present betas, as in PyTorch.
class optimizer {
public:
  /// The state beside moments.
  struct progress {
    optimizer_kind kind = optimizer_kind::none; ///< of the last update
    std::uint64_t count = 0;                    ///< updates with this kind
  };

  explicit optimizer(std::vector<at::Tensor> weights,
                     decay_predicate decays = all_decay);

  // An update has two parts. What is decided on the host comes first; then what
  // the device computes, which is the same whatever was decided.

  /// Counts an update, and writes into `values` how it is done.
  void plan(const update_rule& rule, step_values& values);

  /// Updates the weights by their gradients, as planned.
  void apply(const step_values& values) const;

  /// Sets moments to zero, as before a first update of kind `rule`.
  void restart(optimizer_kind rule);

  [[nodiscard]] const progress& present() const { return progress_; }
  void set_count(std::uint64_t value) { progress_.count = value; }

  // The moments, one for each weight and shaped like it. What they hold where
  // the present kind has none means nothing; empty until there were any.

  /// SGD's momentum buffers, AdamW's mean.
  [[nodiscard]] const tensor_piece& first() const { return first_; }

  /// AdamW's mean of squares.
  [[nodiscard]] const tensor_piece& second() const { return second_; }

private:
  std::vector<at::Tensor> weights_;
  progress progress_;
  std::vector<bool> decays_; ///< by weight
  tensor_piece first_;
  tensor_piece second_;
};

} // namespace hippo
