#include "hippo/service/merge/preemption.hpp"

#include <algorithm>
#include <cassert>

#include "hippo/service/merge/rank_groups.hpp"

namespace hippo {

namespace {

/// Whether work waits that is so much farther from its end than a lease that
/// its trainer had better take that.
bool is_nearer_its_end(const merge_view& view, const usage_totals& totals,
                       policy chosen, const running_lease& x) {
  if (chosen != policy::critical_path || !view.estimates.has_saved())
    return false;
  const auto waiting = view.chooser.longest_waiting();
  return waiting
         && *waiting
                - view.chooser.seconds_left(x.work.stages, x.progress.reached)
              > handover_gain_min * handover_seconds(view, totals);
}

/// Whether a study of the lease may be interrupted for the longest path.
bool may_be_interrupted(const merge_view& view, const fair_shares& shares,
                        const std::vector<study_no>& beneficiaries) {
  const auto longest = view.chooser.choose();
  assert(longest); // something waits
  const auto& first = longest->stages.front();
  const auto others = view.chooser.waiting_for(first, first.begin);
  const auto slack = device_seconds_of(view, quanta_interrupted_max);
  return std::none_of(
    beneficiaries.begin(), beneficiaries.end(), [&](study_no x) {
      return std::all_of(others.begin(), others.end(), [&](study_no y) {
        return shares.lag(number_of(x), number_of(y)) > slack;
      });
    });
}

} // namespace

double handover_seconds(const merge_view& view, const usage_totals& totals) {
  assert(view.leases.begun() > 0);
  return view.estimates.save_seconds() + view.estimates.load_seconds()
         + totals.dispatch_seconds / static_cast<double>(view.leases.begun());
}

double seconds_to_last(const merge_view& view, const usage_totals& totals,
                       const running_lease& lease) {
  return handover_lasting_min * handover_seconds(view, totals)
         - seconds_between(lease.progress.granted, view.ledger.advanced_to());
}

preemption preempt(const merge_view& view, const usage_totals& totals,
                   policy chosen, const running_lease& lease) {
  if (!view.ledger.shares().next() || is_any_ready(view))
    return {}; // nobody waits, or not for this
  const auto shares = view.ledger.projected_without(lease.id());
  const auto beneficiaries = view.ledger.beneficiaries(lease.id());
  if (const auto next = left_behind(view, shares, beneficiaries))
    return {shares.seconds(number_of(*next)) <= 0
              || seconds_to_last(view, totals, lease) <= 0,
            false};
  if (!is_nearer_its_end(view, totals, chosen, lease)
      || !may_be_interrupted(view, shares, beneficiaries))
    return {};
  return {lease.progress.outranked, true};
}

step_t yield_at(const merge_view& view, const usage_totals& totals,
                const running_lease& lease) {
  auto at = lease.progress.reached + 1;
  if (const auto left = seconds_to_last(view, totals, lease); left > 0) {
    const auto& where = lease.work.stages[stage_index(lease.work, at)];
    const auto span =
      left
      + seconds_between(lease.progress.reported, view.ledger.advanced_to());
    at += static_cast<step_t>(
      span
      / (view.chooser.tree().seconds_per_step(where.node)
         * view.estimates.slowdown(
           view.kinds.kind_of_trainer(lease.trainer),
           static_cast<double>(view.leases.trainer(lease.trainer).leases))));
  }
  return at;
}

} // namespace hippo
