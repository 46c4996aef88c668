#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "hippo/search/sampler/learning_sampler.hpp"
#include "hippo/search/sampler/sampler_type.hpp"
#include "hippo/search/split_ranking.hpp"
#include "hippo/search/surrogate/parzen_estimator.hpp"
#include "hippo/search/trial_outcomes.hpp"

namespace hippo {

/// The tree-structured Parzen estimator (TPE; Bergstra et al., *Algorithms for
/// Hyper-Parameter Optimization*, NeurIPS 2011), over results at several steps.
///
/// The first trials are random, until `startup` of them have a result. A result
/// is the first measurement at or after a mark. Trials that have come to a
/// higher mark are better than others, and those that have come as far are in
/// the order of their results there, as in Optuna's TPE: an algorithm lets the
/// better ones go on. Marks at which this order is another one than at the next
/// mark do not count, nor do trials that have come no further (Spearman's
/// correlation over the trials that have come to both). The best ceil(n / 10)
/// trials, 25 at most, are compared with the rest. Of `candidates` combinations
/// that are drawn from the density of the good ones the one is taken that is
/// likelier among the good than among the rest by the greatest ratio. The
/// leaves of the space count as independent; one that depends on a choice
/// learns only from the trials that had it.
///
/// Of several metrics, or with constraints, the good ones of those that have
/// come as far are those that `select_best` takes: by non-domination rank, and
/// of the last rank by their contribution to the hypervolume (Ozaki et al.,
/// *Multiobjective Tree-Structured Parzen Estimator*, JAIR 73, 2022).
///
/// Where trials have several lengths, only what they measure at their end
/// counts, and the model is that of the trial's own length, or of the nearest
/// one that has results enough. The length itself is drawn at random.
///
/// Trials that failed or measured NaN are among the rest. Of candidates that
/// are equally good the one with the least untrained work is taken, then the
/// first.
/// @complexity for each trial O(n + m log m + leaves * (r log r + candidates *
///             r)) with n trials, of which m have come to the second mark, and
///             r = min(n, `rest_max`); O(log n) for each result
class tpe_sampler final : public learning_sampler {
public:
  /// The most trials of the rest that are looked at: of more, every k-th as
  /// they came.
  static constexpr std::size_t rest_max = 500;

  /// @param first how far a trial goes at first, for the work it makes
  /// @param marks the steps whose results are learned from, sorted
  /// @param work may be null; otherwise it outlives the sampler
  tpe_sampler(search_space space, std::uint64_t seed, std::uint64_t startup,
              std::uint64_t candidates, direction better, step_t first,
              std::vector<step_t> marks, const untrained_work* work,
              const trial_outcomes* outcomes = nullptr);

  void lengthen(const search_space& space,
                const std::vector<step_t>& marks) override;
  void on_result(trial_no trial, step_t at, double value) override;
  void on_failure(trial_no trial) override;
  void on_retry(trial_no trial) override { failed_.erase(trial); }
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
    std::set<standing> farthest; ///< of trials that have come no further
    std::unordered_map<trial_no, standing> by_trial;
  };

  /// The last result of a trial.
  struct progress {
    std::size_t marks = 0; ///< that it has passed
    step_t at = 0;
  };

  /// The trials of the model.
  struct split {
    std::vector<const combination*> good, rest;
  };

  struct densities {
    parzen_estimator good, rest;
  };

  std::optional<proposal> propose(trial_no trial) override;

  /// Returns the length, of those with results enough, that is nearest to a
  /// length by their ratio; 0: none has enough.
  [[nodiscard]] step_t nearest_board(step_t length) const;

  /// Returns Spearman's correlation of the results at two steps, over trials
  /// that have both; 1 if these are too few.
  [[nodiscard]] static double kept_order(const board& before,
                                         const board& after);

  /// Returns the steps whose results count for a trial, the last one first.
  [[nodiscard]] std::vector<step_t> model_steps(trial_no trial) const;

  /// Returns decisions of trials by leaf.
  static std::vector<std::vector<std::uint64_t>>
  by_leaf(const std::vector<const combination*>& trials);

  /// Returns candidates drawn by the model, the best first.
  std::vector<candidate> draw_candidates(trial_no trial, const split& model);

  /// Returns the best trials, `count` at most, of those that have come to a
  /// step and no further, and have neither failed nor measured NaN.
  [[nodiscard]] std::vector<trial_no> best_at(step_t at,
                                              std::size_t count) const;

  /// Returns the good trials and the rest by the results at some steps, the
  /// last one first; nothing if too few have a result.
  [[nodiscard]] std::optional<split>
  split_trials(const std::vector<step_t>& steps) const;

  std::uint64_t startup_;
  std::uint64_t candidates_;
  direction better_;
  std::vector<step_t> marks_;
  const trial_outcomes* outcomes_; ///< null: one metric
  std::map<step_t, board> boards_;
  std::unordered_map<trial_no, progress> reached_;
  std::vector<trial_no> in_order_; ///< of their first results
  std::set<trial_no> failed_;
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
