#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "hippo/search/sampler/learning_sampler.hpp"
#include "hippo/search/sampler/sampler_type.hpp"
#include "hippo/search/trial_outcomes.hpp"

namespace hippo {

/// NSGA-II (Deb et al., *A Fast and Elitist Multiobjective Genetic Algorithm*,
/// IEEE Transactions on Evolutionary Computation 6, 2002), without generations:
/// nobody waits for the last trial of one.
///
/// The first trials are random. Once `population` trials have a result at one
/// step, the best of those at the largest such step, `population` of them, are
/// the parents: by constraint-domination, rank and crowding distance. A trial
/// is made of two, each the better of two that are drawn. What both have of a
/// continuous range is crossed (SBX, in nine of ten trials, each range with a
/// half) and mutated (polynomial); of points and alternatives either has its
/// own, or it is drawn anew. Each is mutated with one in so many as there are.
/// The indices of both distributions are 20, as in the paper.
///
/// Combinations that were tried are made anew, some times; then a random one is
/// taken.
/// @complexity O(n log n) for each trial of two metrics, n results at its step;
///             O(n^2) at worst of more
class nsga2_sampler final : public learning_sampler {
public:
  /// @param population 2 at least
  /// @param first how far a trial goes at first, for the work it makes
  /// @param work may be null; otherwise it outlives the sampler
  /// @param outcomes outlives the sampler; has what is told before it is
  nsga2_sampler(search_space space, std::uint64_t seed,
                std::uint64_t population, step_t first,
                const untrained_work* work, const trial_outcomes& outcomes);

  void on_result(trial_no trial, step_t at, double value) override;

private:
  std::optional<proposal> propose(trial_no trial) override;
  /// Makes a combination of two others. @param attempt others make other ones
  combination offspring(trial_no trial, std::uint64_t attempt,
                        const combination& left, const combination& right);

  std::uint64_t population_;
  const trial_outcomes& outcomes_;
  std::map<step_t, std::set<trial_no>> boards_; ///< who has a result where
  step_t model_step_ = 0; ///< of the parents; 0: none yet
};

/// The options of `nsga2`.
class nsga2_settings final : public sampler_settings {
public:
  std::uint64_t population = 20; ///< the best so far

  /// REQUIRES: there are outcomes
  [[nodiscard]] std::unique_ptr<sampler>
  make(const study_spec& study, const trial_course& course,
       const sampler_context& context) const override;
};

extern const sampler_type nsga2_sampler_type;

} // namespace hippo
