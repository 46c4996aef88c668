#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/base/packed_metrics.hpp"
#include "hippo/base/types.hpp"
#include "hippo/model/records.hpp"
#include "hippo/model/run_record.hpp"
#include "hippo/search/algorithm/algorithm.hpp"
#include "hippo/search/pareto/front.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// The books of a study's trials: how far each was asked to go and has come,
/// what it has measured and how it ended. Pure: the same calls give the same
/// books.
/// @invariant `finished()` is the number of trials that have ended, withdrawn
///            and removed ones left out
/// @invariant `withdrawn()` and `removed()` are the numbers of trials that are
/// @invariant no trial is both, and one that is removed has ended
/// @invariant `asked_steps()` is the sum of the trials' `asked_to` for each of
///            their seeds, withdrawn and removed ones left out
/// @invariant `waiting_steps()` is the sum of what the trials that have not
///            ended were asked for and have not got, for each of their seeds
/// @invariant of the trials that have neither failed nor are removed, none's
///            best is better than `best()`
class study_trials {
public:
  struct entry {
    trial_state state = trial_state::pending;
    bool added = false; ///< whether the merger knows it
    bool retried = false;   ///< whether it has failed, and was tried again
    bool withdrawn = false; ///< whether it has ended before it was begun
    bool removed = false;   ///< whether somebody has hidden it
    bool heard = false;     ///< whether it has got a state, with any seed
    step_t asked_to = 0;
    step_t acked = 0; ///< the last state that the merger has delivered
    /// Of its steps, with all seeds, those that a trial had got before.
    step_t shared = 0;
    /// In the order in which they came; see `results_of`.
    std::vector<std::pair<step_t, packed_metrics>> results;
    /// Of the results, of those that keep the constraints; of several metrics
    /// the last one that the one before it does not dominate, with the value of
    /// the first metric.
    std::optional<stored_best> best;
    std::string failure;
    /// The errors of trainers that have failed; nothing: no trainer has.
    std::optional<errc> cause;
  };

  /// The best measurement of all trials that have not failed; there is none of
  /// several metrics.
  struct best_measurement {
    trial_no trial = 0;
    step_t at = 0;
    double value = 0;
    friend bool operator==(const best_measurement&, const best_measurement&)
      = default;
  };

  /// @param seeds with which each trial is trained
  explicit study_trials(objective objective, std::uint32_t seeds = 1)
    : objective_(std::move(objective)), wanted_(objective_.all()),
      seeds_(seeds) {}

  [[nodiscard]] std::uint64_t size() const noexcept { return entries_.size(); }
  /// REQUIRES (here and below): `no < size()`.
  [[nodiscard]] const entry& operator[](trial_no no) const;

  /// A trial comes into being, and the merger gets to know it. Makes room for
  /// it and those before it.
  void add(trial_no no);

  /// Asks for a trial up to `to`.
  /// @returns whether that is news: it has not ended, nor was asked so far
  bool ask(trial_no no, step_t to);

  /// The merger has delivered state `at` of a trial, with all of its seeds.
  /// @param shared of the steps since the last one, those that a trial had got
  ///               before
  void ack(trial_no no, step_t at, step_t shared = 0);
  /// The merger has delivered state `at` of a trial with one of several seeds.
  /// Once more counts nothing: after a restart all is delivered again that some
  /// seed lacked.
  /// @param seed_no from 1
  void ack_seed(trial_no no, std::uint32_t seed_no, step_t at, step_t shared);

  /// Notes a measurement. @returns its objective, NaN if it is not among them
  double measure(trial_no no, step_t at, const metrics& values);

  /// The trial has come as far as it was asked.
  void pause(trial_no no);

  /// Ends a trial. One that fails has no result: what it measured counts no
  /// more. @returns whether it had not ended before
  /// @complexity O(trials) if it has failed and was the best, else O(1)
  /// @param cause what the trainers have failed with, if they have
  bool end(trial_no no, trial_state how, std::string failure = {},
           std::optional<errc> cause = {});

  /// A trial that has failed waits again for what it was asked for. What it has
  /// measured counts again.
  /// @complexity O(trials) if it has measured anything, else O(1)
  /// REQUIRES: it has a cause.
  void retry(trial_no no);

  /// Whether a trial was begun: it has got a state, has failed or has ended.
  [[nodiscard]] bool is_begun(trial_no no) const;

  /// Ends a trial that was not begun, as if it had never been: it is no trial
  /// of the study any more, unless it is revived. Makes room as `add` does.
  /// REQUIRES: it was not begun, and is not withdrawn.
  void withdraw(trial_no no);
  /// A trial that is withdrawn has been begun after all: it has ended as a
  /// trial of the study.
  void admit(trial_no no);

