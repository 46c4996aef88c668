#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/base/error.hpp"
#include "hippo/base/length_name.hpp"
#include "hippo/base/limits.hpp"
#include "hippo/base/name.hpp"
#include "hippo/model/goals.hpp"
#include "hippo/model/notification.hpp"
#include "hippo/model/repeats.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/model/workload_spec.hpp"
#include "hippo/sequence/sequence.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/mark.hpp"

namespace hippo {

/// How long the trials of a study are.
struct trial_lengths {
  step_t max = 1;                ///< the longest
  std::vector<step_t> several{}; ///< all, sorted; empty: each is `max`

  trial_lengths(step_t all) : max(all) {} // NOLINT: a length is one of them
  explicit trial_lengths(std::vector<step_t> sorted)
    : max(sorted.back()), several(std::move(sorted)) {}
};

/// The hyper-parameters of one trial.
struct trial_parameters {
  /// As the study file writes them, every choice, range and percentage decided;
  /// for people. With its length, by `length_name`, where the study's trials
  /// have several.
  nlohmann::ordered_json shown;
  /// One canonical sequence for each hyper-parameter that the study mentions.
  std::map<std::string, sequence> sequences;
  /// Whether a sequence may go on in another way when results are known
  /// (`make_sequence()` with observations).
  bool responsive = false;
  /// Its last step; where a study has no space at all the largest `step_t`.
  step_t length = 1;
};

class space_leaf;

/// Decides a leaf of a search space: which of its ways it goes, below
/// `space_leaf::ways()`. For a continuous range: how far the value lies from
/// its low (0) to its high (`space_leaf::high_end`) end.
using leaf_decider = std::function<std::uint64_t(const space_leaf&)>;

/// The decisions on the leaves of a combination, in the order of
/// `search_space::walk`.
using leaf_decisions = std::vector<std::uint64_t>;

/// The search space of a study: every combination that a trial may have.
/// Immutable and thread-safe; copies share.
class search_space {
public:
  /// The parsed tree; defined in the implementation.
  struct node;

  search_space() = default;
  explicit search_space(std::shared_ptr<const node> root);

  /// Returns whether there is nothing to choose: no hyper-parameter at all.
  [[nodiscard]] bool empty() const noexcept { return root_ == nullptr; }

  /// Returns the parsed tree; null if it is empty.
  [[nodiscard]] const node* root() const noexcept { return root_.get(); }

  /// Returns the number of combinations, or nothing if a continuous range makes
  /// it infinite or it exceeds 2^63.
  [[nodiscard]] std::optional<std::uint64_t> size() const;

  /// Whether trials have several lengths, between which a combination chooses.
  [[nodiscard]] bool has_lengths() const noexcept;

  /// Returns the number of choices and ranges, in whatever combinations they
  /// are.
  [[nodiscard]] std::uint64_t leaves() const;

  /// Returns combination `index` in a fixed order.
  /// REQUIRES: `index < *size()`
  [[nodiscard]] trial_parameters at(std::uint64_t index) const;

  /// Draws a combination: a function of `seed` and `draw` alone, the same on
  /// every machine.
  [[nodiscard]] trial_parameters sample(std::uint64_t seed,
                                        std::uint64_t draw) const;

  /// Returns the combination that `pick` decides leaf by leaf. It is asked in a
  /// fixed order, once for each leaf, and only for those that the decisions so
  /// far leave in the combination.
  /// @param given values of hyper-parameters, which stand in place of those
  ///              that were decided where the combination has them
  [[nodiscard]] trial_parameters
  decide(const leaf_decider& pick,
         const nlohmann::ordered_json& given
         = nlohmann::ordered_json::object()) const;

  /// Returns the length of the combination that `pick` decides; it is asked for
  /// that alone.
  [[nodiscard]] step_t length(const leaf_decider& pick) const;

  /// Asks `pick` as `decide` does, but makes no values, which costs far more.
  void walk(const leaf_decider& pick) const;

  /// Returns what decides as combination `index` has it; outlives the space.
  /// REQUIRES: `index < *size()`
  [[nodiscard]] leaf_decider decider_at(std::uint64_t index) const;

  /// Returns the place of a combination in that order.
  /// REQUIRES: the space is finite, and `decisions` make a combination of it
  [[nodiscard]] std::uint64_t index_of(const leaf_decisions& decisions) const;

  /// Returns what decides as `sample(seed, draw)` does.
  [[nodiscard]] static leaf_decider decider_of(std::uint64_t seed,
                                               std::uint64_t draw);

