#pragma once

#include <cstdint>
#include <vector>

#include "hippo/tune/algorithm.hpp"

namespace hippo {

/// Grid and random search: every trial is trained as far as it goes. Which of
/// the two it is lies in the sampler alone.
class full_training : public algorithm {
public:
  full_training(std::uint64_t trials, step_t max)
    : max_(max), ended_(trials, false) {}

  [[nodiscard]] std::uint64_t trials() const override { return ended_.size(); }
  [[nodiscard]] std::vector<step_t> rungs() const override { return {max_}; }
  std::vector<action> start() override;
  std::vector<action> on_result(trial_no trial, step_t at,
                                double value) override;
  std::vector<action> on_failure(trial_no trial) override;
  [[nodiscard]] bool done() const override {
    return ended_count_ == ended_.size();
  }

private:
  void end(trial_no trial);

  step_t max_;
  std::vector<bool> ended_;
  std::uint64_t ended_count_ = 0;
};

} // namespace hippo
