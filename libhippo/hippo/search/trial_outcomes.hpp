#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "hippo/base/ids.hpp"
#include "hippo/model/goals.hpp"
#include "hippo/search/pareto/selection.hpp"
#include "hippo/search/split_ranking.hpp"

namespace hippo {

/// The measurements of the trials of a study with several metrics, or with
/// constraints: its algorithm and its sampler decide by them, as one number
/// does not tell.
class trial_outcomes {
public:
  explicit trial_outcomes(goals wanted) : wanted_(std::move(wanted)) {}

  /// Trial `trial` has measured something at state `step`, for the first time.
  void add(trial_no trial, step_t step, const metrics& measured);

  /// REQUIRES (here and below): it was added.
  [[nodiscard]] const outcome& at(trial_no trial, step_t step) const;

  /// Returns the `slacks_of` what a trial measured. They stay where they are.
  [[nodiscard]] const std::vector<double>& slacks(trial_no trial,
                                                  step_t step) const;

  /// The number of constraints.
  [[nodiscard]] std::size_t constraints() const noexcept {
    return wanted_.constraints.size();
  }

  /// Puts trials into the order of `best_first` by what they measured at
  /// `step`; of equals the lower number comes first. The loss of each becomes
  /// its place.
  /// @param first what is trial 0 there
  void rank(std::vector<standing>& trials, step_t step,
            trial_no first = 0) const;

  /// Returns the best `count` of trials as `select_best` says.
  [[nodiscard]] std::vector<trial_no>
  best_of(std::vector<trial_no> trials, step_t step, std::size_t count) const;

  /// Returns the best `count` of trials as `select_survivors` says; `place` is
  /// the number of the trial.
  [[nodiscard]] std::vector<survivor>
  survivors_of(std::vector<trial_no> trials, step_t step,
               std::size_t count) const;

  /// About how much memory it takes, in bytes. O(1).
  [[nodiscard]] std::uint64_t memory_bytes() const;

private:
  struct entry {
    outcome worth;
    std::vector<double> slacks;
  };

  [[nodiscard]] std::vector<outcome> of(const std::vector<trial_no>& trials,
                                        step_t step) const;

  goals wanted_;
  std::map<step_t, std::unordered_map<trial_no, entry>> known_;
  std::uint64_t count_ = 0;
};

} // namespace hippo
