#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>
#include <vector>

#include "hippo/search/sampler/learning_sampler.hpp"
#include "hippo/search/sampler/sampler_type.hpp"
#include "hippo/search/split_ranking.hpp"
#include "hippo/search/surrogate/parzen_estimator.hpp"
#include "hippo/search/trial_outcomes.hpp"

namespace hippo {

/// The tree-structured Parzen estimator (TPE; Bergstra et al., *Algorithms for
/// Hyper-Parameter Optimization*, NeurIPS 2011), over results at several steps
/// as BOHB takes them (Falkner et al., arXiv 1807.01774).
///
/// The first trials are random. Once `startup` trials have a result at one
/// step, those at the largest such step are the model: the best ceil(n / 10) of
/// them, 25 at most, against the rest. Results at different steps are never
/// compared. Of `candidates` combinations that are drawn from the density of
/// the good ones the one is taken that is likelier among the good than among
/// the rest by the greatest ratio. The leaves of the space count as
/// independent; one that depends on a choice learns only from the trials that
/// had it.
///
/// Of several metrics, or with constraints, the good ones are those that
/// `select_best` takes: by non-domination rank, and of the last rank by their
/// contribution to the hypervolume (Ozaki et al., *Multiobjective
/// Tree-Structured Parzen Estimator*, JAIR 73, 2022).
///
/// Where trials have several lengths, only what they measure at their end
/// counts, and the model is that of the trial's own length, or of the nearest
/// one that has results enough. The length itself is drawn at random.
///
/// Trials that failed without a result at that step are among the rest, as are
/// NaNs. Of candidates that are equally good the one with the least untrained
/// work is taken, then the first.
/// @complexity for each trial O(n + leaves * (r log r + candidates * r)) with n
///             results in the model and r = min(n, `rest_max`); O(log n) for
///             each result
class tpe_sampler final : public learning_sampler {
public:
  /// The most trials of the rest that are looked at: of more, every k-th as
  /// they came.
  static constexpr std::size_t rest_max = 500;

  /// @param first how far a trial goes at first, for the work it makes
  /// @param work may be null; otherwise it outlives the sampler
  tpe_sampler(search_space space, std::uint64_t seed, std::uint64_t startup,
              std::uint64_t candidates, direction better, step_t first,
              const untrained_work* work,
              const trial_outcomes* outcomes = nullptr);

  void on_result(trial_no trial, step_t at, double value) override;
  void on_failure(trial_no trial) override;
  void on_retry(trial_no trial) override { std::erase(failed_, trial); }
  void on_removal(trial_no trial) override { removed_.insert(trial); }
  void on_return(trial_no trial) override { removed_.erase(trial); }

private:
  struct candidate {
    double score = 0;
    std::uint64_t number = 0;
    combination taken;
  };

  /// The results at one step.
  struct board {
    std::set<standing> ranking;
    std::unordered_set<trial_no> trials;
    std::vector<trial_no> in_order; ///< as they came
  };

  struct densities {
    parzen_estimator good, rest;
  };

  std::optional<proposal> propose(trial_no trial) override;

  /// Returns the length, of those with results enough, that is nearest to a
  /// length by their ratio; 0: none has enough.
  [[nodiscard]] step_t nearest_board(step_t length) const;

  /// Returns decisions of trials by leaf.
  static std::vector<std::vector<std::uint64_t>>
  by_leaf(const std::vector<const combination*>& trials);

  /// Returns candidates drawn by the model, the best first.
  std::vector<candidate> draw_candidates(trial_no trial);

  /// Returns the best of some trials that have a result at the model's step.
  [[nodiscard]] std::vector<trial_no>
  best_of(const std::vector<trial_no>& trials, std::size_t count) const;

  /// The trials of the model: those that are good, and the rest.
  void split_model(std::vector<const combination*>& good,
                   std::vector<const combination*>& rest) const;

  std::uint64_t startup_;
  std::uint64_t candidates_;
  direction better_;
  const trial_outcomes* outcomes_; ///< null: one metric
  std::map<step_t, board> boards_;
  step_t model_step_ = 0; ///< of the model; 0: none yet
  std::vector<trial_no> failed_;
  std::unordered_set<trial_no> removed_; ///< that do not count
};

/// The options of `tpe`.
class tpe_settings final : public sampler_settings {
public:
  std::uint64_t startup = 10;
  std::uint64_t drawn = 24; ///< candidates

  [[nodiscard]] std::uint64_t candidates() const override { return drawn; }
  [[nodiscard]] std::unique_ptr<sampler>
  make(const study_spec& study, const trial_course& course,
       const sampler_context& context) const override;
};

extern const sampler_type tpe_sampler_type;

} // namespace hippo
