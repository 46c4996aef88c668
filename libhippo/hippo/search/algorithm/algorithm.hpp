#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "hippo/base/ids.hpp"
#include "hippo/base/types.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// The algorithm wants trial `trial` trained up to state `to`; it is
/// notified of every measurement on the way.
struct advance {
  trial_no trial = 0;
  step_t to = 0;
  friend bool operator==(const advance&, const advance&) = default;
};

/// Trial `trial`, a new one, is trial `from` up to state `at` and goes on from
/// there with other values, which the study's sampler decides. Nothing is
/// copied: the two have their first `at` steps in common.
struct fork {
  trial_no trial = 0;
  trial_no from = 0;
  step_t at = 0;
  friend bool operator==(const fork&, const fork&) = default;
};

/// Trial `trial`, a new one, gets values that the study's sampler makes of
/// others': those of `target`, some of them replaced by those of `parents[0]`,
/// moved by what lies between `parents[2]` and `parents[1]`. It shares with
/// others what their values happen to have in common, and nothing else.
struct cross {
  trial_no trial = 0;
  trial_no target = 0;
  std::vector<trial_no> parents; ///< three
  friend bool operator==(const cross&, const cross&) = default;
};

/// The algorithm will not train this trial further; it keeps what it has. It
/// may be on its way: then what it was asked for is no longer wanted, and what
/// it still measures is not heeded.
struct prune {
  trial_no trial = 0;
  friend bool operator==(const prune&, const prune&) = default;
};

using action = std::variant<advance, fork, cross, prune>;

/// Steps that a study would still have to train, beyond what its trials have
/// been asked to do already. Samplers may prefer the cheaper of choices that
/// are equally good.
///
/// It counts the study's own trials only: a decision must not depend on what
/// others happen to train at the same time.
class untrained_work {
public:
  virtual ~untrained_work() = default;

  /// Returns the steps on the way of `trial` to state `to`.
  [[nodiscard]] virtual step_t of(trial_no trial, step_t to) const = 0;

  /// Returns the steps on the way of a trial of these values to state `to`.
  [[nodiscard]] virtual step_t of(const trial_parameters& values,
                                  step_t to) const = 0;
};

class trial_states;
class trial_outcomes;

/// What an algorithm will likely ask for yet, beyond what it has.
struct expected_work {
  std::uint64_t steps = 0; ///< of all trials, added up
  step_t longest = 0;      ///< of these, those that come one after the other
  friend bool operator==(const expected_work&, const expected_work&) = default;
};

/// A study algorithm: results in, actions out. A pure state machine: no clock,
/// no randomness but what its seed gives, so that the same results in the same
/// order give the same actions. It knows nothing of sharing but what it asks of
/// `trial_states`: which of its trials are one up to a rung.
///
/// Which values a trial has is not its matter: see `sampler`.
class algorithm {
public:
  virtual ~algorithm() = default;

  /// How many trials there will be, numbered from 0. Forks add to them. Those
  /// that are started are so in the order of their numbers.
  [[nodiscard]] virtual std::uint64_t trials() const = 0;

  /// The steps at which a trial may be paused or forked, sorted; the last is
  /// how far any trial goes. Measured for every trial that reaches them.
  [[nodiscard]] virtual std::vector<step_t> rungs() const = 0;

  /// The trials below `trials` have come into being, and may be started.
  /// Called first, and whenever there are more; `trials()` of them in the end.
  /// The calls below are about such trials only.
  virtual std::vector<action> open(std::uint64_t trials) = 0;

  /// Trial `trial` measured `value` at state `at`. Comes in the order of steps
  /// for one trial; also for steps that are not rungs, and after a fork for
  /// those that the fork has in common with the trial it comes from. A trial is
  /// at rest when it has reached what its last `advance` asked for.
  virtual std::vector<action> on_result(trial_no trial, step_t at,
                                        double value) = 0;

  /// Trial `trial` failed or was cancelled; it gives no further results.
  virtual std::vector<action> on_failure(trial_no trial) = 0;

  /// Trial `trial`, which has failed, is tried again: it is on its way once
  /// more to where its last `advance` sent it.
  /// @returns whether it is as if it had not failed; false: what was decided
  ///          since leaves no place for it, and its results are not heeded
  /// REQUIRES: it failed on its way.
  virtual bool take_back(trial_no trial) = 0;

  /// Whether it would ask for more if more trials might be in flight.
  [[nodiscard]] virtual bool wants_capacity() const { return false; }

  /// So many trainers have nothing to do: so many trials more may be in flight.
  virtual std::vector<action> widen(std::uint64_t /*trials*/) { return {}; }

  /// Whether nothing will be asked for any more. True in the end, whatever
  /// fails.
  [[nodiscard]] virtual bool done() const = 0;

  /// Estimates what is still to come if nothing fails.
  [[nodiscard]] virtual expected_work to_come() const { return {}; }
};

/// Makes the algorithm that a study names. The study has been checked by
/// `check_algorithm`.
/// @param states may be null: then equals go by their numbers; otherwise it
///               outlives the algorithm
/// @param outcomes what trials have measured, where the study has several
///                 metrics or constraints: the values that it is told mean
///                 nothing then; it outlives the algorithm
std::unique_ptr<algorithm>
make_algorithm(const study_spec& study, const trial_states* states = nullptr,
               const trial_outcomes* outcomes = nullptr);

/// Checks a study's algorithm and its options (name, types, ranges).
/// @param has_clients whether clients can decide for a study (`client`)
/// @returns what is wrong. Also says, as warnings, what is odd but harmless.
struct algorithm_check {
  struct finding {
    std::string path; ///< as in `study_spec::marks`: `algorithm.asha.eta`
    std::string message;
  };
  std::vector<finding> errors;
  std::vector<finding> warnings;
};
algorithm_check check_algorithm(const study_spec& study,
                                bool has_clients = false);

} // namespace hippo
