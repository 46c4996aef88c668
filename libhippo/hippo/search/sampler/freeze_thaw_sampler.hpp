#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "hippo/search/sampler/gp_sampler.hpp"

namespace hippo {

/// The process of `gp_sampler` over the courses of all trials, which says also
/// which trial to train next (after Swersky, Snoek and Adams, *Freeze-Thaw
/// Bayesian Optimization*, arXiv 1406.3896; the kernel over steps is that of
/// Wistuba et al., *DyHPO*, NeurIPS 2022).
///
/// Of the 12 trials at rest of which most is expected, and a new one, that is
/// next whose logarithm of the expected improvement at the last step on the
/// best that any is expected to come to, less that of the steps that are left
/// to train, is the greatest. The new one is what `gp_sampler` proposes; a
/// proposal is looked for anew when it was taken, and after 6 decisions.
///
/// Without new trials, and with one trained to the end, none is worth its steps
/// if the best is expected to gain less than a hundredth of the results'
/// deviation.
///
/// Which trial is next is not stored: it must be the same on every CPU, so
/// everything that it depends on is computed by operations that are.
/// @complexity for each decision O(n^3 + 300 n^2), n <= 300 as of `gp_sampler`
class freeze_thaw_sampler final : public gp_sampler {
public:
  using gp_sampler::gp_sampler;

  std::optional<trial_no> next(const std::vector<placed_trial>& resting,
                               const std::vector<placed_trial>& going,
                               std::optional<trial_no> fresh) override;

private:
  /// Trials to choose from, in columns.
  struct contest {
    std::vector<trial_no> trials;
    std::vector<step_t> work; ///< steps that are left to train
    gp_points points;         ///< of each, at the last step
  };

  using gp_sampler::propose;
  std::optional<proposal> propose(trial_no trial) override;
  void on_drawn(trial_no trial) override;
  [[nodiscard]] gp_points pending_points() override;

  /// Proposes the values of a new trial, or those of a decision before.
  void foresee(trial_no fresh, const knowledge& from);
  [[nodiscard]] contest gather(const std::vector<placed_trial>& resting,
                               std::optional<trial_no> fresh,
                               const knowledge& from);
  [[nodiscard]] bool has_ended(const knowledge& from) const;

  std::vector<placed_trial> going_;       ///< at the last decision
  std::map<trial_no, proposal> foreseen_; ///< of trials that are not drawn
  std::uint64_t age_ = 0; ///< of the last of these, in decisions
};

} // namespace hippo
