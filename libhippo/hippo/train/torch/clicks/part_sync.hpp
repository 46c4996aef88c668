#pragma once

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "hippo/train/torch/tensor_file.hpp"

namespace hippo {

/// How parts, each of which trains a copy of the weights by examples of its
/// own, come to one model.
enum class sync_kind : std::uint8_t {
  step,    ///< equal copies, each update against the mean of all gradients
  average, ///< copies move towards their mean
  elastic, ///< copies and a centre move towards each other, part after part
  bmuf     ///< the centre follows the mean with momentum, copies follow it
};

struct sync_rule {
  sync_kind kind = sync_kind::step;
  std::uint64_t every = 1; ///< iterations from one exchange to the next
  std::uint64_t lag = 0;   ///< iterations until it arrives; at most `every`
  double alpha = 0.5;      ///< share of the way that is gone
  double momentum = 0;     ///< of the centre, with `bmuf`
};

/// Exchanges weights between the parts of one model: ShadowSync (Zheng et al.,
/// 2020, arXiv 2003.03477), which averages behind training. Wall-clock order
/// would make results differ; so the lag is a number of iterations. Copies
/// leave at an iteration and arrive later, training goes on meanwhile, and an
/// arrival moves the weights by the distance of the copies from a goal:
///
/// - `average`: w += alpha (mean of the copies - copy). With `alpha` 1 and no
///   lag it is local SGD (Stich, 2019).
/// - `elastic` (Zhang, Choromanska and LeCun, 2015): d = alpha (copy - centre
/// as
///   it is on arrival), centre += d, w -= d, in the order of the parts.
/// - `bmuf` (Chen and Huo, 2016): v = momentum v + (mean of the copies -
///   centre), centre += v, then w += alpha (centre - copy).
///
/// The last iteration of a step exchanges the present weights, without a lag:
/// nothing is under way between two steps, and `buffers()` are all that a later
/// step reads beside the weights. Kinds without a centre leave it at the mean;
/// `step` begins with all copies at it.
///
/// Sums over parts are a tree, ((0+1)+(2+3))+..., whose order no number of
/// devices would change.
class part_sync {
public:
  /// @param weights parts x shape each; the number of parts is a power of two
  explicit part_sync(named_tensors weights);

  /// Returns the tensors that are saved beside the weights: none with one part.
  [[nodiscard]] const named_tensors& buffers() const { return buffers_; }

  /// Begins afresh at the present weights.
  void init();

  /// Begins a step.
  void begin(const sync_rule& rule);

  /// Whether all copies are one model in this step.
  [[nodiscard]] bool is_one_model() const {
    return rule_.kind == sync_kind::step;
  }

  /// Replaces the gradients of one model's copies by their mean.
  /// @param share parts: how much each part counts, 1 in all
  void mix_gradients(const at::Tensor& share) const;

  /// Carries out the exchanges that are due after the update of an iteration.
  void exchange(std::uint64_t iteration, bool is_last);

  /// Returns the mean of the parts' weights, 1 x shape each.
  [[nodiscard]] named_tensors mean() const;

private:
  /// Copies of the weights that are under way.
  struct exchanged {
    std::uint64_t arrives = 0; ///< after the update of that iteration
    std::vector<at::Tensor> copies;
  };

  [[nodiscard]] const at::Tensor& centre(std::size_t index) const {
    return buffers_[2 * index].second;
  }
  [[nodiscard]] const at::Tensor& velocity(std::size_t index) const {
    return buffers_[2 * index + 1].second;
  }
  /// Leaves centres at the mean of the weights, at rest.
  void settle();
  void depart(std::uint64_t arrives);
  void arrive();
  /// Moves a weight by its copies.
  void arrive_at(std::size_t index, const at::Tensor& copies);

  named_tensors weights_;
  named_tensors buffers_; ///< the centre of each weight, then its velocity
  sync_rule rule_;
  std::optional<exchanged> under_way_;
};

/// Sets all parts to their mean. Equal parts stay as they are, to the bit.
void set_to_mean_of_parts(const at::Tensor& parts);

/// Returns the sum over the first dimension, whose size is a power of two, as a
/// tree.
at::Tensor sum_of_parts(at::Tensor parts);

} // namespace hippo
