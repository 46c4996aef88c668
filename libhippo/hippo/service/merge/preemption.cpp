#include "hippo/service/merge/preemption.hpp"

#include <algorithm>
#include <cassert>

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
                       const running_lease& x) {
  return handover_lasting_min * handover_seconds(view, totals)
         - seconds_between(x.progress.granted, view.ledger.advanced_to());
}

preemption preempt(const merge_view& view, const usage_totals& totals,
                   policy chosen, const running_lease& x) {
  if (!view.ledger.shares().next() || !view.leases.free_trainers().empty())
    return {}; // nobody waits, or not for this
  const auto shares = view.ledger.projected_without(x.id());
  const auto beneficiaries = view.ledger.beneficiaries(x.id());
  if (const auto next = left_behind(view, shares, beneficiaries))
    return {shares.seconds(number_of(*next)) <= 0
              || seconds_to_last(view, totals, x) <= 0,
            false};
  if (!is_nearer_its_end(view, totals, chosen, x)
      || !may_be_interrupted(view, shares, beneficiaries))
    return {};
  return {x.progress.outranked, true};
}

step_t yield_at(const merge_view& view, const usage_totals& totals,
                const running_lease& x) {
  auto at = x.progress.reached + 1;
  if (const auto left = seconds_to_last(view, totals, x); left > 0) {
    const auto& where = x.work.stages[stage_index(x.work, at)];
    const auto span = left
                      + seconds_between(x.progress.reported,
                                        view.ledger.advanced_to());
    at += static_cast<step_t>(
      span
      / (view.chooser.tree().seconds_per_step(where.node)
         * view.estimates.slowdown(
           view.kinds.kind_of_trainer(x.trainer),
           static_cast<double>(view.leases.trainer(x.trainer).leases))));
  }
  return at;
}

} // namespace hippo
