#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "hippo/search/algorithm/algorithm_type.hpp"
#include "hippo/search/algorithm/cohort.hpp"
#include "hippo/search/trial_outcomes.hpp"
#include "hippo/search/trial_states.hpp"

namespace hippo {

/// Successive halving (SHA): all trials are trained to the first rung, the best
/// 1/eta of them to the next, and so on. A rung ends when each of its trials
/// has reported or failed, so what is decided does not depend on who was
/// faster.
///
/// Of n trials on a rung, max(1, floor(n / eta)) go on; failed ones count in n,
/// but never go on; NaN ranks last. Of equal ones those go on that differ most
/// on the rungs to come (`spread`).
class sha : public algorithm {
public:
  /// REQUIRES: `rungs` is not empty and increases strictly; `eta >= 2`.
  /// @param states null: equal values rank by the trial's number
  /// @param first what `states` and `outcomes` call trial 0
  /// @param outcomes null: values tell; else the order of a rung is theirs
  sha(std::uint64_t trials, std::vector<step_t> rungs, std::uint64_t eta,
      direction better, const trial_states* states = nullptr,
      trial_no first = 0, const trial_outcomes* outcomes = nullptr);

  [[nodiscard]] std::uint64_t trials() const override {
    return trials_.size();
  }
  [[nodiscard]] std::vector<step_t> rungs() const override { return rungs_; }
  std::vector<action> open(std::uint64_t trials) override;
  std::vector<action> on_result(trial_no trial, step_t at,
                                double value) override;
  std::vector<action> on_failure(trial_no trial) override;
  bool take_back(trial_no trial) override;
  [[nodiscard]] bool done() const override {
    return all_failed_ || rung_ == rungs_.size();
  }
  [[nodiscard]] expected_work to_come() const override;

private:
  /// Ends the present rung if nobody is awaited, and begins the next one.
  std::vector<action> proceed();

  /// Brings those of a ranking first that go on.
  void settle_ties(std::vector<standing>& ranking, std::uint64_t kept) const;

  std::vector<step_t> rungs_;
  std::uint64_t eta_;
  cohort trials_;
  std::size_t rung_ = 0;  ///< the present one
  std::uint64_t entered_; ///< trials that it began with
  bool all_failed_ = false; ///< on the present rung
  /// On which rung trials that have failed were awaited.
  std::map<trial_no, std::size_t> failed_in_;
  const trial_states* states_;
  trial_no first_;
  const trial_outcomes* outcomes_;
};

extern const algorithm_type sha_type;

} // namespace hippo
