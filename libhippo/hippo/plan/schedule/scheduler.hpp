#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "hippo/plan/schedule/time_estimates.hpp"
#include "hippo/plan/stage_tree.hpp"

namespace hippo {

/// Which runnable path goes first.
enum class policy : std::uint8_t {
  critical_path, ///< the longest by estimated time, whole
  breadth_first, ///< the stage that begins earliest, alone
  trial,         ///< the way to the trial that was asked for first
  early,         ///< what goes on from the farthest state, of equal ones the
                 ///< longest, whole: good values come sooner, the end may not
};

/// Returns `"critical-path"`, `"breadth-first"`, `"trial"` or `"early"`.
const char* to_string(policy choice) noexcept;
std::optional<policy> policy_from(const std::string& text);

/// A chain of stages from a checkpoint towards a leaf of the stage tree.
struct path {
  checkpoint start;
  /// Without configurations. A stage has no length if there is only a
  /// measurement to make.
  std::vector<stage> stages;
};

/// Chooses paths from the stage tree of a plan.
///
/// Choosing the longest path first is list scheduling by critical path: on m
/// equal trainers it is within a factor 2 - 1/m of the best (Graham 1969).
///
/// As soon as a plan has several studies, each one that waits for something has
/// a stage tree of its own as well, so that the best path for it is found as
/// that for all of them is.
class scheduler {
public:
  using node_filter = std::function<bool(node_id)>;

  /// Returns the kind of device that alone may go on with a node; null: any.
  using kind_lookup = std::function<const std::string*(node_id)>;

  /// REQUIRES: `plan` and `estimates` outlive the scheduler.
  /// @param kind_of asked as soon as times are known of several kinds
  scheduler(const search_plan& plan, const time_estimates& estimates,
            policy policy, kind_lookup kind_of = {});

  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  /// Follows the plan. Call after anything was done to it.
  /// New estimates are taken in once that costs no more than a few times what
  /// has been followed since the last ones, or little.
  /// @complexity that of `stage_tree::update`, once for all studies and once
  ///             for each that waits for something on the nodes that changed
  void update(const std::set<node_id>& changed);

  /// Returns the path to train next, or nothing if none can be trained now.
  /// The caller leases it, which takes it out of what is runnable.
  /// @complexity O(states waited for on the nodes of the path)
  [[nodiscard]] std::optional<path> choose() const { return choose(all_); }

  /// The same of what one study waits for.
  [[nodiscard]] std::optional<path> choose_for(study_no study) const;

  /// Whether `choose_for` returns anything. O(log studies).
  [[nodiscard]] bool is_runnable(study_no study) const;

  /// Returns the studies that wait for what a leased stage reaches beyond state
  /// `reached`, or for what starts there.
  /// @complexity O(studies that asked for the stage * states waited for there)
  [[nodiscard]] std::vector<study_no> waiting_for(const stage& leased,
                                                  step_t reached) const;

  /// Returns the best path for which `fits` is true, of the best
  /// `choices_max`. Of those that begin in one state, the one that `choose`
  /// would return goes first, then those of the children that start there.
  /// @param among whether paths may begin on a node; others do not count. None:
  ///              on any
  [[nodiscard]] std::optional<path>
  choose(const std::function<bool(const path&)>& fits,
         const node_filter& among = {}) const;

  /// Calls `filter` for each node on which a path could begin, until it is
  /// false. O(such nodes).
  void for_each_first(const node_filter& filter) const;

  static constexpr std::size_t choices_max = 64;

  /// How many paths could be leased now, if they were independent.
  [[nodiscard]] std::size_t runnable_count() const noexcept {
    return all_.ranking.size();
  }

  /// Estimates the times to the end of everything that waits for each of the
  /// stages that could be trained now by a trainer each, at most `most` of
  /// them: those that begin at a state that is there, and rests of those that
  /// do. O(most * states waited for).
  [[nodiscard]] std::vector<double> startable_seconds(std::size_t most) const;

  /// How many these are.
  [[nodiscard]] std::size_t startable_count(std::size_t most) const {
    return startable_seconds(most).size();
  }

  /// Returns the estimated time to the end of the longest path that could be
  /// leased now, or nothing if there is none.
  /// REQUIRES: the policy is `critical_path`.
  [[nodiscard]] std::optional<double> longest_waiting() const;

  /// Estimates the time from state `reached` of a leased path to the end of
  /// everything that waits for it.
  /// @complexity O(states waited for on the nodes of the path)
  [[nodiscard]] double seconds_left(const std::vector<stage>& leased,
                                    step_t reached) const;

  [[nodiscard]] const stage_tree& tree() const noexcept { return all_.tree; }

private:
  /// Smaller goes first.
  using rank = std::tuple<double, std::uint64_t, node_id, step_t>;

  /// A stage tree and what is runnable in it, in order.
  struct view {
    view(const scheduler& owner, std::optional<study_no> study);
    stage_tree tree;
    std::set<rank> ranking;
  };

  void update_studies(const std::set<node_id>& changed);
  [[nodiscard]] std::optional<path> choose(const view& among) const;
  /// @param child the child that the path goes to at once; nothing: the best
  [[nodiscard]] path path_from(const view& among, const rank& first,
                               std::optional<node_id> child = {}) const;
  [[nodiscard]] rank rank_of(const runnable& runnable) const;
  [[nodiscard]] const tree_item&
  pick(const stage_tree& tree, node_id id, step_t from,
       const std::vector<tree_item>& items) const;
  [[nodiscard]] double seconds_per_step(node_id id) const;
  /// Computed once a node: a node's configuration never changes.
  [[nodiscard]] const std::string& speed_key_of(node_id id) const;

  const search_plan& plan_;
  const time_estimates& estimates_;
  policy policy_;
  kind_lookup kind_of_;
  std::uint64_t estimated_version_ = 0;
  std::uint64_t followed_ = 0; ///< changes since then
  view all_;
  /// Those that wait for something; none while the plan has one study only.
  std::map<study_no, std::unique_ptr<view>> by_study_;
  bool has_several_ = false; ///< studies
  mutable std::set<std::string> distinct_speed_keys_;
  mutable by_id<node_id, const std::string*> speed_keys_;
};

} // namespace hippo
