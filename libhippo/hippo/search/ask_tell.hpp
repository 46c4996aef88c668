#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/base/ids.hpp"
#include "hippo/model/goals.hpp"
#include "hippo/search/accepted_study.hpp"
#include "hippo/search/pareto/front.hpp"
#include "hippo/search/tuner.hpp"
#include "hippo/yaml/diagnostic.hpp"

namespace hippo {

/// A part of a trial: the steps from one state to its next measurement.
struct trial_work {
  trial_no trial = 0;
  step_t from = 0;
  step_t to = 0;
  /// The trial whose state at `from` is the one to go on from: itself, or
  /// another one that has been the same up to there. Nothing at step 0.
  std::optional<trial_no> start;
  friend bool operator==(const trial_work&, const trial_work&) = default;
};

/// Runs a study for a caller who trains its trials himself: `ask` says what to
/// train next, `tell` takes what that measured. Any number of works may be out
/// at a time. A trial is asked for from measurement to measurement as long as
/// its algorithm wants it to go on. Trials that are on their way go first, in
/// the order in which they were told; then what the algorithm has asked for, in
/// that order.
///
/// A state is measured once: a trial whose values have been those of another
/// one up to a measurement gets it too, and is asked for from there on. If that
/// measurement is out, the trial waits for it.
///
/// The same calls give the same answers. Holds no clock, no thread and no file.
/// @invariant a trial is out at most once
class ask_tell {
public:
  /// A measurement of a trial.
  struct measurement {
    trial_no trial = 0;
    step_t step = 0;
    metrics values;
  };

  /// Says what a study file has that this class cannot do: all but its
  /// algorithm, its budgets of trials and steps, its goals and its values is a
  /// matter of the caller.
  static std::vector<diagnostic> refusals_of(const study_spec& study);

  /// @param defaults as of the tuner
  /// REQUIRES: nothing of the study is refused.
  ask_tell(const accepted_study& study, trial_defaults defaults);

  /// Returns the next work; nothing if there is none before another value is
  /// told, or if the study has ended.
  std::optional<trial_work> ask();

  /// Takes what a work has measured. Once the study has ended, it counts for
  /// `best` alone.
  /// @returns nothing, or why that cannot be; then nothing has changed
  std::optional<error> tell(trial_no trial, step_t to, const metrics& values);

  /// Ends a trial whose work has failed.
  std::optional<error> fail(trial_no trial, step_t to);

  /// Lets `ask` return again what is out: those who had it are gone.
  void give_again();

  /// Whether the next work of `ask` is one that was out.
  [[nodiscard]] bool is_given_again() const { return !again_.empty(); }

  /// Why the study has ended, empty: it has not.
  [[nodiscard]] std::string end() const;

  /// The best measurement of trials that have not failed, of equal ones that of
  /// the lowest trial and step; of several metrics the front. None that breaks
  /// a constraint is there.
  [[nodiscard]] std::vector<measurement> best() const;

  /// The values of a trial that was asked for.
  [[nodiscard]] trial_parameters parameters(trial_no trial) const {
    return tuner_.parameters(trial);
  }

  /// Its values with all hyper-parameters.
  [[nodiscard]] std::vector<segment> segments(trial_no trial) const {
    return tuner_.segments(trial);
  }

  /// Asserts what is said above. Does nothing in release builds.
  void check_invariants() const;

private:
  /// A state that trials have in common, by its step and the hash of the values
  /// before it.
  using state = std::pair<step_t, std::uint64_t>;

  struct entry {
    std::map<step_t, metrics> results;
    step_t goal = 0;        ///< how far the algorithm wants it
    bool is_queued = false; ///< in `going_`, `todo_` or `waiting_`
    bool has_ended = false; ///< failed, or its algorithm has done with it
    bool has_failed = false;

    [[nodiscard]] step_t reached() const {
      return results.empty() ? 0 : results.rbegin()->first;
    }
    [[nodiscard]] bool goes_on() const {
      return !has_ended && reached() < goal;
    }
  };

  /// A work that is out.
  struct errand {
    trial_work work;
    state to;
  };

  [[nodiscard]] std::optional<error> refusal_of(trial_no trial,
                                                step_t to) const;
  [[nodiscard]] state next_state(trial_no trial) const;
  std::optional<trial_no> next_trial();
  /// Lets a trial go on, as far as others have been there.
  /// @returns its work; nothing if it has none, or waits
  std::optional<trial_work> begin(trial_no trial);
  void queue(trial_no trial, std::deque<trial_no>& list);
  /// A trial has a measurement, its own or another one's.
  void hear(trial_no trial, step_t at, const metrics& values);
  void add_to_front(trial_no trial, step_t at);
  void take(const turn& turn);
  /// Takes back a work, and lets those go on that waited for it.
  void take_back(trial_no trial);

  goals goals_;
  tuner tuner_;
  std::map<trial_no, entry> trials_; ///< that were asked for
  std::deque<trial_no> going_; ///< that are on their way, the next one first
  std::deque<trial_no> todo_;  ///< as the algorithm has asked for them
  std::map<trial_no, errand> out_;
  std::deque<trial_work> again_; ///< of these, to be returned once more
  std::map<state, std::vector<trial_no>> waiting_; ///< by what is out
  std::map<state, trial_no> known_;                ///< measured states, by whom
  front front_;
};

} // namespace hippo
