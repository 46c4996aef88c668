#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hippo/model/measuring.hpp"
#include "hippo/search/algorithm/algorithm.hpp"
#include "hippo/search/sampler/sampler.hpp"
#include "hippo/search/search_settings.hpp"
#include "hippo/search/trial_window.hpp"
#include "hippo/sequence/configuration.hpp"
#include "hippo/sequence/family.hpp"
#include "hippo/space/study.hpp"
#include "hippo/space/trial_defaults.hpp"

namespace hippo {

class client_algorithm;
class trial_outcomes;

/// The next actions of a study. Trials are added and rerouted before anything
/// is asked for.
struct turn {
  /// Trials that had ended, and are at rest: they may go on.
  std::vector<trial_no> resumed;
  /// Trials that are none of the study any more; some were never added.
  std::vector<trial_no> withdrawn;
  std::vector<trial_no> added; ///< trials that have got their values
  /// Trials whose values beyond their last measurement have changed.
  std::vector<trial_no> rerouted;
  std::vector<advance> asked;
  std::vector<trial_no> pruned;
  friend bool operator==(const turn&, const turn&) = default;
};

/// A trial whose values are none of the sampler's.
struct own_trial {
  trial_parameters values;
  std::string how; ///< as of `choice_reason`
};

/// The results of a trial, for a sampler to learn from.
struct trial_history {
  trial_no trial = 0;
  std::vector<observation> results; ///< as they came
  bool has_failed = false;
  bool is_removed = false; ///< see `tuner::remove`
};

/// A new space of a study, and its effects on it.
struct space_plan {
  study_spec changed; ///< the study with that space
  /// Trials, and results of other studies, that lie in it.
  std::vector<tried_trial> tried;
  std::vector<past_result> past;
  /// Trials that have not begun: others take their places.
  std::vector<trial_no> withdrawn;
  std::uint64_t trials = 0; ///< that there are then, those included
  /// As of `decisions_for`.
  std::map<std::string, nlohmann::ordered_json> defaults;
};

/// A study's decisions: its algorithm, its sampler and its schedules that
/// follow measurements, as one pure state machine. The same results in the same
/// order give the same turns.
class tuner {
public:
  /// @param search of the study; not needed afterwards
  /// @param defaults what hyper-parameters are that the study does not mention
  /// @param ahead how many trials may be open that have not settled; nothing:
  ///              as many as the study says
  /// REQUIRES: `search` was read without an error.
  tuner(const study_spec& study, const search_settings& search,
        trial_defaults defaults, std::optional<std::uint64_t> ahead = {});
  ~tuner();

  /// Says what `choice_of` returned of a trial before a restart: the trial gets
  /// those values again. Before `start`.
  void restore(trial_no trial, trial_choice choice) {
    restored_.insert_or_assign(trial, std::move(choice));
  }

  /// Called once, first.
  turn start();

  /// Trial `trial` measured `value` at state `at`; see `algorithm::on_result`.
  /// REQUIRES: the study has one metric and no constraints.
  turn on_result(trial_no trial, step_t at, double value);

  /// The same of any study. @param values holds what the study's objective and
  /// its constraints name
  turn on_result(trial_no trial, step_t at, const metrics& values);

  /// Trial `trial` failed or was cancelled.
  turn on_failure(trial_no trial);

  /// Trial `trial`, which has failed on its way to state `to`, is tried again.
  /// Where the algorithm has gone on without it, it ends there.
  void retry(trial_no trial, step_t to);

  /// Trial `trial`, which has ended, is to be as if the sampler had not learned
  /// from it, or no more so.
  void remove(trial_no trial) { sampler_->on_removal(trial); }
  void restore_removed(trial_no trial) { sampler_->on_return(trial); }

  /// Whether it would start more trials if it might.
  [[nodiscard]] bool wants_capacity() const {
    return algorithm_->wants_capacity();
  }

