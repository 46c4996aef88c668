#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "hippo/search/algorithm/algorithm.hpp"
#include "hippo/search/option.hpp"
#include "hippo/search/sampler/sampler_type.hpp"
#include "hippo/search/trial_outcomes.hpp"
#include "hippo/search/trial_states.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

class algorithm_reader;

/// The growth of the marks of an algorithm without rungs.
inline constexpr std::uint64_t mark_eta = 3;

/// The first rung at which trials are compared, and how many of them are at
/// least; no trials: an algorithm does not compare them on the way.
struct first_comparison {
  step_t at = 0;
  std::uint64_t trials = 0;
};

/// The options of a study's algorithm, read and checked.
class algorithm_settings {
public:
  virtual ~algorithm_settings() = default;

  std::uint64_t trials = 0; ///< without forks
  step_t first = 1;         ///< the first rung
  step_t max = 1;           ///< the last one
  /// Where trials end that nothing ends before, sorted; the last is `max`.
  std::vector<step_t> lengths{1};
  /// Trials in flight at most; see `concurrency_limit`.
  std::optional<std::uint64_t> concurrent = 0;

  /// Whether trials may end before the last step.
  [[nodiscard]] virtual bool stops_early() const { return first < max; }

  [[nodiscard]] virtual first_comparison compares() const { return {}; }

  /// @param states may be null: then equals go by their numbers; otherwise it
  ///               outlives the algorithm
  /// @param outcomes the measurements of trials, where the study has several
  ///                 metrics or constraints: the values that the algorithm is
  ///                 told mean nothing then; it outlives the algorithm
  [[nodiscard]] virtual std::unique_ptr<algorithm>
  make(const study_spec& study, const trial_states* states,
       const trial_outcomes* outcomes) const = 0;

  /// Makes the study's sampler, or the one that the algorithm has in its place.
  [[nodiscard]] virtual std::unique_ptr<sampler>
  make_sampler(const study_spec& study, const sampler_settings& sampling,
               const sampler_context& context) const;

  [[nodiscard]] trial_course course() const;

private:
  /// Returns the steps whose results a model learns from.
  [[nodiscard]] virtual std::vector<step_t> marks() const;
};

/// The options of an algorithm with rungs at `min * eta^k`.
class rung_settings : public algorithm_settings {
public:
  std::uint64_t eta = 3; ///< of each rung the best 1/eta go on

  [[nodiscard]] std::vector<step_t> rungs() const;
  [[nodiscard]] first_comparison compares() const override;

private:
  [[nodiscard]] std::vector<step_t> marks() const override { return rungs(); }
};

/// An algorithm, as its file declares it.
struct algorithm_type {
  std::string_view name;    ///< in a study file
  std::string_view meaning; ///< a sentence without its full stop
  option_table options{};   ///< in the order of messages
  /// The name of its sampler; of one with the option `sampler`, unless that
  /// says another one.
  std::string_view sampler = "random";
  bool sampler_may_learn = true; ///< where it has the option `sampler`
  bool takes_lengths = false;    ///< trials of several lengths
  bool by_clients = false;       ///< whether clients of a service decide
  /// Algorithms to use where there are several metrics or constraints; empty:
  /// it takes them.
  std::string_view for_several_goals{};
  std::shared_ptr<algorithm_settings> (*read)(algorithm_reader& from) = nullptr;
};

/// The algorithms for several metrics, in place of one that takes one metric.
inline constexpr std::string_view full_training_or_halving =
  "asha, hyperband or sha, or tpe or nsga2, which train each trial in full";

// -- options that several algorithms have -------------------------------------

inline constexpr option eta_option{.name = "eta",
                                   .low = 2,
                                   .fallback = 3.0,
                                   .meaning =
                                     "of n trials on a rung, n / eta continue"};

inline constexpr option min_option{.name = "min",
                                   .low = 1,
                                   .high_text = "`max`",
                                   .fallback = 1.0,
                                   .meaning = "the first rung, in steps"};

inline constexpr option max_option{.name = "max",
                                   .low = 1,
                                   .high_text = "`max_steps`",
                                   .fallback_text = "`max_steps`",
                                   .meaning = "the last rung, in steps"};

/// The option of an algorithm that starts as many trials as keep the trainers
/// busy.
inline constexpr option auto_concurrent_option{
  .name = "max_concurrent",
  .words = {"auto"},
  .fallback = "auto",
  .meaning = "the largest number of trials in flight; 0: no limit; `auto`: as"
             " many as keep the trainers busy"};

/// The option of one that does so only where its sampler learns.
inline constexpr option concurrent_option = [] {
  auto result = auto_concurrent_option;
  result.fallback_text = "`auto` with a sampler that learns, else 0";
  return result;
}();

} // namespace hippo
