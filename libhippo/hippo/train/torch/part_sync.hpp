#pragma once

#include <torch/types.h>

#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "hippo/model/sync.hpp"
#include "hippo/sequence/configuration.hpp"
#include "hippo/train/gang.hpp"
#include "hippo/train/torch/device_stream.hpp"
#include "hippo/train/torch/epoch_parts.hpp"
#include "hippo/train/torch/tensor_file.hpp"

namespace hippo {

/// Returns the exchanges of a step, by default those of `sync_rule`. Throws
/// `std::invalid_argument` for values that a schedule should not have come to.
sync_rule sync_rule_at(const configuration& config, sync_kind kind,
                       step_t step);

/// Exchanges weights between the parts of one model: ShadowSync (Zheng et al.,
/// 2020, arXiv 2003.03477), which averages behind training. Wall-clock order
/// would make results differ; so the lag is a number of iterations. Copies
/// leave at an iteration and arrive later, training goes on meanwhile, and an
/// arrival moves the weights by the distance of the copies from a goal:
///
/// - `average`: w += alpha (mean of the copies - copy). With `alpha` 1 and no
///   lag it is local SGD (Stich, 2019).
/// - `elastic` (Zhang, Choromanska and LeCun, 2015): d = alpha (copy - centre
///   as it is on arrival), centre += d, w -= d, in the order of the parts.
/// - `bmuf` (Chen and Huo, 2016): v = momentum v + lr (mean of the copies -
///   centre), centre += v, then w += alpha (centre - copy).
///
/// The last iteration of a step exchanges the present weights, without a lag:
/// nothing is under way between two steps, and `buffers()` are all that a later
/// step reads beside the weights. Kinds without a centre leave it at the mean;
/// `step` begins with all copies at it.
///
/// Members of a gang each have the weights of their own parts, and equal
/// buffers. A copy travels between them on a thread of its own, for which a
/// member waits only if it is late.
///
/// Sums over parts are a tree, ((0+1)+(2+3))+..., whose order no number of
/// members changes.
class part_sync {
public:
  /// @param weights parts x shape each; the number of parts is a power of two
  /// @param has_buffers whether there is anything but the weights: not needed
  ///        if all kinds to come are `average`
  explicit part_sync(named_tensors weights, bool has_buffers = true);

  /// Exchanges as one member from now on; see `shareable`.
  /// @param members null: it has all parts
  void share(gang* members, const own_parts& own);

  /// Returns the tensors that are saved beside the weights: none with one part.
  [[nodiscard]] const named_tensors& buffers() const { return buffers_; }

  /// Begins afresh at the present weights, of all parts.
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

  /// Whether `exchange` reads or moves weights.
  [[nodiscard]] bool is_due(std::uint64_t iteration, bool is_last) const;

  /// Carries out the exchanges that are due after the update of an iteration,
  /// and launches their operations by `stream`. Throws `gang_lost`.
  void exchange(device_stream& stream, std::uint64_t iteration, bool is_last);

  /// Drops what is under way, of a step that has failed, once nothing of it
  /// goes on.
  void drop() { under_way_.reset(); }

  /// Returns the mean of the parts' weights, 1 x shape each. REQUIRES: those of
  /// all parts are there
  [[nodiscard]] named_tensors mean() const;

private:
  /// Copies of the weights that are under way.
  struct exchanged {
    std::uint64_t arrives = 0;      ///< after the update of that iteration
    std::vector<at::Tensor> copies; ///< of the member's own parts
    /// On the machine, with several members: the sum of all copies, or all of
    /// them for `elastic`; once the journey is over.
    std::vector<at::Tensor> of_all;
    std::future<void> journey; ///< last: ended first
  };

  [[nodiscard]] const at::Tensor& centre(std::size_t index) const {
    return buffers_[2 * index].second;
  }
  [[nodiscard]] const at::Tensor& velocity(std::size_t index) const {
    return buffers_[2 * index + 1].second;
  }
  [[nodiscard]] std::int64_t parts() const {
    return weights_.front().second.size(0);
  }
  [[nodiscard]] bool departs(std::uint64_t iteration, bool is_last) const {
    return is_last || (iteration + 1) % rule_.every == 0;
  }
  [[nodiscard]] bool arrives(std::uint64_t iteration, bool is_last) const {
    return under_way_ && (is_last || under_way_->arrives == iteration);
  }
  /// Returns those of a weight that the member's own parts have.
  [[nodiscard]] at::Tensor own(std::size_t index) const;
  /// Leaves centres at the mean of the weights, at rest.
  void settle();
  void depart(device_stream& stream, std::uint64_t arrives);
  void arrive(device_stream& stream);
  /// Moves a weight by what has arrived.
  void arrive_at(std::size_t index, const exchanged& arrived);

  named_tensors weights_;
  named_tensors buffers_; ///< the centre of each weight, then its velocity
  gang* members_ = nullptr;
  own_parts own_;
  sync_rule rule_;
  std::optional<exchanged> under_way_;
};

/// Sets all parts to their mean. Equal parts stay as they are, to the bit.
void set_to_mean_of_parts(const at::Tensor& parts);

/// Returns the sum over the first dimension, whose size is a power of two, as a
/// tree.
at::Tensor sum_of_parts(at::Tensor parts);

/// Returns the mean over the first dimension by that sum.
at::Tensor mean_of_parts(const at::Tensor& parts);

} // namespace hippo