  /// The number of further trials that may be in flight.
  turn widen(std::uint64_t trials);

  // -- what people want of a study that decides by itself

  /// Says why the study cannot have `trials` more trials, if it cannot.
  /// @param are_given whether their values are
  [[nodiscard]] std::optional<error> refusal_of_growth(std::uint64_t trials,
                                                       bool are_given) const;

  /// Adds trials. REQUIRES: it is not refused.
  turn extend(std::uint64_t trials);

  /// Says why trials cannot be so long, if they cannot; among the reasons: the
  /// values of one before its present end would be others.
  /// @complexity O(trials)
  [[nodiscard]] std::optional<error> refusal_of_length(step_t max) const;

  /// Makes trials longer: those that had come to their end may go on. All that
  /// were added are rerouted, since `when()` is another one.
  /// @complexity O(trials)
  /// REQUIRES: it is not refused.
  turn lengthen(step_t max);

  /// All spaces that the study has had, the present one last.
  [[nodiscard]] std::vector<search_space> spaces() const;

  /// Says why the study cannot have another space, if it cannot.
  [[nodiscard]] std::optional<error> refusal_of_space() const;

  /// Plans what a new space would change.
  /// @param changed the study with that space
  /// @param whole how many trials there are to be in all that lie in it, if
  ///              that follows from the space
  /// @param fresh trials that have not begun, in order
  /// @param defaults as of `decisions_for`
  /// @complexity O(trials * leaves)
  /// REQUIRES: it is not refused.
  [[nodiscard]] space_plan
  plan_space(study_spec changed, std::optional<std::uint64_t> whole,
             const std::vector<trial_no>& fresh,
             std::map<std::string, nlohmann::ordered_json> defaults) const;

  /// Takes another space, as it was planned. Trials that have begun, and those
  /// with given values, stay.
  /// @param search of the study at first
  /// @param histories of the trials that lie in the new space, in order
  turn set_space(const space_plan& plan, const search_settings& search,
                 const std::vector<trial_history>& histories);

  /// Adds trials that have these values, and come next.
  /// REQUIRES: it is not refused.
  turn enqueue(const std::vector<leaf_decisions>& values);

  /// Adds trials that have these values, of the space or not, and come next.
  /// The sampler learns nothing of them.
  /// REQUIRES: it is not refused; no schedule follows measurements.
  turn enqueue(std::vector<own_trial> trials);

  /// Says why the study cannot learn from results of others, if it cannot.
  [[nodiscard]] std::optional<error> refusal_of_past() const;

  /// Learns from the results of other studies. Results with the same values and
  /// growing steps are those of one trial.
  /// REQUIRES: it is not refused.
  void learn(const std::vector<past_result>& results);

  // -- what a client wants of a study whose algorithm is `client`; each answers
  //    with an error that says why not, and changes nothing then

  /// Asks for one more trial, whose number is `trials() - 1` afterwards.
  /// @param values those of the study's sampler if there are none
  expected<turn> client_ask(std::optional<trial_parameters> values);

  /// Wants a trial to be trained up to a state.
  expected<turn> client_train(trial_no trial, step_t to);

  /// Ends a trial. @param measured what the client has measured itself, if it
  /// has, which the sampler learns from; refused where one value does not tell
  expected<turn> client_end(trial_no trial,
                            std::optional<observation> measured);

  /// Wants nothing more.
  expected<turn> client_close();

  // -- why a client's wish would be answered with an error now, if it would

  [[nodiscard]] std::optional<error> refusal_of_ask() const;
  [[nodiscard]] std::optional<error> refusal_of_train(trial_no trial,
                                                      step_t to) const;
  [[nodiscard]] std::optional<error> refusal_of_end(trial_no trial,
                                                    bool has_measured) const;
  [[nodiscard]] std::optional<error> refusal_of_close() const;

  [[nodiscard]] bool done() const {
    return algorithm_->done() && late_.empty();
  }

