#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "hippo/core/error.hpp"
#include "hippo/core/types.hpp"
#include "hippo/space/study.hpp"
#include "hippo/tune/permutation.hpp"

namespace hippo {

/// A trial's number within its study, counted from 0 in order of creation.
using trial_no = std::uint64_t;

/// The algorithm wants trial `trial` trained up to state `to`; it hears of
/// every measurement on the way.
struct advance {
  trial_no trial = 0;
  step_t to = 0;
  friend bool operator==(const advance&, const advance&) = default;
};

/// The algorithm will not train this trial further; it keeps what it has.
struct prune {
  trial_no trial = 0;
  friend bool operator==(const prune&, const prune&) = default;
};

using action = std::variant<advance, prune>;

/// A study algorithm: results in, actions out. A pure state machine: no clock,
/// no randomness but what its seed gives, so that the same results in the same
/// order give the same actions. It knows nothing of sharing.
///
/// Which values a trial has is not its matter: trial i is combination i of the
/// study's sampler (see `sampler`).
class algorithm {
public:
  virtual ~algorithm() = default;

  /// How many trials there will ever be; they exist from the start.
  [[nodiscard]] virtual std::uint64_t trials() const = 0;

  /// The steps at which a trial may be paused, sorted; the last is how far any
  /// trial goes. Measured for every trial that reaches them.
  [[nodiscard]] virtual std::vector<step_t> rungs() const = 0;

  /// Called once, first.
  virtual std::vector<action> start() = 0;

  /// Trial `trial` measured `value` at state `at`. Comes in the order of steps
  /// for one trial; also for steps that are not rungs. A trial is at rest when
  /// it has reached what its last `advance` asked for.
  virtual std::vector<action> on_result(trial_no trial, step_t at,
                                        double value) = 0;

  /// Trial `trial` failed or was cancelled; it gives no further results.
  virtual std::vector<action> on_failure(trial_no trial) = 0;

  /// Whether nothing will be asked for any more. True in the end, whatever
  /// fails.
  [[nodiscard]] virtual bool done() const = 0;
};

/// Makes the algorithm that a study names. The study has been checked by
/// `check_algorithm`.
std::unique_ptr<algorithm> make_algorithm(const study_spec& study);

/// Checks a study's algorithm and its options (name, types, ranges).
/// @returns what is wrong. Also says, as warnings, what is odd but harmless.
struct algorithm_check {
  struct finding {
    std::string path; ///< as in `study_spec::marks`: `algorithm.asha.eta`
    std::string message;
  };
  std::vector<finding> errors;
  std::vector<finding> warnings;
};
algorithm_check check_algorithm(const study_spec& study);

/// Chooses the values of a study's trials: `grid` counts through the space,
/// `random` draws without replacement from a finite space (a pseudo-random
/// permutation of its combinations) and independently from a continuous one.
/// Immutable and thread-safe.
class sampler {
public:
  /// REQUIRES: the study has been checked by `check_algorithm`.
  explicit sampler(const study_spec& study);

  /// Returns the parameters of trial `trial`, a function of the study's space,
  /// seed and way of sampling alone: a study with a larger budget goes on where
  /// this one ends.
  /// REQUIRES: `trial` is below the number of trials of the study's algorithm.
  [[nodiscard]] trial_parameters parameters(trial_no trial) const;

private:
  search_space space_;
  std::uint64_t seed_ = 0;
  bool shuffled_ = false; ///< else it counts through
  std::optional<permutation> order_; ///< set if shuffled and finite
};

} // namespace hippo
