#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "hippo/search/algorithm/algorithm_type.hpp"
#include "hippo/search/algorithm/concurrency_limit.hpp"
#include "hippo/search/trial_states.hpp"
#include "hippo/sequence/family.hpp"

namespace hippo {

/// Grid search, random search and TPE: every trial is trained as far as it
/// goes: to its own length, where they have several. Which of them it is lies
/// in the sampler alone.
class no_pruning : public algorithm {
public:
  /// @param lengths of trials, sorted
  /// @param concurrent trials in flight at most; see `concurrency_limit`
  /// @param states says which length each has; null: the last one
  no_pruning(std::uint64_t trials, std::vector<step_t> lengths,
             std::optional<std::uint64_t> concurrent = 0,
             const trial_states* states = nullptr)
    : trials_(trials), lengths_(std::move(lengths)), limit_(concurrent),
      states_(states) {}

  [[nodiscard]] std::uint64_t trials() const override { return trials_; }
  [[nodiscard]] std::vector<step_t> rungs() const override;
  std::vector<action> open(std::uint64_t trials) override;
  std::vector<action> on_result(trial_no trial, step_t at,
                                double value) override;
  std::vector<action> on_failure(trial_no trial) override;
  bool take_back(trial_no trial) override;
  [[nodiscard]] bool wants_capacity() const override {
    return limit_.is_narrow() && (next_ < trials_ || !resting_.empty());
  }
  std::vector<action> widen(std::uint64_t trials) override {
    limit_.widen(trials);
    return fill();
  }
  [[nodiscard]] bool can_grow() const override { return true; }
  void grow(std::uint64_t trials) override { trials_ += trials; }
  std::vector<action> withdraw(const std::vector<trial_no>& withdrawn,
                               std::uint64_t trials) override;
  [[nodiscard]] step_t length_max() const override {
    return lengths_.size() == 1 ? step_limit : 0;
  }
  std::vector<trial_no> lengthen(step_t max) override;
  std::vector<action> go_on() override;
  [[nodiscard]] bool done() const override { return ended_count_ == trials_; }
  /// As if the trials to come had all lengths equally often.
  [[nodiscard]] expected_work to_come() const override;

private:
  std::vector<action> end(trial_no trial);
  std::vector<action> fill();

  std::uint64_t trials_;
  std::vector<step_t> lengths_;
  concurrency_limit limit_;
  const trial_states* states_;
  std::vector<step_t> passed_; ///< where trials ended before they were longer
  std::vector<bool> ended_; ///< of those that are open
  std::vector<bool> finished_;   ///< of these, those trained as far as they go
  std::deque<trial_no> resting_; ///< at a former end, before their turn
  std::uint64_t ended_count_ = 0;
  trial_no next_ = 0; ///< the first that was not looked at for a start
  std::set<trial_no> withdrawn_; ///< of those that were not looked at
};

/// Algorithms that differ in their samplers.
extern const algorithm_type grid_type;
extern const algorithm_type random_type;
extern const algorithm_type tpe_type;
extern const algorithm_type gp_type;
extern const algorithm_type nsga2_type;

} // namespace hippo
