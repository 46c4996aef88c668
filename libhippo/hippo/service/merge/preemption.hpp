#pragma once

#include "hippo/service/merge/placement.hpp"
#include "hippo/service/merge/usage.hpp"

// When leases end before their paths do: pure functions of what a merger knows.
// Nothing is lost by that, since such a lease leaves a checkpoint.

namespace hippo {

/// A trainer is handed over if that gains so many times what it costs.
inline constexpr double handover_gain_min = 20;

/// For the sake of fair shares a lease ends early once it has lasted so many
/// times as long as a hand-over: these cost a tenth of the time at most. For
/// a study that has had no trainer yet it ends at once.
inline constexpr double handover_lasting_min = 10;

/// A study that is behind others by more than so many quanta for each trainer
/// is not interrupted for longer work of theirs: it has just been served, and
/// would be again soon.
inline constexpr double quanta_interrupted_max = 1;

/// Returns what handing a trainer over costs, in seconds: saving, a new lease,
/// loading.
double handover_seconds(const merge_view& view, const usage_totals& totals);

/// Returns how much longer a lease must last, in seconds, so that ending it
/// early costs little; 0 or less: it has lasted long enough.
double seconds_to_last(const merge_view& view, const usage_totals& totals,
                       const running_lease& lease);

/// The fate of a lease that has reported.
struct preemption {
  bool ends = false; ///< after its next step
  bool outranked = false; ///< longer work waits that may interrupt it
};

/// Decides whether a lease ends early because its trainer is needed for other
/// work: for a study that would be left behind if it went on; or because longer
/// work waits that is so much farther from its end that all comes to its end at
/// about the same time (the level algorithm of Muntz and Coffman 1969). The
/// latter must have been so at the last report as well: a free trainer would
/// have taken what waited then.
preemption preempt(const merge_view& view, const usage_totals& totals,
                   policy chosen, const running_lease& lease);

/// Returns the state at which a lease ends whose trainer others need more: the
/// next one, or where it will have lasted long enough.
step_t yield_at(const merge_view& view, const usage_totals& totals,
                const running_lease& lease);

} // namespace hippo
