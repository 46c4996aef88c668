#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/model/run_record.hpp"
#include "hippo/plan/overview.hpp"
#include "hippo/plan/search_plan.hpp"

namespace hippo {

/// Finds the stage in which a node reaches a state.
class stage_finder {
public:
  explicit stage_finder(const std::vector<overview_stage>& stages);

  /// @param at step of the state
  /// @returns the stage's id, or 0 for a state that no trial asked for
  /// @complexity O(log stages)
  [[nodiscard]] std::uint64_t find(node_id node, step_t at) const;

private:
  std::map<std::pair<node_id, step_t>, std::uint64_t> by_end_;
};

/// Returns the stages of one workload's tree as a report shows them.
/// @param first is added to their ids, so that those of several trees differ
/// @param study_index the report's index of each of the tree's studies
std::vector<stage_record>
stage_records(const std::vector<overview_stage>& stages,
              const std::string& workload_key, std::uint64_t first,
              const by_id<study_no, std::size_t>& study_index);

/// The times of training and evaluating the stages of one tree, in seconds.
struct tree_seconds {
  double all = 0;     ///< all of them together
  double longest = 0; ///< those on the longest way from the root
};

/// Adds up training and evaluation by stage. What was trained again after a
/// failure counts once, as the shorter of the two; what was trained without
/// being asked for does not count.
/// REQUIRES: parents come before their children in `stages`
tree_seconds seconds_of(const std::vector<overview_stage>& stages,
                        const std::vector<busy_record>& timeline);

/// A lower bound of the time that several trees take together.
class lower_bound {
public:
  /// Adds a tree of which a trainer trains `lanes` stages at a time, or of
  /// which so many trainers train a stage together.
  /// REQUIRES: both are above 0
  void add(const tree_seconds& tree, std::uint32_t lanes,
           std::uint32_t trainers = 1);

  /// No schedule ends sooner: the longest way of any tree, or all the work
  /// divided by the trainers, whichever is more.
  /// @returns seconds; 0 without trainers
  [[nodiscard]] double seconds(std::size_t trainers) const;

private:
  double all_ = 0;
  double longest_ = 0;
};

/// How much merging saves. 1 where there is nothing to train.
struct merge_rates {
  double merge_rate = 1;        ///< p = delivered / unique
  double k_wise_merge_rate = 1; ///< q = sum of the studies' unique / unique
};

/// The one definition of both: of what trials have got, not of what they ask
/// for, which may never be trained.
/// @param delivered_steps how far all trials were trained, added up
/// @param unique_steps of these, those left after merging all of them
/// @param unique_steps_of_studies after merging each study alone, added up
merge_rates rates_of(std::uint64_t delivered_steps,
                     std::uint64_t unique_steps,
                     std::uint64_t unique_steps_of_studies);

/// Returns the seconds in which trainers had nothing to do, added up over them;
/// never negative.
double idle_seconds(double wall_seconds, std::size_t trainers,
                    double device_seconds);

/// The remaining work of one study.
struct work_left {
  std::uint64_t waiting_steps = 0; ///< asked for by its trials, and not there
  /// The work that its algorithm will likely request: see `expected_work`.
  std::uint64_t steps_to_come = 0;
  step_t longest_to_come = 0;
  double unique_share = 1; ///< of what is asked for, what merging leaves
  double unique_share_to_come = 1; ///< of what is expected, likewise
  step_t running = 0;      ///< the longest rest of what is being trained
  double step_seconds = 0; ///< mean time of a step; 0: unknown
  std::optional<double> seconds_max{}; ///< that its budget leaves it

  /// The time that one trainer needs for all of it.
  [[nodiscard]] double trainer_seconds() const {
    return (static_cast<double>(waiting_steps) * unique_share
            + static_cast<double>(steps_to_come) * unique_share_to_come)
           * step_seconds;
  }

  /// Sets what merging leaves, from what is known of the plan. Of what trials
  /// wait for less is shared than of what they have: they part on their way.
  void set_shares(const merge_figures& figures);
};

/// Estimates how long the rest takes: that of all the work if all trainers have
/// some to the end, but no less than what comes one after the other, and no
/// more than the budgets leave.
/// @param trainers how many they have on the mean
/// @returns seconds; nothing if there is nothing left that is known, or nobody
///          to train it
std::optional<double> seconds_left(const std::vector<work_left>& studies,
                                   double trainers);

/// Says which study has nothing to show because all of its trials failed.
/// @returns nothing if every study has something, `errc::training_failed` else
std::optional<error> find_hopeless(const run_record& record);

} // namespace hippo
