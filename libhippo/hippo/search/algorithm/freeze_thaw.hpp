#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "hippo/search/algorithm/asha.hpp"

namespace hippo {

/// Freeze-thaw Bayesian optimisation (Swersky, Snoek and Adams, arXiv
/// 1406.3896): every trial rests ("is frozen") on each rung, and a free slot
/// goes to that trial at rest, or to that new one, of which a model of all
/// results expects most for its steps: see `freeze_thaw_sampler`.
///
/// Without a model new trials start first, then those at rest in the order of
/// their numbers. It is done once all trials have started and none at rest is
/// worth its steps.
class freeze_thaw final : public asha {
public:
  /// @param states has the model; null: there is none. Otherwise it outlives
  ///               this
  /// REQUIRES: as of `asha`
  freeze_thaw(std::uint64_t trials, std::vector<step_t> rungs, direction better,
              std::optional<std::uint64_t> concurrent,
              const trial_states* states = nullptr);

private:
  void on_rung(trial_no trial, std::vector<action>&) override { rest(trial); }
  void on_lost(trial_no trial, trial_phase before) override;
  void on_taken_back(trial_no trial) override;
  void on_longer(const std::vector<trial_no>& finished) override;
  void on_done() override { resting_.clear(); }
  bool resume(std::vector<action>& out) override;
  bool resume_last(std::vector<action>&) override { return false; }

  void rest(trial_no trial) { resting_[trial] = rung_step(state(trial).rung); }
  /// Trials that were at rest, and are on their way.
  [[nodiscard]] std::vector<placed_trial> going();

  const trial_states* states_;
  std::map<trial_no, step_t> resting_;
  std::set<trial_no> thawed_; ///< were at rest; some have arrived since
};

/// The options of `freeze-thaw`.
class freeze_thaw_settings final : public rung_settings {
public:
  [[nodiscard]] std::unique_ptr<algorithm>
  make(const study_spec& study, const trial_states* states,
       const trial_outcomes* outcomes) const override;
  /// Makes the sampler that has the model.
  [[nodiscard]] std::unique_ptr<sampler>
  make_sampler(const study_spec& study, const sampler_settings& sampling,
               const sampler_context& context) const override;
};

extern const algorithm_type freeze_thaw_type;

} // namespace hippo
