#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "hippo/search/algorithm/algorithm_type.hpp"
#include "hippo/search/algorithm/concurrency_limit.hpp"
#include "hippo/search/split_ranking.hpp"
#include "hippo/sequence/family.hpp"

namespace hippo {

/// The median stopping rule (Golovin et al., *Google Vizier: A Service for
/// Black-Box Optimization*, KDD 2017): at each measurement from step `grace` on
/// a trial is pruned, on its way, if its best value so far is worse than the
/// median of the other trials' running means up to that step. Only trials with
/// a result at that step or beyond it count, and there must be `min_others` of
/// them. They may have ended since.
///
/// A NaN is no value for a trial's best, and a mean that is not finite is left
/// out of the median. Which trials are pruned depends on who was faster.
/// @complexity O(log trials) for each result where all trials measure at the
///             same steps; memory O(results)
class median_stopping : public algorithm {
public:
  /// @param concurrent trials in flight at most; see `concurrency_limit`
  /// REQUIRES: `min_others > 0`
  median_stopping(std::uint64_t trials, step_t max, step_t grace,
                  std::uint64_t min_others, direction better,
                  std::optional<std::uint64_t> concurrent);

  [[nodiscard]] std::uint64_t trials() const override { return most_; }
  [[nodiscard]] std::vector<step_t> rungs() const override {
    auto result = passed_;
    result.push_back(max_);
    return result;
  }
  std::vector<action> open(std::uint64_t trials) override;
  std::vector<action> on_result(trial_no trial, step_t at,
                                double value) override;
  std::vector<action> on_failure(trial_no trial) override;
  bool take_back(trial_no trial) override;
  [[nodiscard]] bool wants_capacity() const override {
    return limit_.is_narrow() && (next_ < most_ || !resting_.empty());
  }
  std::vector<action> widen(std::uint64_t trials) override {
    limit_.widen(trials);
    return fill();
  }
  [[nodiscard]] bool can_grow() const override { return true; }
  void grow(std::uint64_t trials) override { most_ += trials; }
  std::vector<action> withdraw(const std::vector<trial_no>& withdrawn,
                               std::uint64_t trials) override;
  [[nodiscard]] step_t length_max() const override { return step_limit; }
  std::vector<trial_no> lengthen(step_t max) override;
  std::vector<action> go_on() override;
  [[nodiscard]] bool done() const override {
    return limit_.empty() && next_ == most_ && resting_.empty();
  }
  /// As if nothing were pruned.
  [[nodiscard]] expected_work to_come() const override;

private:
  /// The measurements of a trial up to a step, that one included.
  struct total {
    step_t at = 0;
    double sum = 0; ///< of losses: the values, less is better
    std::uint64_t count = 0;
    [[nodiscard]] double mean() const {
      return sum / static_cast<double>(count);
    }
  };

  struct trial_state {
    bool training = false;
    bool ended = false; ///< pruned, failed, or trained as far as it goes
    bool finished = false; ///< the last of these
    double best = std::numeric_limits<double>::infinity(); ///< loss
    std::vector<total> totals; ///< by step
  };

  /// Returns the running means up to step `at` of the trials that have got
  /// there; kept up to date from then on.
  split_ranking& means_at(step_t at);

  /// Adds a trial's latest total to the means.
  void add_to_means(trial_no trial);

  std::vector<action> fill();

  std::uint64_t most_; ///< trials
  step_t max_;
  step_t grace_;
  std::uint64_t min_others_;
  direction better_;
  concurrency_limit limit_;
  std::vector<trial_state> trials_; ///< that are open
  std::map<step_t, split_ranking> means_;
  step_t furthest_ = 0; ///< that any trial has measured at
  trial_no next_ = 0;   ///< the first that was not looked at for a start
  std::set<trial_no> withdrawn_; ///< of those that were not looked at
  std::vector<step_t> passed_;   ///< where trials ended before they were longer
  std::deque<trial_no> resting_; ///< at a former end, before their turn
};

/// The options of `median`.
class median_settings final : public algorithm_settings {
public:
  step_t grace = 1;             ///< nothing is pruned before
  std::uint64_t min_others = 3; ///< trials that the median is taken of

  [[nodiscard]] bool stops_early() const override { return true; }
  [[nodiscard]] std::unique_ptr<algorithm>
  make(const study_spec& study, const trial_states* states,
       const trial_outcomes* outcomes) const override;

private:
  [[nodiscard]] std::vector<step_t> marks() const override;
};

extern const algorithm_type median_type;

} // namespace hippo
