#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "hippo/search/algorithm/algorithm_type.hpp"
#include "hippo/search/algorithm/cohort.hpp"

namespace hippo {

/// Population based training (PBT, arXiv 1711.09846), generation by generation:
/// each `interval` steps the worst `replaced` members are pruned, and a new
/// trial takes the place of each that goes on from one of the best `replaced`:
/// a fork, of which nothing is copied. Which one is drawn from `seed` and the
/// new trial's number.
///
/// A generation ends when each living member has reported or failed, so what is
/// decided does not depend on who was faster. Failed members count among the
/// worst: at the end of the generation they are replaced likewise, all of them,
/// so that the population keeps its size; it dies only when all have failed.
/// NaN ranks last and nothing is forked from it; equal values rank by the
/// trial's number.
/// @complexity O(n log n) when a generation of n ends, else O(1); O(n) for a
///             failure
class pbt : public algorithm {
public:
  /// REQUIRES: `size > 0`, `0 < interval` and `2 * replaced <= size`.
  pbt(std::uint64_t size, step_t max, step_t interval, std::uint64_t replaced,
      direction better, std::uint64_t seed);

  [[nodiscard]] std::uint64_t trials() const override { return trials_.size(); }
  [[nodiscard]] std::vector<step_t> rungs() const override;
  std::vector<action> open(std::uint64_t trials) override;
  std::vector<action> on_result(trial_no trial, step_t at,
                                double value) override;
  std::vector<action> on_failure(trial_no trial) override;
  bool take_back(trial_no trial) override;
  [[nodiscard]] bool done() const override { return done_; }
  [[nodiscard]] expected_work to_come() const override {
    const auto rest = done_ ? 0 : max_ - end_;
    return {size_ * rest + (size_ - std::min(size_, trials_.opened())) * end_,
            rest};
  }

private:
  /// Ends the present generation if nobody is awaited, and begins the next.
  std::vector<action> proceed();

  /// Adds a trial that goes on from one of `parents`.
  void fork_from(const std::vector<trial_no>& parents,
                 std::vector<action>& out);

  std::uint64_t size_;
  step_t max_;
  step_t interval_;
  std::uint64_t replaced_;
  std::uint64_t seed_;
  cohort trials_;
  step_t begin_ = 0; ///< of the present generation
  step_t end_;       ///< of the present generation
  bool done_ = false;
  /// The ends of the generations in which trials have failed.
  std::map<trial_no, step_t> failed_in_;
};

/// The options of `pbt`.
class pbt_settings final : public algorithm_settings {
public:
  step_t interval = 1;        ///< steps between two rungs
  std::uint64_t replaced = 0; ///< members at the end of a generation
  /// The probability that a value is drawn anew.
  double resample = resample_default;

  [[nodiscard]] std::unique_ptr<algorithm>
  make(const study_spec& study, const trial_states* states,
       const trial_outcomes* outcomes) const override;
  /// Makes the first trials as `sampling` does, and then perturbs values.
  [[nodiscard]] std::unique_ptr<sampler>
  make_sampler(const study_spec& study, const sampler_settings& sampling,
               const sampler_context& context) const override;
};

extern const algorithm_type pbt_type;

} // namespace hippo
