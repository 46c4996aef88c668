#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hippo/search/algorithm/algorithm.hpp"

namespace hippo {

/// The most trials that a study may have.
inline constexpr std::uint64_t max_trials = 10'000'000;

/// The most rungs of an algorithm that has one at every so many steps.
inline constexpr std::uint64_t max_interval_rungs = 10'000;

/// The algorithms, as a study file names them. `bohb` and `boss` are
/// `hyperband` with other defaults.
enum class algorithm_kind {
  grid,
  random,
  tpe,
  gp,
  nsga2,
  sha,
  asha,
  hyperband,
  dehb,
  median,
  pbt,
  client,
};

/// Who goes on within a bracket: the best 1/eta, or as `sub_sampling` says.
enum class bracket_rule { halving, sub_sampling };

/// Where the values of trials come from.
enum class sampling_kind { random, grid, tpe, gp, nsga2 };

/// Whether a sampler of that kind learns from results.
inline bool learns(sampling_kind x) {
  return x == sampling_kind::tpe || x == sampling_kind::gp
         || x == sampling_kind::nsga2;
}

/// What untrained work is to a sampler that learns.
enum class sharing_preference {
  off,
  ties,  ///< of equally good candidates the one with the least is taken
  price, ///< it is weighed against what is expected (`gp` only)
};

/// The most leaves of a space that `gp` takes.
inline constexpr std::uint64_t gp_leaves_max = 200;

/// What a study's algorithm is to do, every option with its meaning.
struct tune_settings {
  algorithm_kind kind = algorithm_kind::random;
  sampling_kind sampling = sampling_kind::random;
  std::uint64_t trials = 0;     ///< without forks
  direction better = direction::maximize;
  std::uint64_t eta = 3;        ///< of each rung the best 1/eta go on
  step_t min = 1;               ///< the first rung
  step_t max = 1;               ///< the last one
  /// Where trials end that nothing ends before, sorted; the last is `max`.
  std::vector<step_t> lengths{1};
  bool may_resume = true;       ///< ASHA by promotion; else by stopping
  /// Trials in flight at most; see `concurrency_limit`.
  std::optional<std::uint64_t> concurrent = 0;
  sharing_preference prefer_shared = sharing_preference::ties;

  // Of `hyperband`:
  std::uint64_t brackets = 1; ///< of a round, from s_max down
  bool in_turn = false;       ///< one bracket after the other
  bracket_rule rule = bracket_rule::halving;

  // Of `dehb`:
  bool promotes_always = true; ///< else in the first round of brackets only

  // Of `median`:
  step_t grace = 1;             ///< nothing is pruned before
  std::uint64_t min_others = 3; ///< that the median is taken of

  // Of `pbt`; of `client` only the first:
  step_t interval = 1;        ///< steps between two rungs
  std::uint64_t replaced = 0; ///< members at the end of a generation
  /// The probability that a value is drawn anew.
  double resample = resample_default;

  // Of the samplers `tpe` and `gp`:
  std::uint64_t startup = 10;    ///< results before it learns from them
  std::uint64_t candidates = 24; ///< for each trial (`tpe` only)

  // Of the sampler `nsga2`:
  std::uint64_t parents = 20; ///< its population: the best so far
};

/// The most values that are drawn and judged before a trial gets its own:
/// candidates times choices and ranges. It takes some tenths of a second.
inline constexpr std::uint64_t draws_per_trial_max = 100'000;

/// How many that are: what a suggestion costs, in time and in memory.
std::uint64_t draws_per_trial(const tune_settings& x, std::uint64_t leaves);

/// The same of what a study does when something comes: a client asks for one
/// trial, and a result is seldom followed by more than some. Nothing: the
/// sampler fits a model first, which takes long.
std::optional<std::uint64_t> draws_per_event(const study_spec& study);

/// Reads what a study says of its algorithm, and what its space and budget say
/// of the number of trials.
/// @param found if given, takes what is wrong or odd; the result means nothing
///              if anything is wrong
tune_settings read_settings(const study_spec& study,
                            algorithm_check* found = nullptr);

} // namespace hippo
