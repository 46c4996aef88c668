#pragma once

#include <cassert>
#include <optional>
#include <vector>

#include "hippo/base/choice.hpp"
#include "hippo/base/ids.hpp"
#include "hippo/base/types.hpp"
#include "hippo/search/action.hpp"
#include "hippo/search/trial_states.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// From this number on trials are of other studies: their results were given to
/// a sampler to learn from.
inline constexpr trial_no past_trials_begin = trial_no{1} << 62;

/// A trial whose values are a combination of a sampler's space.
struct tried_trial {
  trial_no trial = 0;
  leaf_decisions values;
};

/// Decides the values of a study's trials. A pure state machine, as an
/// algorithm is.
class sampler {
public:
  virtual ~sampler() = default;

  /// Whether the values of a trial follow from its number alone, so that they
  /// can be known before anything was trained.
  [[nodiscard]] virtual bool is_static() const { return false; }

  /// Gives the first trials their values, which differ. Before all else.
  virtual void begin_with(const std::vector<leaf_decisions>& first) = 0;

  /// Tells what the study's author believes of the values. Before all else.
  /// REQUIRES: its type takes beliefs.
  virtual void believe(const std::vector<prior_belief>& /*prior*/) {}

  /// Takes the place of another sampler of the study, whose space was another
  /// one. Before all else.
  /// @param next the first trial whose values it may be asked for
  /// @param tried trials before that one: their values do not come again while
  ///              others are left, and their results come as those of others
  /// REQUIRES: the study's algorithm takes another space
  virtual void follow(trial_no /*next*/,
                      const std::vector<tried_trial>& /*tried*/) {
    assert(false && "no algorithm with this sampler takes another space");
  }

  /// Gives a trial its values; those that it would have had are of the next
  /// trial that is given none, and so on.
  /// @param values empty: somebody else has them, and it is never drawn
  /// REQUIRES: neither `trial` nor one above it was drawn or given.
  virtual void give(trial_no trial, leaf_decisions values) = 0;

  /// Returns the decisions that a trial was given, by `begin_with` or `give`;
  /// nothing: it was given none.
  [[nodiscard]] virtual std::optional<leaf_decisions>
  given(trial_no /*trial*/) const {
    return std::nullopt;
  }

  /// Whether results have a part in what it decides.
  [[nodiscard]] virtual bool learns() const { return false; }

  /// Learns that a trial of another study with these values, `trial` here,
  /// measured `value` at state `at`. That trial is none of the study.
  /// REQUIRES: `learns()`, and `trial >= past_trials_begin`.
  virtual void learn(trial_no /*trial*/, const leaf_decisions& /*values*/,
                     step_t /*at*/, double /*value*/) {}

  /// Decides the values of trial `trial`. Asked once for each trial.
  /// REQUIRES: `trial` is below the number of trials of the study's algorithm.
  virtual trial_parameters draw(trial_no trial) = 0;

  /// Returns once more what `draw` returned, if the sampler can tell: then
  /// nobody else need keep it.
  [[nodiscard]] virtual std::optional<trial_parameters>
  recall(trial_no /*trial*/) const {
    return std::nullopt;
  }

  /// Returns what it has decided of a trial, and why, if results had a part in
  /// it or may have.
  [[nodiscard]] virtual std::optional<trial_choice>
  choice_of(trial_no /*trial*/) const {
    return std::nullopt;
  }

  /// Says what `choice_of` returned of a trial before a restart: `draw` decides
  /// so again. A choice that is none of the space is passed over.
  virtual void restore(trial_no /*trial*/, trial_choice /*x*/) {}

  /// Decides the values of trial `fork.trial`: those of `fork.from` up to state
  /// `fork.at`, others from there on.
  /// REQUIRES: the study's algorithm forks, and `fork.from` has been decided.
  virtual trial_parameters branch(const fork& fork) = 0;

  /// Decides the values of trial `x.trial`, made of those of others.
  /// REQUIRES: the study's algorithm crosses, and `x.target` and `x.parents`
  /// have been decided.
  virtual trial_parameters cross(const hippo::cross& /*x*/) {
    assert(false && "no algorithm with this sampler crosses");
    return {};
  }

  /// Trials are longer from now on.
  /// @param space with their length; its leaves are those of before
  /// @param marks further steps whose results a model learns from
  /// REQUIRES: the study's algorithm lengthens
  virtual void lengthen(const search_space& /*space*/,
                        const std::vector<step_t>& /*marks*/) {
    assert(false && "no algorithm with this sampler lengthens");
  }

  /// Returns the trial to train next: one of those that rest, or `fresh`, which
  /// is drawn next then.
  /// @param resting in the order of their numbers, each with its step
  /// @param going were at rest, each with the step that it is on its way to
  /// @returns nothing: none is worth its steps, and there is no new trial
  virtual std::optional<trial_no>
  next(const std::vector<placed_trial>& resting,
       const std::vector<placed_trial>& /*going*/,
       std::optional<trial_no> fresh) {
    return trial_states::first_of(resting, fresh);
  }

  /// Trial `trial` measured `value` at state `at`.
  virtual void on_result(trial_no /*trial*/, step_t /*at*/, double /*value*/) {
  }

  /// Trial `trial` failed or was cancelled; it gives no further results.
  virtual void on_failure(trial_no /*trial*/) {}

  /// Trial `trial`, which has failed, is tried again.
  virtual void on_retry(trial_no /*trial*/) {}

  /// A model's knowledge of trial `trial`, which gives no further results,
  /// counts no more.
  virtual void on_removal(trial_no /*trial*/) {}
  /// It counts again.
  virtual void on_return(trial_no /*trial*/) {}
};

} // namespace hippo
