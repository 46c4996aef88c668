#include "hippo/service/merge/merge_core.hpp"

#include <algorithm>
#include <cassert>
#include <string>

#include "hippo/base/text.hpp"
#include "hippo/service/merge/rank_groups.hpp"

// Trials of several ranks: trainers that hold only some of these are collected
// until they hold all, for a while, and joined.

namespace hippo {

using level = merge_effect::log_line::level;

void merge_core::give_up_unreachable() {
  if (ranks_ == 1)
    return;
  for (auto x : leases_.idle_trainers()) {
    const bool is_reached = !leases_.trainer(x).gang_address.empty()
                            && !options_.gang_key.empty()
                            && losses_.may_join(x);
    if (members_needed(view(), x) == 1 || is_reached)
      continue;
    const auto reason = losses_.reason(x);
    auto why = counted(gang_losses::losses_max, "gang")
               + " in a row were lost because of it: "
               + (reason.empty() ? "others do not reach it" : reason);
    log(level::warning, named(x) + ": " + why);
    effects_.push_back(merge_effect::cool_down_trainer{
      x, retry_policy::cool_down_last, std::move(why)});
    release(x);
    announced_demand_.reset();
  }
}

void merge_core::give_back_collected() {
  if (!collecting_.is_due(now_))
    return;
  const auto waiting = idle_parts(view());
  const auto span = collecting_.give_back();
  log(level::info, "gives back " + counted(waiting.size(), "trainer")
                     + ", too few for trials of " + counted(ranks_, "rank")
                     + ", and tries again in "
                     + std::to_string(span.count() / 1000) + " s");
  for (auto x : waiting) {
    effects_.push_back(merge_effect::cool_down_trainer{x, span, {}, true});
    release(x);
  }
  place_trainers();
}

void merge_core::yield_together(lease_id member) {
  const auto& x = *leases_.find(member);
  const auto& lead = x.is_follower() ? *leases_.find(x.work.gang->lead) : x;
  if (!lead.progress.ends_early)
    end_early(lead, yield_at(view(), usage_.totals(), lead));
}

void merge_core::wind_down_together(lease_id lead) {
  if (ranks_ == 1)
    return;
  const auto members = leases_.members_of(lead);
  const auto trainer_of = [this](lease_id x) {
    return leases_.find(x)->trainer;
  };
  if (std::ranges::any_of(members, [&](lease_id x) {
        return leases_.trainer(trainer_of(x)).yields;
      }))
    for (auto x : members)
      leases_.wind_down(trainer_of(x));
}

void merge_core::judge_lost_gang(const running_lease& lead,
                                 const std::string& why) {
  const auto& where =
    lead.work.stages[stage_index(lead.work, lead.progress.reached + 1)];
  if (ranks_ == 1 || losses_.may_share({where}))
    return; // or so few that it may be chance
  take_loss(lead, why,
            lead.progress.taken_up ? retry_policy::loss::gone
                                   : retry_policy::loss::untaken);
  recheck_all();
}

void merge_core::check_ranks() const {
#ifndef NDEBUG
  if (ranks_ == 1)
    return;
  const auto now = view();
  for (const auto& [id, x] : leases_.leases()) {
    assert(x.members() == members_needed(now, x.trainer));
    assert(x.members() * leases_.trainer(x.trainer).ranks == ranks_);
    if (x.is_follower() || !x.work.gang)
      continue;
    std::set<std::uint32_t> places;
    for (auto member : leases_.members_of(id)) {
      const auto& y = *leases_.find(member);
      assert(leases_.trainer(y.trainer).leases == 1);
      assert(leases_.trainer(y.trainer).ranks
             == leases_.trainer(x.trainer).ranks);
      assert(*kinds_.kind_of_trainer(y.trainer)
             == *kinds_.kind_of_trainer(x.trainer));
      assert(y.work.gang->rank < x.members());
      places.insert(y.work.gang->rank);
    }
    assert(places.size() == leases_.members_of(id).size());
    assert(x.progress.broken || places.size() == x.members());
  }
#endif
}

} // namespace hippo