  /// Returns the hyper-parameters that may differ between combinations, in
  /// value or in being there.
  [[nodiscard]] std::set<std::string> varied() const;

  /// Returns the hyper-parameters that every combination has and that follow
  /// from others, as a study file writes them.
  [[nodiscard]] nlohmann::ordered_json products() const;

  /// Says why `given` (see `decide`) must not have values of another space for
  /// a hyper-parameter, if so.
  [[nodiscard]] std::optional<std::string>
  refuses(const std::string& name, const search_space& others) const;

  /// Returns all hyper-parameters that a combination may have.
  [[nodiscard]] std::set<std::string> names() const;

private:
  std::shared_ptr<const node> root_;
};

/// A choice or a range of a search space, as a sampler meets it. A view: valid
/// while the sampler is asked.
class space_leaf {
public:
  /// The decision that stands for the high end of a continuous range.
  static constexpr std::uint64_t high_end = std::uint64_t{1} << 53;

  explicit space_leaf(const search_space::node& node) : node_(&node) {}

  /// Where it stands in the study file; no two leaves of a space have the same.
  [[nodiscard]] const std::string& path() const;

  /// Whether it decides how long a trial is.
  [[nodiscard]] bool is_length() const;

  /// Whether it is a choice between alternatives; else it is a range.
  [[nodiscard]] bool is_choice() const;

  /// Whether it is a choice between numbers that are sorted, either way.
  [[nodiscard]] bool is_ordered_choice() const;

  /// Whether it decides which hyper-parameters there are (`with`). O(nodes
  /// below it).
  [[nodiscard]] bool brings() const;

  /// The number of alternatives or points; 0: a continuous range.
  [[nodiscard]] std::uint64_t ways() const;

  // Of a range:
  [[nodiscard]] bool is_logarithmic() const;
  [[nodiscard]] double low() const;
  [[nodiscard]] double high() const;
  [[nodiscard]] double length() const; ///< `value_range::length`

  /// Returns the decision for `factor` times the value of another one, kept on
  /// the range. REQUIRES: it is a continuous range.
  [[nodiscard]] std::uint64_t scaled(std::uint64_t decision,
                                     double factor) const;

  /// Returns the decision of which the value is nearest to a number on a range,
  /// or is the same word or number in a choice; nothing: there is none.
  [[nodiscard]] std::optional<std::uint64_t>
  nearest(const nlohmann::ordered_json& value) const;

private:
  friend class search_space;
  const search_space::node* node_;
};

/// The goal of a study.
struct objective {
  /// Where there are several, the first one: schedules that follow measurements
  /// follow it.
  std::string metric;
  hippo::direction direction = direction::maximize;
  step_t every = 1; ///< steps between two measurements
  std::vector<metric_goal> further{}; ///< metrics beyond the first
  std::vector<metric_constraint> constraints{};

