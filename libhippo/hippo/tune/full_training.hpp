#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hippo/tune/algorithm.hpp"
#include "hippo/tune/flight.hpp"

namespace hippo {

/// Grid search, random search and TPE: every trial is trained as far as it
/// goes. Which of them it is lies in the sampler alone.
class full_training : public algorithm {
public:
  /// @param concurrent trials in flight at most; see `flight`
  full_training(std::uint64_t trials, step_t max,
                std::optional<std::uint64_t> concurrent = 0)
    : trials_(trials), max_(max), flight_(concurrent) {}

  [[nodiscard]] std::uint64_t trials() const override { return trials_; }
  [[nodiscard]] std::vector<step_t> rungs() const override { return {max_}; }
  std::vector<action> open(std::uint64_t trials) override;
  std::vector<action> on_result(trial_no trial, step_t at,
                                double value) override;
  std::vector<action> on_failure(trial_no trial) override;
  bool take_back(trial_no trial) override;
  [[nodiscard]] bool wants_capacity() const override {
    return flight_.is_narrow() && next_ < trials_;
  }
  std::vector<action> widen(std::uint64_t trials) override {
    flight_.widen(trials);
    return fill();
  }
  [[nodiscard]] bool done() const override {
    return ended_count_ == trials_;
  }
  [[nodiscard]] expected_work to_come() const override {
    return {(trials_ - next_) * max_, next_ < trials_ ? max_ : 0};
  }

private:
  std::vector<action> end(trial_no trial);
  std::vector<action> fill();

  std::uint64_t trials_;
  step_t max_;
  flight flight_;
  std::vector<bool> ended_; ///< of those that are open
  std::uint64_t ended_count_ = 0;
  trial_no next_ = 0; ///< the first that was not looked at for a start
};

} // namespace hippo
