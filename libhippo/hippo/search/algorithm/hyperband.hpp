#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "hippo/search/algorithm/algorithm_type.hpp"

namespace hippo {

/// A bracket of Hyperband: a race of so many trials.
struct hyperband_bracket {
  std::uint64_t trials = 0;
  std::vector<step_t> rungs;
  friend bool operator==(const hyperband_bracket&,
                         const hyperband_bracket&) = default;
};

/// Returns the brackets s = s_max, ..., 0 of one round, where s_max is the
/// largest s with min * eta^s <= max: ceil((s_max + 1) / (s + 1) * eta^s)
/// trials each, on the rungs of `rung_steps` but for the first s_max - s. In
/// whole numbers, so that no rounding loses a bracket.
///
/// Where max is min * eta^s_max this is the paper's table: bracket s has s + 1
/// rungs and begins at max * eta^-s. Otherwise each bracket ends with one
/// shorter hop to max.
/// REQUIRES: `0 < min <= max` and `eta >= 2`
std::vector<hyperband_bracket> hyperband_brackets(step_t min, step_t max,
                                                  std::uint64_t eta);

/// Hyperband (arXiv 1603.06560): brackets that begin with many trials and few
/// steps, then with fewer trials and more steps. Within one a rule decides who
/// goes on: successive halving (`sha`), or another. Trials are numbered bracket
/// by bracket. What each bracket keeps does not depend on timing.
class hyperband : public algorithm {
public:
  /// Makes the rule of a bracket of so many trials on its rungs, the first of
  /// which is the study's trial `first`.
  using make_rule = std::function<std::unique_ptr<algorithm>(
    std::uint64_t trials, const std::vector<step_t>& rungs, trial_no first)>;

  /// Repeats the brackets of `round` until `trials` trials are used; the last
  /// bracket gets those that are left.
  /// @param in_turn one bracket after the other, as BOHB (arXiv 1807.01774)
  ///                does; else all together
  /// REQUIRES: `round` is not empty, its brackets neither.
  hyperband(std::uint64_t trials, std::vector<hyperband_bracket> round,
            bool in_turn, make_rule rule);

  [[nodiscard]] std::uint64_t trials() const override { return trials_; }
  [[nodiscard]] std::vector<step_t> rungs() const override;
  std::vector<action> open(std::uint64_t trials) override;
  std::vector<action> on_result(trial_no trial, step_t at,
                                double value) override;
  std::vector<action> on_failure(trial_no trial) override;
  bool take_back(trial_no trial) override;
  [[nodiscard]] bool done() const override {
    return opened_ == trials_ && ended_ == brackets_.size();
  }
  [[nodiscard]] expected_work to_come() const override;

private:
  struct bracket {
    trial_no first = 0;
    std::unique_ptr<algorithm> race;
  };

  [[nodiscard]] static trial_no end_of(const bracket& which) {
    return which.first + which.race->trials();
  }
  [[nodiscard]] std::size_t bracket_of(trial_no trial) const;

  /// Numbers the trials of a bracket's actions as the study does.
  static std::vector<action> numbered(const bracket& which,
                                      std::vector<action> actions);

  /// Takes over what bracket `index` decided after a result or a failure.
  std::vector<action> take(std::size_t index, bool was_done,
                           std::vector<action> actions);

  /// Whether nothing has to end before bracket `index` begins.
  [[nodiscard]] bool has_begun(std::size_t index) const {
    return !in_turn_ || index <= turn_;
  }

  /// Starts what is held and may start now.
  void proceed(std::vector<action>& out);

  std::uint64_t trials_;
  std::vector<hyperband_bracket> round_;
  bool in_turn_;
  make_rule rule_;
  std::uint64_t opened_ = 0;
  std::vector<bracket> brackets_; ///< those with trials that are open
  std::vector<action> held_;  ///< of brackets whose turn has not come
  std::size_t turn_ = 0;      ///< the first bracket that has not ended
  std::size_t ended_ = 0;     ///< brackets
};

/// The rule by which trials continue within a bracket.
enum class bracket_rule { halving, sub_sampling };

/// The options of `hyperband`, `bohb` and `boss`.
class hyperband_settings final : public rung_settings {
public:
  std::uint64_t brackets = 1; ///< of a round, from s_max down
  bool in_turn = false;       ///< one bracket after the other
  bracket_rule rule = bracket_rule::halving;

  [[nodiscard]] first_comparison compares() const override;
  [[nodiscard]] std::unique_ptr<algorithm>
  make(const study_spec& study, const trial_states* states,
       const trial_outcomes* outcomes) const override;
};

extern const algorithm_type hyperband_type;
extern const algorithm_type bohb_type; ///< with a sampler that learns
extern const algorithm_type boss_type; ///< and by sub-sampling

} // namespace hippo