  /// Says why the study is to end though it is not done, if it is: its trials
  /// have been trained for as many steps as its `budget.steps`. Steps up to a
  /// measurement count as soon as `on_result` has it, with each seed, those
  /// that several trials share once.
  [[nodiscard]] std::optional<std::string> spent() const;

  /// Returns how many more steps than its `budget.steps` were trained, once
  /// that is spent.
  [[nodiscard]] std::optional<std::uint64_t> overspent_steps() const;

  /// Raises the `budget.steps` that there is.
  void raise_steps(std::uint64_t more);

  /// Estimates what is still to come, beyond what has been asked for.
  [[nodiscard]] expected_work to_come() const {
    return algorithm_->to_come();
  }

  /// About how much memory it takes, in bytes. O(1).
  [[nodiscard]] std::uint64_t memory_bytes() const;

  /// How many trials there will be; some may not have been added yet.
  [[nodiscard]] std::uint64_t trials() const { return algorithm_->trials(); }

  /// How many of these have got their values.
  [[nodiscard]] std::uint64_t added() const { return added_.size(); }

  /// At which states trials are measured and may be left.
  [[nodiscard]] const measuring& when() const { return when_; }

  /// How far a trial that was added goes if nothing ends it before.
  [[nodiscard]] step_t end_of(trial_no trial) const {
    const auto last = when_.rungs.back();
    return trial < lengths_.size() ? std::min(lengths_[trial], last) : last;
  }

  /// The values of a trial that was added, up to what is known by now.
  [[nodiscard]] trial_parameters parameters(trial_no trial) const;

  /// The same with all hyper-parameters, joined, up to the trial's last step.
  [[nodiscard]] std::vector<segment> segments(trial_no trial) const;

  /// Returns what a sampler that learns has decided of a trial; nothing if none
  /// has.
  [[nodiscard]] std::optional<trial_choice> choice_of(trial_no trial) const {
    return sampler_of(trial).choice_of(trial);
  }

  /// Returns why a trial has its values, if there is something to say.
  [[nodiscard]] choice_reason why(trial_no trial) const;

  /// Where a trial that is a fork of its algorithm comes from, else null.
  [[nodiscard]] const fork* origin(trial_no trial) const;

  /// Whether the values of a trial follow what it measures.
  [[nodiscard]] bool is_responsive(trial_no trial) const {
    return responsive_.contains(trial);
  }

private:
  class own_work;
  class own_states;

  /// A trial whose values depend on what it measures.
  struct responsive_trial {
    observations observed;
    step_t goal = 0; ///< what the algorithm has asked for
  };

  /// The time of a study in which it had another space.
  struct era {
    trial_no end = 0; ///< the first trial after it
    search_space space;
    std::unique_ptr<sampler> drawer; ///< recalls the values of its trials
  };

  /// The sampler that has decided a trial, or will.
  [[nodiscard]] const sampler& sampler_of(trial_no trial) const;
  /// Whether the values of a trial are none of the sampler's choice.
  [[nodiscard]] bool is_given(trial_no trial) const {
    return own_.contains(trial) || sampler_of(trial).given(trial);
  }
  /// How many trials the sampler decides of the present space, those included
  /// that lay in it before.
  [[nodiscard]] std::uint64_t own_trials() const;
  /// Returns the trials that were given values and have not been added yet.
  [[nodiscard]] std::vector<trial_no> given_next() const;
  /// Hands these to a sampler of another space.
  void give_again(sampler& following, const space_plan& plan);
  /// When trials are measured, or states kept, has changed.
  void reroute_all(turn& out);
  /// Reminds the sampler of its choice before a restart.
  void remind(trial_no trial);
  /// The algorithm and the sampler of a study that clients decide.
  [[nodiscard]] expected<client_algorithm*> client() const;
  template <class Why>
  [[nodiscard]] std::optional<error> refusal(Why&& why) const;
  turn on_measured(trial_no trial, step_t at, double value);
  void carry_out(const std::vector<action>& actions, turn& out);
  /// Lets as many trials begin as there is room for.
  void open(turn& out);
  void add(trial_no trial, const fork* origin, turn& out);
  void add(trial_no trial, trial_parameters values, turn& out);
  [[nodiscard]] bool is_added(trial_no trial) const {
    return trial < added_.size() && added_[trial];
  }
  void ask(trial_no trial, step_t to, turn& out);
  /// Lets the values of a trial follow its measurement.
  /// @returns how far the algorithm wants it if it waits for more, else 0
  step_t respond(trial_no trial, step_t at, double value, turn& out);
  [[nodiscard]] std::vector<step_t> likely_branches() const;
  /// Returns the plans that follow the trials.
  [[nodiscard]] std::vector<own_work*> plans() const;
  /// Returns the values of a trial of `length` steps.
  [[nodiscard]] trial_parameters
  lengthened(trial_no trial, trial_parameters values, step_t length) const;
  /// Returns the hyper-parameter of a trial whose values before its present end
  /// depend on how long trials are; empty: there is none.
  [[nodiscard]] std::string bound_to_length(trial_no trial, step_t max) const;

