#pragma once

#include <cstdint>
#include <vector>

#include "hippo/tune/algorithm.hpp"
#include "hippo/tune/cohort.hpp"

namespace hippo {

/// Successive halving (SHA): all trials are trained to the first rung, the best
/// 1/eta of them to the next, and so on. A rung ends when each of its trials
/// has reported or failed, so what is decided does not depend on who was
/// faster.
///
/// Of n trials on a rung, max(1, floor(n / eta)) go on; failed ones count in n,
/// but never go on; NaN ranks last; equal values rank by the trial's number.
class sha : public algorithm {
public:
  /// REQUIRES: `rungs` is not empty and increases strictly; `eta >= 2`.
  sha(std::uint64_t trials, std::vector<step_t> rungs, std::uint64_t eta,
      direction better);

  [[nodiscard]] std::uint64_t trials() const override {
    return trials_.size();
  }
  [[nodiscard]] std::vector<step_t> rungs() const override { return rungs_; }
  std::vector<action> open(std::uint64_t trials) override;
  std::vector<action> on_result(trial_no trial, step_t at,
                                double value) override;
  std::vector<action> on_failure(trial_no trial) override;
  [[nodiscard]] bool done() const override { return rung_ == rungs_.size(); }

private:
  /// Ends the present rung if nobody is awaited, and begins the next one.
  std::vector<action> proceed();

  std::vector<step_t> rungs_;
  std::uint64_t eta_;
  cohort trials_;
  std::size_t rung_ = 0;  ///< the present one
  std::uint64_t entered_; ///< trials that it began with
};

} // namespace hippo
