#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/types.hpp"

namespace hippo {

/// The training that a set of trials needs.
struct step_figures {
  std::uint64_t asked_steps = 0;
  std::uint64_t delivered_steps = 0; ///< of these, that the trials would get
  std::uint64_t unique_steps = 0;    ///< of the delivered, after merging
  double merge_rate = 1; ///< p = delivered / unique, as `rates_of` has it
  double k_wise_merge_rate = 1;   ///< q; 1 for a study by itself
  /// Of the unique steps, those that are trained already, where that is known.
  std::optional<std::uint64_t> known_steps{};
};

/// The training that one study needs by itself.
struct study_preview {
  std::string name;
  std::uint64_t trials = 0;
  step_figures full; ///< every trial trained to its end
  /// For algorithms that stop early: what it will likely be.
  std::optional<step_figures> estimate;
};

/// How long simulated runs took on average, in virtual seconds.
struct time_figures {
  double wall_seconds = 0;
  double device_seconds = 0;
  double lower_bound_seconds = 0; ///< of the wall time; 0: not known
  double wall_low = 0;            ///< the least that one took
  double wall_high = 0;
};

/// How long studies would take together on equal trainers.
struct time_preview {
  unsigned trainers = 1;
  unsigned simulations = 1;
  time_figures merged;
  time_figures alone; ///< with merging off
};

/// A stage of the tree that studies would make, each trial trained to its end.
struct planned_stage {
  std::uint64_t id = 0;     ///< from 1, parents before children
  std::uint64_t parent = 0; ///< 0: from step 0
  step_t begin = 0;
  step_t end = 0;
  step_t known_to = 0; ///< up to here it is trained already
  std::uint64_t trials = 0; ///< of the studies that pass it; 0: only others do
  std::string label;        ///< what changes in it
  std::uint64_t others = 0; ///< trials of other studies that pass it
};

/// The figures that `hippo preview` shows, before anything is spent.
struct preview_record {
  std::vector<study_preview> studies;
  std::uint64_t trials = 0;
  step_figures full; ///< all studies merged
  /// There if any study has one; the others count in full.
  std::optional<step_figures> estimate;
  std::optional<time_preview> times;
  /// The first of the stages; empty: they were not asked for.
  std::vector<planned_stage> stages;
  std::uint64_t all_stages = 0; ///< how many there are
};

/// Top level: `trials`, `asked_steps`, `delivered_steps`, `unique_steps`,
/// `merge_rate`, `k_wise_merge_rate`, `studies` (`name` and the same); where
/// there is an estimate, `estimate` with the same figures but `trials`; where it
/// is known what has been trained, `known_steps` and `new_steps` beside them;
/// where it was simulated, `times` with `trainers`, `simulations`, `merged` and
/// `alone`, each with `wall_seconds`, `device_seconds`, `lower_bound_seconds`
/// (null if not known), `wall_low` and `wall_high`; where there are stages,
/// `tree` with `all_nodes` and, by columns, `id`, `parent`, `begin`, `end`,
/// `known_to`, `trials`, `others` and `label`. Two-space indented.
std::string preview_json(const preview_record& record);

/// A table of the same, at most 80 columns wide.
std::string preview_text(const preview_record& record);

} // namespace hippo