  std::string algorithm_name_;
  search_space space_;
  std::uint64_t seed_ = 0;
  step_t max_steps_ = 1;
  bool typed_ = false; ///< see `study_spec`
  direction better_ = direction::maximize;
  trial_defaults defaults_;
  std::unique_ptr<own_work> work_; ///< null unless a decision may look at it
  std::unique_ptr<own_work> trained_; ///< null unless steps are the budget
  std::uint64_t trained_steps_ = 0;   ///< with each seed
  std::uint64_t steps_max_ = 0;       ///< of these
  std::uint64_t seeds_ = 1;           ///< of each trial
  std::unique_ptr<own_states> states_;
  std::string metric_; ///< that schedules follow
  std::vector<past_result> past_results_; ///< of its file, until it starts
  /// Null where one number tells how good a trial is.
  std::unique_ptr<trial_outcomes> outcomes_;
  std::unique_ptr<algorithm> algorithm_;
  std::unique_ptr<sampler> sampler_;
  std::vector<era> eras_;  ///< before the present one
  trial_no era_begin_ = 0; ///< the first trial of the present one
  /// The combinations of the present space that trials of before have.
  std::uint64_t tried_before_ = 0;
  /// The marks of each time that trials became longer.
  std::vector<std::vector<step_t>> lengthenings_;
  std::unordered_map<trial_no, trial_choice> restored_; ///< yet to be drawn
  trial_window window_{0, 1};
  measuring when_;
  /// Values that the sampler cannot recall, or no longer as they are: of forks,
  /// and such that follow measurements.
  std::unordered_map<trial_no, trial_parameters> decided_;
  std::uint64_t held_bytes_ = 0; ///< of values and observations that are kept
  std::vector<bool> added_; ///< trials that have their values
  std::set<trial_no> withdrawn_; ///< trials that are none any more
  /// Of these, where they have several; else empty.
  std::vector<step_t> lengths_;
  std::unordered_map<trial_no, fork> forks_;
  std::unordered_map<trial_no, responsive_trial> responsive_;
  /// Trials that have been given values of their own. Once added, the values
  /// are in `decided_`.
  std::map<trial_no, own_trial> own_;
  trial_no next_given_ = 0; ///< no trial from this one on was given values
  /// Trials of the present space that were, by `enqueue`.
  std::uint64_t given_ = 0;
  struct past_trial {
    trial_no number = 0;
    step_t last = 0; ///< its last result
  };
  std::map<leaf_decisions, past_trial> past_; ///< the last of each combination
  std::vector<past_result> told_; ///< results of others, as they came
  std::uint64_t past_trials_ = 0;
  /// Trials on their way that the algorithm does not wait for, and where to.
  std::map<trial_no, step_t> late_;
};

} // namespace hippo