  [[nodiscard]] goals all() const;
};

/// The probability that PBT draws a value anew, unless it is told another one.
inline constexpr double resample_default = 0.25;

/// The algorithm that asks for trials; `search/` gives the options meaning.
struct algorithm_spec {
  std::string name = "random";
  std::map<std::string, scalar> options;
  /// Of each hyper-parameter that `pbt` may change, a space of it alone, which
  /// says what to; nothing: all may, within the study's space.
  std::map<std::string, search_space> resample{};
};

/// When a study is to have ended.
struct study_deadline {
  /// After its submission; nothing: `time` says when.
  std::optional<double> seconds;
  double time = 0;  ///< in seconds since 1970
  std::string text; ///< as the file has it
};

/// The most steps of a budget.
inline constexpr std::uint64_t budget_steps_max = 999'999'999'999;

/// Ends a study early; whichever comes first.
struct study_budget {
  std::optional<std::uint64_t> trials;
  std::optional<double> seconds;
  std::optional<double> device_seconds; ///< that trainers have worked for it
  std::optional<double> cost{}; ///< of these
  std::optional<study_deadline> deadline{};
  std::optional<std::uint64_t> failed{}; ///< trials that may fail
  std::optional<std::uint64_t> steps{};  ///< as `tuner::spent` counts them
};

/// Ends a study that is good enough, or gets no better; whichever comes first.
struct stop_rule {
  std::optional<double> value; ///< its best is as good
  /// The whole trials' steps that were measured since its best got better.
  std::optional<std::uint64_t> no_gain;
};

/// The reaction of a study to first trials that all fail alike.
enum class failure_policy {
  pause, ///< somebody is to look at it
  end,   ///< nobody is there who would: it has failed
  go_on
};

/// A result of training elsewhere.
struct past_result {
  leaf_decisions values; ///< that the trial had
  step_t step = 0;
  metrics measured; ///< all of the study's, and perhaps others
};

/// An expert's belief about a choice or a range of a space, before anything was
/// trained.
struct prior_belief {
  std::string leaf;       ///< its path
  std::uint64_t mode = 0; ///< the decision that is believed to be the best
  /// The confidence s, above 0: on a range the belief is a normal distribution
  /// with a standard deviation of 1 / 2s of the range; the mode of a choice is
  /// 1 + 2s times as likely as each other alternative.
  double strength = 1;
};

/// The most tags of a study, and the longest one.
inline constexpr std::size_t tags_max = 32, tag_bytes_max = 64;

/// Says why a text is no tag; empty: it is one.
std::string refusal_of_tag(const std::string& text);

/// A study file that has been read and checked.
struct study_spec {
  std::string name;
  std::string file; ///< where it came from, for messages
  workload_spec workload;
  std::string code; ///< its files (`files_to_json`); empty: it is built in
  /// The path of its initial state on the machine that sent it; empty: it has
  /// none.
  std::string initial_path;
  hippo::objective objective;
  step_t max_steps = 1; ///< how far a trial may be trained
  /// How far each may, sorted, where they are of several lengths; else empty.
  std::vector<step_t> several_lengths{};
  search_space space;
  /// The values of the first trials, whatever their sampler would choose.
  std::vector<leaf_decisions> first{};
  /// Results of other studies, for its sampler to learn from.
  std::vector<past_result> past{};
  /// The beliefs of its author about the values; at most one for each leaf.
  std::vector<prior_belief> prior{};
  std::vector<std::string> tags{}; ///< sorted, without repetitions
  std::optional<notify_request> notify{}; ///< where its events are posted to
  repeat_spec repeats{};           ///< of each trial
  algorithm_spec algorithm;
  study_budget budget;
  stop_rule stop_when;
  std::uint64_t seed = 0; ///< of what the algorithm draws
  /// Whether its code is given values by their types, and not all numbers
  /// alike: so it is but of studies that were submitted before that was so.
  bool typed = false;
  /// How many trials may be open that have not settled; see `trial_window`.
  std::uint64_t trials_ahead = trials_ahead_max;
  double weight = 1;      ///< share of the trainers, relative to other studies
  failure_policy on_error = failure_policy::pause;
  /// Where what others check stands, by its path (`algorithm.asha.eta`).
  std::map<std::string, mark> marks;

  [[nodiscard]] trial_lengths lengths() const {
    return several_lengths.empty() ? trial_lengths{max_steps}
                                   : trial_lengths{several_lengths};
  }
};

/// The result of reading a study file: a study unless there is an error.
struct study_file : findings {
  std::optional<study_spec> study;
  /// The part that could be read if there are errors, for further findings;
  /// nothing if the text is no map.
  std::optional<study_spec> draft;
};

/// Reads a study file as it is, up to a little more than may be in one.
/// @returns the text, or `errc::io_failed`
expected<std::string> read_study_text(const std::string& path);

/// Reads the hyper-parameters of one trial: a map (YAML or JSON) such as a
/// `space` with nothing left to choose; with its length, by `length_name`, if
/// there are several.
/// @param rules by which their names are judged
/// @param typed whether the types of values are told (`study_spec::typed`)
/// @returns them, or `errc::invalid_argument` with all that is wrong
expected<trial_parameters> read_parameters(const std::string& text,
                                           const trial_lengths& lengths,
                                           const workload_descriptor& workload,
                                           name_rules rules
                                           = name_rules::today,
                                           bool typed = false);

/// Reads and checks the text of a study file, perhaps with the code that it
/// brings (`study_text`). Every error that can be told
/// independently is told, not just the first.
/// @param name stands for the file in messages
/// @param workloads what may be trained; gives hyper-parameters and options
///                  their defaults and limits. One without a name is that of a
///                  study that names none
/// @param rules by which names in it are judged
/// @param typed whether code is given values by their types; false: the study
///              is of before that was so
study_file read_study(const std::string& text, const std::string& name,
                      const std::vector<workload_descriptor>& workloads,
                      name_rules rules = name_rules::today, bool typed = true);

} // namespace hippo
