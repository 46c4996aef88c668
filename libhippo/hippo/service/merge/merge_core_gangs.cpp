#include "hippo/service/merge/merge_core.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "hippo/base/first_line.hpp"
#include "hippo/service/merge/rank_groups.hpp"

// Trainers that train a path together: when they join, and how it ends.

namespace hippo {

namespace {

using level = merge_effect::log_line::level;

/// A lead whose gang is broken notices within 30 s, as the others do; after so
/// long its lease is cancelled.
constexpr double broken_seconds_max = 60;

/// Where a lease is.
step_t state_of(const running_lease& x) {
  return std::max(x.progress.reached, x.progress.heartbeat_at);
}

/// Returns when the last of those leases ends that are not in a group, in
/// seconds: to end sooner than that is of no use to anybody.
double seconds_of_others(const merge_view& view, const gang_group& group) {
  double result = 0;
  for (const auto& [id, x] : view.leases.leases())
    if (!x.is_follower() && !x.is_told()
        && !std::ranges::binary_search(group.leases, id)) {
      const auto at = state_of(x);
      const auto speedup = view.estimates.speedup(
        view.kinds.kind_of_trainer(x.trainer),
        x.speed_keys[stage_index(x.work, at + 1)], x.members());
      result = std::max(result,
                        view.chooser.seconds_left(x.work.stages, at) / speedup);
    }
  return result;
}

} // namespace

// -- joining ------------------------------------------------------------------

bool merge_core::has_nothing_else() const {
  return chooser_.runnable_count() == 0 && !studies_.any_wants_capacity();
}

std::vector<trainer_id>
merge_core::idle_members(const std::string& kind) const {
  std::vector<trainer_id> result;
  for (auto x : leases_.idle_trainers())
    if (!leases_.trainer(x).gang_address.empty()
        && *kinds_.kind_of_trainer(x) == kind)
      result.push_back(x);
  // Trainers that may not join are here as well, or they would be granted
  // again.
  std::ranges::stable_partition(
    result, [this](trainer_id x) { return losses_.may_join(x); });
  return result;
}

std::vector<trainer_id> merge_core::helpers_for(trainer_id trainer,
                                                const path& chosen) const {
  const auto now = view();
  if (ranks_ > 1) {
    auto all = members_for(now, trainer, chosen);
    assert(!all.empty());
    return {all.begin() + 1, all.end()};
  }
  if (!joins() || leases_.trainer(trainer).leases > 0
      || !may_join(now, losses_, trainer)
      || !may_share(now, losses_, chosen.stages)
      || studies_.any_wants_capacity())
    return {};
  // Each path that waits has a trainer first.
  const auto idle = leases_.idle_trainers().size();
  auto waiting = chooser_.startable_seconds(idle);
  if (idle <= waiting.size())
    return {};
  std::ranges::sort(waiting, std::greater{});
  if (!waiting.empty())
    waiting.erase(waiting.begin()); // of the chosen path
  const auto kind = *kinds_.kind_of_trainer(trainer);
  const auto& stages = chosen.stages;
  const auto own = training_seconds(now, stages, stages.front().begin);
  auto result = idle_members(kind);
  std::erase_if(result, [&](trainer_id x) {
    return x == trainer || !losses_.may_join(x)
           || !may_help(now, x, stages, settings_for(now, stages), own);
  });
  // Running leases get them first where they last longer, and gain so much that
  // it is worth to be handed over.
  const auto handover =
    leases_.begun() > 0 ? handover_seconds(now, usage_.totals()) : 0;
  const auto much = handover_gain_min * handover;
  gang_group group;
  if (auto all = gang_groups(now, losses_, much); all.contains(kind))
    group = std::move(all.at(kind));
  gang_candidate fresh;
  fresh.left = chooser_.seconds_left(stages, stages.front().begin);
  fresh.own = own;
  fresh.least_gain = handover;
  fresh.speedup =
    speedup_of(now, &kind,
               estimates_.speed_key(plan_.config_of(stages.front().node),
                                    stages.front().begin));
  const auto place = group.candidates.size();
  group.candidates.push_back(fresh);
  // Those that are leased next have as many as this one where they are as long.
  for (auto x : waiting) {
    fresh.left = fresh.own = x;
    group.candidates.push_back(fresh);
  }
  const auto members = choose_members(
    group.candidates, options_.parts,
    std::min<std::uint64_t>(idle - 1 - waiting.size(), result.size()),
    seconds_of_others(now, group));
  // Others may have to end early before there are as many.
  auto count = members[place];
  while (count - 1 > result.size())
    count /= 2;
  result.resize(count - 1);
  return result;
}

void merge_core::begin_followers(const running_lease& lead,
                                 const std::vector<trainer_id>& helpers) {
  assert(!helpers.empty() && lead.work.gang);
  const auto& stages = lead.work.stages;
  const auto waiting =
    chooser_.waiting_for(stages.front(), stages.front().begin);
  for (std::uint32_t i = 0; i < helpers.size(); ++i) {
    const auto trainer = helpers[i];
    auto x = lead;
    x.trainer = trainer;
    x.trainer_name = names_.at(trainer);
    x.work.number = leases_.next_id();
    x.work.lane = lane_for(leases_.trainer(trainer), {x.work.start, {}});
    x.work.gang->rank = i + 1;
    x.work.stops = {{stages.back().end, false, false}};
    ledger_.begin(x.id(), trainer, waiting);
    kinds_.begin(x.id(), stages.back().node, trainer);
    leases_.count_leases(trainer, now_);
    effects_.push_back(merge_effect::send_lease{trainer, x.work});
    leases_.begin(std::move(x));
  }
}

void merge_core::resize_gangs() {
  if (!joins() || !is_leasing() || !has_nothing_else()
      || demands_answered_ != demands_announced_
      || (leases_.idle_trainers().empty() && !leases_.has_gangs())
      || leases_.leases().empty() || !estimates_.has_saved())
    return;
  ledger_.advance(now_);
  const auto now = view();
  const auto least_gain =
    handover_gain_min * handover_seconds(now, usage_.totals());
  for (const auto& [kind, group] : gang_groups(now, losses_, least_gain)) {
    auto idle = idle_members(kind);
    std::erase_if(idle, [&](trainer_id x) {
      if (!losses_.may_join(x))
        return true;
      for (std::size_t i = 0; i < group.leases.size(); ++i) {
        const auto& lease = leases_.find(group.leases[i])->work;
        if (!may_help(now, x, lease.stages, lease.workload.settings,
                      group.candidates[i].own))
          return true;
      }
      return false;
    });
    const auto members =
      choose_members(group.candidates, options_.parts, idle.size(),
                     seconds_of_others(now, group));
    auto left = idle.size();
    for (std::size_t i = 0; i < members.size(); ++i)
      if (const auto& x = *leases_.find(group.leases[i]);
          members[i] != x.members() && !x.progress.ends_early) {
        if (members[i] > x.members()) {
          if (members[i] - x.members() > left)
            continue;
          left -= members[i] - x.members();
        }
        end_early(x, state_of(x) + 1);
      }
  }
}

void merge_core::shrink_gangs() {
  if (ranks_ > 1 || !leases_.has_gangs() || !is_leasing() || has_nothing_else()
      || announced_demand_.value_or(0) == 0
      || demands_answered_ != demands_announced_)
    return;
  ledger_.advance(now_);
  const auto now = view();
  struct gang {
    double left = 0;
    lease_id lead{};
    unsigned members = 1;
  };
  std::vector<gang> all;
  std::uint64_t freed = 0; // soon
  for (const auto& [id, x] : leases_.leases())
    if (x.members() > 1 && !x.is_follower()) {
      if (x.progress.ends_early || x.progress.is_cancelled || x.is_told())
        freed += x.members() - 1;
      else
        all.push_back(
          {chooser_.seconds_left(x.work.stages, state_of(x)), id, x.members()});
    }
  const bool is_any = studies_.any_wants_capacity();
  // Only of trainers that may take a path that waits.
  const auto is_for_them = [&](const path& waiting, const gang& x) {
    const auto& lead = *leases_.find(x.lead);
    const auto& by = settings_for(now, waiting.stages);
    return may_help(now, lead.trainer, waiting.stages, by, 0)
           || std::ranges::any_of(
             leases_.followers_of(x.lead), [&](lease_id id) {
               return may_help(now, leases_.find(id)->trainer, waiting.stages,
                               by, 0);
             });
  };
  if (!is_any) {
    const auto waiting = chooser_.choose([&](const path& what) {
      return std::ranges::any_of(
        all, [&](const gang& x) { return is_for_them(what, x); });
    });
    if (!waiting)
      return;
    std::erase_if(all,
                  [&](const gang& x) { return !is_for_them(*waiting, x); });
  }
  const std::uint64_t wanted = is_any ? UINT64_MAX : chooser_.runnable_count();
  std::ranges::sort(all, {}, [](const gang& x) {
    return std::pair{x.left, x.lead};
  });
  for (const auto& x : all) {
    if (freed >= wanted)
      return;
    const auto& lead = *leases_.find(x.lead);
    end_early(lead, state_of(lead) + 1);
    freed += x.members - 1;
  }
}

// -- messages to the pool ----------------------------------------------------

std::map<std::string, std::uint64_t> merge_core::helpers_needed() const {
  std::map<std::string, std::uint64_t> result;
  if (!joins() || !is_leasing() || !has_nothing_else()
      || leases_.leases().empty())
    return result;
  const auto now = view();
  const auto least_gain =
    handover_gain_min * handover_seconds(now, usage_.totals());
  for (const auto& [kind, group] : gang_groups(now, losses_, least_gain)) {
    const auto members =
      choose_members(group.candidates, options_.parts, UINT64_MAX,
                     seconds_of_others(now, group));
    for (std::size_t i = 0; i < members.size(); ++i)
      result[kind] += members[i] - group.candidates[i].members;
  }
  return result;
}

std::set<trainer_id> merge_core::kept_helpers() const {
  if (ranks_ > 1)
    return is_leasing() && !has_nothing_else() ? collected(view())
                                               : std::set<trainer_id>{};
  std::set<trainer_id> result;
  for (const auto& [kind, needed] : helpers_needed()) {
    auto idle = idle_members(kind);
    idle.resize(std::min<std::size_t>(idle.size(), needed));
    result.insert(idle.begin(), idle.end());
  }
  return result;
}

helper_demand merge_core::helpers() const {
  helper_demand result;
  if (ranks_ > 1) { // others get these soon
    result.helping = idle_parts(view());
    return result;
  }
  for (const auto& kvp : leases_.leases())
    if (kvp.second.is_follower())
      result.helping.insert(kvp.second.trainer);
  for (const auto& [kind, needed] : helpers_needed()) {
    const auto idle = idle_members(kind);
    result.helping.insert(idle.begin(), idle.end());
    if (needed <= idle.size())
      continue;
    result.trainers += needed - idle.size();
    result.kinds.insert(kind);
  }
  return result;
}

// -- the end of a gang --------------------------------------------------------

running_lease merge_core::drop_follower(lease_id follower) {
  leases_.count_leases(leases_.find(follower)->trainer, now_);
  auto result = leases_.end(follower);
  kinds_.end(follower);
  ledger_.end(follower);
  return result;
}

void merge_core::end_followers(lease_id lead) {
  for (auto id : leases_.followers_of(lead)) {
    const auto x = drop_follower(id);
    // It ends by itself, but not if it does not hear of it.
    if (!x.progress.has_ended)
      effects_.push_back(merge_effect::send_cancel{x.trainer, id});
    if (leases_.trainer(x.trainer).yields)
      release(x.trainer);
    else
      leases_.set_free(x.trainer);
  }
}

void merge_core::end_follower(lease_end end) {
  const auto id = end.lease;
  const auto lead = leases_.find(id)->work.gang->lead;
  const auto code = end.failure ? end.failure->code : errc::gang_lost;
  ledger_.advance(now_);
  if (code == errc::gang_lost) {
    // The lead ends as well, or has.
    leases_.progress(id).has_ended = true;
    if (end.failure)
      log(level::warning, "lease " + to_string(id) + " of trainer "
                            + to_string(leases_.find(id)->trainer) + ": "
                            + first_line(end.failure->message));
    break_gang(lead, end.failure,
               end.failure ? culprit_of(lead, *end.failure) : std::nullopt);
    return;
  }
  const auto x = drop_follower(id);
  log(level::warning, "lease " + to_string(id) + " of " + named(x.trainer)
                        + ", which helps with lease " + to_string(lead)
                        + ", failed: " + first_line(end.failure->message));
  break_gang(lead, end.failure, x.trainer);
  if (code != errc::cancelled)
    effects_.push_back(
      merge_effect::note_failure{x.trainer, first_line(end.failure->message)});
  if (code == errc::cannot_start || code == errc::missing_data
      || code == errc::io_failed)
    carry_out(retries_.judge(x, end, plan_), x, *end.failure);
  release(x.trainer);
  reconcile();
}

void merge_core::break_gang(lease_id lead, const std::optional<error>& why,
                            std::optional<trainer_id> culprit) {
  auto& progress = leases_.progress(lead);
  if (!progress.broken)
    progress.broken = now_;
  const auto& x = *leases_.find(lead);
  if (!progress.is_loss_counted && why)
    count_gang_loss(x, culprit, first_line(why->message));
  // Should it go on all the same.
  if (!progress.ends_early)
    end_early(x, state_of(x) + 1);
}

void merge_core::count_gang_loss(const running_lease& lead,
                                 std::optional<trainer_id> culprit,
                                 const std::string& why) {
  const auto& where =
    lead.work.stages[stage_index(lead.work, lead.progress.reached + 1)];
  losses_.note_lost(where.node, culprit, why);
  if (leases_.find(lead.id()))
    leases_.progress(lead.id()).is_loss_counted = true;
}

std::string merge_core::named(trainer_id trainer) const {
  const auto i = names_.find(trainer);
  return "trainer " + to_string(trainer)
         + (i == names_.end() ? std::string{} : " (" + i->second + ')');
}

std::optional<trainer_id> merge_core::culprit_of(lease_id lead,
                                                 const error& why) const {
  const auto* first = leases_.find(lead);
  if (!first || !first->work.gang)
    return std::nullopt;
  const auto rank = named_member(*first->work.gang, why.message);
  if (rank == 0)
    return first->trainer;
  for (auto id : leases_.followers_of(lead))
    if (const auto& x = *leases_.find(id); x.work.gang->rank == rank)
      return x.trainer;
  return std::nullopt;
}

void merge_core::follow_lead(const running_lease& lead,
                             const stop_report& report) {
  auto theirs = report;
  theirs.trained_steps = 0; // they are the lead's
  const auto& now = lead.progress;
  for (auto id : leases_.followers_of(lead.id())) {
    usage_.book(*leases_.find(id), theirs, now_, now_);
    auto& progress = leases_.progress(id);
    progress.reported = now_;
    progress.reached = now.reached;
    progress.saved = now.saved;
    progress.has_reported = now.has_reported;
    progress.steps_per_second = now.steps_per_second;
    effects_.push_back(merge_effect::note_alive{leases_.find(id)->trainer});
  }
}

bool merge_core::is_overdue(const reported_progress& lead) const {
  return lead.broken && !lead.is_cancelled
         && seconds_between(*lead.broken, now_) > broken_seconds_max;
}

} // namespace hippo
