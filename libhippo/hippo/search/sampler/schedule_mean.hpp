#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "hippo/base/ids.hpp"
#include "hippo/base/types.hpp"
#include "hippo/search/surrogate/schedule_law.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// The loss that a trial is expected to have by its learning-rate schedule
/// alone: a `schedule_law` that is fitted to the losses of a study.
///
/// It holds up to 16 losses of each trial, the first one in each sixteenth of
/// the training but for the first sixteenth. A law counts if laws of one half
/// of the trials predict the losses of the other half twice as well as the
/// medians at their steps do, by the squares of relative errors of up to 1.
class schedule_mean {
public:
  using sequences = std::map<std::string, sequence>;

  /// No law.
  schedule_mean() = default;

  /// The learning rate is the hyper-parameter `lr` or `learning_rate`, if its
  /// values are numbers above 0 somewhere and change with the step in a
  /// combination of the space. Without one there never is a law.
  /// @param defaults of the hyper-parameters that a combination leaves out
  schedule_mean(const search_space& space, const sequences& defaults,
                step_t max_steps, std::uint64_t seed);

  /// Whether there may be a law.
  [[nodiscard]] bool has_schedule() const { return !name_.empty(); }
  [[nodiscard]] bool has_law() const { return law_.has_value(); }

  /// Trial `trial` measured `loss` at state `at`.
  /// @param time never falls from call to call
  void on_result(trial_no trial, step_t at, double loss, std::size_t time);

  /// Trials are longer from now on. There is no law before the next fit.
  void lengthen(step_t max_steps);

  /// Fits the law anew.
  /// @param time results of this time or later are left out
  /// @param trials whose results count, sorted
  /// @param values returns the sequences of a trial
  void fit(std::size_t time, const std::vector<trial_no>& trials,
           const std::function<sequences(trial_no)>& values);

  /// Returns the loss at state `at`; 0 without a law.
  [[nodiscard]] double at(const sequences& values, step_t at) const;

private:
  struct loss_point {
    trial_no trial = 0;
    step_t at = 0;
    double loss = 0;
    std::size_t time = 0;
  };

  [[nodiscard]] const sequence* rates_of(const sequences& values) const;
  [[nodiscard]] step_t part_of(step_t at) const;

  std::string name_; ///< of the learning rate; empty: there is none
  std::optional<sequence> fallback_;
  step_t max_steps_ = 1;
  std::vector<loss_point> points_;            ///< as they came
  std::unordered_map<trial_no, step_t> last_; ///< of the points, by trial
  std::optional<schedule_law> law_;
};

} // namespace hippo
