#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hippo/search/sampler/rounded_leaves.hpp"
#include "hippo/search/sampler/sampler.hpp"
#include "hippo/search/sampler/static_order.hpp"
#include "hippo/search/surrogate/belief.hpp"
#include "hippo/search/surrogate/counter_rng.hpp"
#include "hippo/search/untrained_work.hpp"

namespace hippo {

/// The common part of samplers that learn from results: which combination each
/// trial got, and random ones as long as there is no model: without replacement
/// in a finite space, else spread evenly.
///
/// Combinations that were tried are not proposed again while others are left:
/// combinations of values, of which there may be fewer than decisions
/// (`rounded_leaves`).
/// Decisions from before a restart are restored (`restore`), so the proposals
/// of a model must follow from results, and from which trials were drawn
/// when, but not from which of them it was asked for.
class learning_sampler : public sampler {
public:
  /// @param first how far a trial goes at first, for the work it makes
  /// @param work may be null; otherwise it outlives the sampler
  learning_sampler(search_space space, std::uint64_t seed, step_t first,
                   const untrained_work* work);

  void begin_with(const std::vector<leaf_decisions>& first) final {
    order_.begin_with(first);
  }
  void believe(const std::vector<prior_belief>& prior) final;
  void give(trial_no trial, leaf_decisions values) final {
    order_.give(trial, std::move(values));
  }
  [[nodiscard]] std::optional<leaf_decisions>
  given(trial_no trial) const final {
    return order_.given(trial);
  }
  void follow(trial_no next, const std::vector<tried_trial>& tried) final;
  [[nodiscard]] bool learns() const final { return true; }
  void learn(trial_no trial, const leaf_decisions& values, step_t at,
             double value) final;
  trial_parameters draw(trial_no trial) final;
  [[nodiscard]] std::optional<trial_parameters>
  recall(trial_no trial) const final;
  trial_parameters branch(const fork& fork) final;
  void lengthen(const search_space& space,
                const std::vector<step_t>& marks) override;
  [[nodiscard]] std::optional<trial_choice>
  choice_of(trial_no trial) const final;
  void restore(trial_no trial, trial_choice choice) final;

protected:
  using leaf_no = std::uint32_t;

  /// The decisions that make a combination, in the order of `walk`.
  using combination = std::vector<std::pair<leaf_no, std::uint64_t>>;

  struct proposal {
    combination taken;
    std::optional<double> predicted; ///< as of `choice_reason`
    std::string how = "model";
  };

  /// Returns what the model proposes; nothing if there is no model yet, or if
  /// all that it proposes was tried.
  virtual std::optional<proposal> propose(trial_no trial) = 0;

  /// Trial `trial` has its values.
  virtual void on_drawn(trial_no /*trial*/) {}

  /// Whether the author of the study believes something of the values.
  [[nodiscard]] bool has_prior() const { return !prior_.empty(); }
  /// Draws a combination from what is believed of the values, at random where
  /// nothing is. @param number tells apart the draws for one trial
  combination draw_believed(trial_no trial, std::uint64_t number);
  /// The part of the belief in the logarithm of a combination's worth: its
  /// weight falls with the trials that were drawn (Hvarfner et al., *piBO*,
  /// ICLR 2022, arXiv 2204.11051).
  /// @complexity O(leaves)
  [[nodiscard]] double belief_in(const combination& cross) const;

  leaf_no number_of(const space_leaf& leaf);
  combination record(const leaf_decider& pick);
  [[nodiscard]] trial_parameters values_of(const combination& cross) const;

  /// Lets `pick` decide all but the length of a trial. That is drawn at random:
  /// what was measured says nothing of it, as values of trials of different
  /// length do not compare.
  [[nodiscard]] leaf_decider with_length(trial_no trial,
                                         leaf_decider pick) const;
  /// Returns the length that it is given so.
  [[nodiscard]] step_t length_for(trial_no trial) const;
  [[nodiscard]] bool has_lengths() const { return space_.has_lengths(); }
  /// Returns the length of a trial that was drawn here.
  [[nodiscard]] step_t length_of(trial_no trial) const {
    return taken_.at(trial).length;
  }

  /// Returns the combination of a trial, null if it was not drawn here.
  [[nodiscard]] const combination* taken(trial_no trial) const;
  [[nodiscard]] bool was_tried(const combination& cross) const {
    return tried_.contains(cross);
  }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] std::uint64_t drawn_count() const { return drawn_; }

  /// Returns the steps to the first goal that nobody was asked for; 0 if what
  /// is untrained is not looked at.
  [[nodiscard]] step_t untrained(const trial_parameters& values) const {
    return work_ != nullptr ? work_->of(values, first_) : 0;
  }
  [[nodiscard]] bool looks_at_work() const { return work_ != nullptr; }
  /// Returns the steps of a trial, or of values, up to `to` that nobody was
  /// asked for. @param from the step where it rests
  [[nodiscard]] step_t untrained(trial_no trial, step_t from, step_t to) const {
    return work_ != nullptr ? work_->of(trial, to) : to - from;
  }
  [[nodiscard]] step_t untrained(const trial_parameters& values,
                                 step_t to) const {
    return work_ != nullptr ? work_->of(values, to) : to;
  }

private:
  struct entry {
    combination taken;
    choice_reason why;
    step_t length = 1;
  };

  /// A trial has got its values, whoever decided them.
  void enter(trial_no trial, entry made);
  combination combination_of(const leaf_decisions& values);
  combination random(trial_no trial);
  /// The same of a study with beliefs: first the values that are believed to be
  /// best, then every other trial is drawn from the belief.
  combination unguided(trial_no trial, std::string& how);
  /// Returns the combination of a trial of a Latin hypercube (McKay et al.,
  /// Technometrics 21, 1979): of each five trials, none has a value of the same
  /// fifth of a range as another.
  combination spread(trial_no trial);
  /// Returns the combination of what was restored, if it is one of the space.
  std::optional<combination> fitting(const trial_choice& choice);

  /// Returns the first combination that was not tried, in the order of the
  /// leaves; a continuous range takes the middle. Nothing: all were.
  /// @complexity O(leaves x combinations that were tried)
  std::optional<combination> left_over();

  search_space space_;
  rounded_leaves rounded_;
  std::uint64_t seed_;
  step_t first_;
  const untrained_work* work_;
  static_order order_;
  trial_no next_random_ = 0; ///< in `order_`, of a finite space

  std::map<std::string, prior_belief> prior_;  ///< by path of a leaf
  std::vector<std::optional<belief>> beliefs_; ///< by number of a leaf
  bool has_believed_ = false; ///< whether a trial has values by `unguided`

  std::map<std::string, leaf_no> leaves_; ///< by path
  std::unordered_map<trial_no, entry> taken_; ///< and those of other studies
  std::uint64_t drawn_ = 0;
  std::unordered_map<trial_no, trial_choice> restored_; ///< yet to be drawn
  std::set<combination> tried_;
};

} // namespace hippo
