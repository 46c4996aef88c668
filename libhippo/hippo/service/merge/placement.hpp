#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hippo/plan/schedule/placement.hpp"
#include "hippo/plan/schedule/scheduler.hpp"
#include "hippo/service/merge/device_kinds.hpp"
#include "hippo/service/merge/lease_table.hpp"
#include "hippo/service/merge/retry_policy.hpp"
#include "hippo/service/merge/settings_table.hpp"
#include "hippo/service/merge/share_ledger.hpp"
#include "hippo/service/merge/study_table.hpp"

// Where paths are trained: pure functions of what a merger knows.

namespace hippo {

/// The facts that decide about leases.
struct merge_view {
  const search_plan& plan;
  const time_estimates& estimates;
  const scheduler& chooser;
  const lease_table& leases;
  const share_ledger& ledger;
  const retry_policy& retries;
  const device_kinds& kinds;
  const settings_table& settings;
  /// How fast steps are on each kind of device; null: it is not known.
  const kind_speeds* speeds = nullptr;
  std::uint32_t ranks = 1; ///< of each trial
};

/// Returns the settings with which a path would be trained: of those who wait
/// for its first stage, the first ones under which that need not have failed.
const settings_table::settings& settings_for(const merge_view& view,
                                             const std::vector<stage>& stages);

/// Estimates how long a path, or the rest of a lease from state `from` on,
/// takes to train, in seconds.
double training_seconds(const merge_view& view,
                        const std::vector<stage>& stages, step_t from);

/// Returns the device time that so many quanta for each trainer at work here
/// are, in seconds.
double device_seconds_of(const merge_view& view, double quanta);

/// The longest path goes first as long as that leaves no study behind its share
/// by more than so many quanta for each trainer: of two studies, by less than
/// 4 % of what is due in an hour.
inline constexpr double quanta_behind_max = 2;

/// The same for a study that has had no device time yet: its first result is
/// waited for.
inline constexpr double first_quanta_behind_max
  = fair_shares::first_quantum_seconds / fair_shares::quantum_seconds;

/// Returns the study that would be left behind if a trainer went to `others`,
/// the studies that a path is for: behind all of them by more than the longest
/// path first may put it.
std::optional<study_no> left_behind(const merge_view& view,
                                    const fair_shares& shares,
                                    const std::vector<study_no>& others);

/// Returns the longest path, or the longest for a study that it would leave
/// behind; nothing if there is none.
std::optional<path> next_path(const merge_view& view);

/// Where a path could be trained.
struct placement {
  trainer_id trainer{};
  double own = 0;     ///< seconds that the path alone takes
  double seconds = 0; ///< until it is trained
  std::size_t leases = 0; ///< that the trainer has
};

/// Returns how many leases a trainer had best have at once, at most: until the
/// sum of their rates stops growing (`slowdowns::worth`).
std::uint32_t lanes_worth(const merge_view& view, trainer_id trainer);

/// Returns the free trainers that had best be given no further lease.
std::vector<trainer_id> full_trainers(const merge_view& view);

/// Whether a trainer may begin a path before its time limit: the start, the
/// first step and a checkpoint fit. Before any step was measured, they do.
bool has_time(const merge_view& view, trainer_id trainer, const path& path);

/// Cuts the stages of a lease off where its trainer would leave before they are
/// trained and measured, by the estimates. The first step stays.
/// REQUIRES: `stages` is not empty
/// @complexity O(1) without a time limit, else O(stages)
void fit_time_limit(const merge_view& view, trainer_id trainer,
                    const checkpoint& start, std::vector<stage>& stages);

/// Says why no free trainer may train a path where that is for their time
/// limits; empty: it is not.
std::string why_short_of_time(const merge_view& view, const path& path);

/// Chooses the trainer for a path: where it is done first, and of such trainers
/// the emptiest. A kind of device that is known to be twice as fast takes half
/// the time, and beside other leases the path takes as many times as long as
/// their number is known to make it. That it slows these down is not counted.
/// One that holds all ranks of a trial goes before several that do so together,
/// unless it has a lease.
/// @returns nothing if none of the free trainers may train it: it is of another
///          kind, the path has failed there and is left to others, or its
///          first step takes longer than they stay (`has_time`)
/// @complexity O(lanes of the free trainers)
std::optional<placement> place(const merge_view& view, const path& path);

/// A path and where it is trained; nowhere: no free trainer may train it.
struct placed_path {
  path what;
  std::optional<placement> where;
};

/// Chooses what to train next, and where. A path that may be trained nowhere,
/// or only beside others while a trainer has no lease, gives way to one for
/// which there is a better place: what else is there for that trainer?
/// @returns nothing if nothing is runnable
std::optional<placed_path> next_placement(const merge_view& view);

/// Returns the lane of a trainer that a path had best go to: one that is in its
/// first state already, if such a one is empty.
/// REQUIRES: the trainer has an empty lane.
std::uint32_t lane_for(const lease_table::trainer_entry& trainer,
                       const path& path);

/// How many free lanes each study gets; empty: none wants any.
using capacity_offers = by_id<study_no, std::uint64_t>;

/// Divides the free lanes among the studies that want capacity, by their
/// shares.
capacity_offers divide_capacity(const merge_view& view,
                                const study_table& studies);

} // namespace hippo
