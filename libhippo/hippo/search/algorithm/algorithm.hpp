#pragma once

#include <cstdint>
#include <vector>

#include "hippo/base/ids.hpp"
#include "hippo/base/types.hpp"
#include "hippo/search/action.hpp"

namespace hippo {

/// An estimate of the requests that an algorithm has not made yet.
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
  /// Called first, and whenever there are more; `trials()` of them in the end,
  /// and further ones after `grow`.
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

  /// Raises the limit of trials in flight by the number of idle trainers.
  virtual std::vector<action> widen(std::uint64_t /*trials*/) { return {}; }

  /// Whether `grow` may be called: an algorithm whose number of trials follows
  /// from its rungs or its population has no place for more.
  [[nodiscard]] virtual bool can_grow() const { return false; }

  /// Raises `trials()`, also of an algorithm that is done: it then is no more.
  /// REQUIRES: `can_grow()`, and `trials > 0`
  virtual void grow(std::uint64_t /*trials*/) {}

  /// Trials `withdrawn`, which have got no state, are none of the study's any
  /// more, and `trials()` is another number, in which they count. An algorithm
  /// that is done may be so no more.
  /// REQUIRES: `can_grow()`; those below `trials` are all that are open
  virtual std::vector<action>
  withdraw(const std::vector<trial_no>& /*withdrawn*/,
           std::uint64_t /*trials*/) {
    return {};
  }

  /// Returns how far trials may be made to go by `lengthen`; 0: no farther than
  /// they do. An algorithm that plans by its last rung takes no other one.
  [[nodiscard]] virtual step_t length_max() const { return 0; }

  /// Lets trials go on to `max`, which is the last rung then: all rungs stay,
  /// and there are further ones. An algorithm that is done may be so no more.
  /// @returns the trials that had ended at the last rung, and are at rest there
  ///          again, in order
  /// REQUIRES: `max` is beyond the last rung, and at most `length_max()`
  virtual std::vector<trial_no> lengthen(step_t /*max*/) { return {}; }

  /// Goes on after `lengthen`, once the sampler and `trial_states` know of the
  /// longer trials.
  virtual std::vector<action> go_on() { return {}; }

  /// Whether nothing will be asked for any more. True in the end, whatever
  /// fails.
  [[nodiscard]] virtual bool done() const = 0;

  /// Estimates what is still to come if nothing fails.
  [[nodiscard]] virtual expected_work to_come() const { return {}; }
};

} // namespace hippo