  /// Hides a trial: it counts nowhere until it is shown again.
  /// @complexity as of `end` with a failure
  /// REQUIRES: it has ended, and is neither withdrawn nor removed.
  void remove(trial_no no);
  /// REQUIRES: it is removed.
  void restore(trial_no no);
  /// Whether there is such a trial, which the merger knows and nobody has
  /// hidden.
  [[nodiscard]] bool is_shown(trial_no no) const;

  /// A trial that its study's end has ended is in its former state again.
  /// REQUIRES: that is none of an end, and the trial has ended without failure.
  void revive(trial_no no, trial_state state);

  /// Whether a trial waits for something.
  [[nodiscard]] bool is_on_its_way(trial_no no) const;

  /// Returns a metric that the study is about and that was not measured, or
  /// null.
  [[nodiscard]] const std::string* missing_in(const metrics& values) const;

  /// A measurement's objective, NaN if the workload did not report it.
  [[nodiscard]] double value_of(const metrics& values) const;

  /// All that a trial has measured, in the order in which it came.
  [[nodiscard]] std::vector<trial_measurement> results_of(trial_no no) const;

  /// The last measurement of a trial, if any.
  [[nodiscard]] std::optional<trial_measurement> last_result(trial_no no) const;

  /// The same at `to`, or else last.
  [[nodiscard]] std::optional<trial_measurement> result_near(trial_no no,
                                                             step_t to) const;

  /// How a study ends whose trials are these: failed if all of them are.
  [[nodiscard]] study_phase final_phase() const;

  /// The best measurement. Of equal ones the lowest trial and step has it,
  /// whichever came first: that depends on the trainers.
  [[nodiscard]] const std::optional<best_measurement>& best() const noexcept {
    return best_;
  }
  /// The goals of the study, and, where these are several metrics, the front of
  /// all trials that have not failed.
  [[nodiscard]] const goals& wanted() const noexcept { return wanted_; }
  [[nodiscard]] bool has_front() const noexcept {
    return wanted_.metrics.size() > 1;
  }
  [[nodiscard]] const hippo::front& front() const noexcept { return front_; }

  [[nodiscard]] std::uint64_t finished() const noexcept { return finished_; }
  [[nodiscard]] std::uint64_t failed() const noexcept { return failed_; }
  [[nodiscard]] std::uint64_t withdrawn() const noexcept { return withdrawn_; }
  [[nodiscard]] std::uint64_t removed() const noexcept { return removed_; }
  /// About how much memory these books take, in bytes. O(1).
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return entries_.size() * sizeof(entry) + held_bytes_;
  }
  [[nodiscard]] std::uint64_t asked_steps() const noexcept {
    return asked_steps_ * seeds_;
  }
  [[nodiscard]] std::uint64_t waiting_steps() const noexcept {
    return waiting_steps_ * seeds_;
  }

  /// Asserts what is said above. Does nothing in release builds.
  void check_invariants() const;

private:
  entry& at(trial_no no);
  void make_room(trial_no no);
  /// Lets a trial that has ended go on, in that state.
  void take_back(entry& place, trial_state state);
  /// The step that a trial waits for; nothing once it has ended.
  [[nodiscard]] static step_t waiting(const entry& place);
  /// Asserts what is said above of one trial.
  void check(trial_no no) const;
  [[nodiscard]] bool is_better(double left, double right) const;
  [[nodiscard]] bool is_new_best(trial_no no, step_t at, double value) const;
  /// Whether a trial's measurements count for the best of all.
  [[nodiscard]] static bool may_be_best(const entry& place);
  void find_best();
  /// Finds the best of all once more, where the measurements of a trial have
  /// begun or ceased to count.
  void find_best_after(trial_no no);
  /// Takes a measurement to the best of its trial, and of all.
  void compare(trial_no no, step_t at, double value);
  /// The same of several metrics.
  void add_to_front(trial_no no, step_t at, double value,
                    const metrics& values);
  /// Whether a trial has a part in the front or in its reference point.
  [[nodiscard]] bool is_in_front(trial_no no) const;
  void find_front();

  objective objective_;
  goals wanted_;
  std::deque<entry> entries_; ///< by number
  /// Of trials of which some seeds are ahead of others: the states that each
  /// seed has got.
  std::map<trial_no, std::vector<step_t>> ahead_;
  metric_names names_;        ///< of all results
  std::uint32_t seeds_;
  std::uint64_t finished_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t withdrawn_ = 0;
  std::uint64_t removed_ = 0;
  std::uint64_t asked_steps_ = 0;
  std::uint64_t waiting_steps_ = 0;
  std::uint64_t held_bytes_ = 0; ///< of what entries have
  std::optional<best_measurement> best_;
  hippo::front front_; ///< of several metrics
};

} // namespace hippo
