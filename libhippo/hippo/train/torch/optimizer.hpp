#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hippo/train/torch/lane_table.hpp"

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

/// Updates weights, of floats, as PyTorch's `SGD` (dampening 0) and `AdamW` (epsilon 1e-8)
/// do; every hyper-parameter may be another one at every update.
///
/// The weights are those of several lanes (`laned_workload`), each of which has
/// moments and a count of its own and may follow another rule than the others.
///
/// With another kind than that of the update before, a lane's moments and count
/// begin afresh: they mean different things to the two. Otherwise they stay,
/// and new values count from the update that they are given to; AdamW's bias
/// correction uses the present betas, as in PyTorch.
class optimizer {
public:
  /// What a lane has beside its moments.
  struct progress {
    optimizer_kind kind = optimizer_kind::none; ///< of the last update
    std::uint64_t count = 0;                    ///< updates with this kind
  };

  /// @param weights each with the lanes' own ones behind each other along
  ///        dimension 0
  optimizer(std::vector<at::Tensor> weights, std::size_t lanes,
            decay_predicate decays = all_decay);

  // An update has two parts. What is decided on the host comes first; then what
  // the device computes, which is the same whatever was decided.

  /// Counts an update of each lane that has a rule, and writes into its row how
  /// that is done. REQUIRES: a place for each lane.
  void plan(const std::vector<std::optional<update_rule>>& rules,
            lane_table& rows);

  /// Updates the weights of the lanes that are active by their gradients, as
  /// planned.
  void apply(const lane_table& rows) const;

  /// Gives a lane zero moments, as before a first update of kind `x`.
  void restart(std::size_t lane, optimizer_kind x);

  [[nodiscard]] const progress& at(std::size_t lane) const {
    return lanes_[lane];
  }
  void set_count(std::size_t lane, std::uint64_t x) { lanes_[lane].count = x; }

  // The moments, one for each weight and shaped like it. What they hold where a
  // lane's kind has none means nothing; empty while no lane has any.

  /// SGD's momentum buffers, AdamW's mean.
  [[nodiscard]] const std::vector<at::Tensor>& first() const { return first_; }

  /// AdamW's mean of squares.
  [[nodiscard]] const std::vector<at::Tensor>& second() const {
    return second_;
  }

private:
  std::vector<at::Tensor> weights_;
  std::vector<progress> lanes_;
  std::vector<bool> decays_; ///< by weight
  std::vector<at::Tensor> first_;
  std::vector<at::Tensor> second_;
};

} // namespace hippo
