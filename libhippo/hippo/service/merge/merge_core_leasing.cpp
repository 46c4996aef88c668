#include "hippo/service/merge/merge_core.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "hippo/model/repeats.hpp"
#include "hippo/service/merge/rank_groups.hpp"
#include "hippo/service/merge/save_interval.hpp"

// Who is given what to train.

namespace hippo {

namespace {

/// How long a trainer gets no work for which there is nothing but what it has
/// failed at.
constexpr std::chrono::milliseconds failed_cool_down{1000};

/// What the pool is told where a study could start more: as many as it likes.
constexpr std::uint64_t any_number_of_trainers = UINT32_MAX;

/// Cuts a path off after so many steps.
void shorten(std::vector<stage>& stages, step_t steps) {
  assert(!stages.empty());
  const auto end = stages.front().begin + steps;
  while (stages.back().begin >= end)
    stages.pop_back();
  stages.back().end = std::min(stages.back().end, end);
  assert(!stages.empty());
}

/// About how many bytes a configuration takes in a message.
std::size_t bytes_of(const configuration& x) {
  constexpr std::size_t bytes_of_form = 128;
  std::size_t result = 0;
  for (const auto& [name, shape] : x)
    result += bytes_of_form + name.size() + shape.word.size();
  return result;
}

/// Adds the stops of a stage. One without length ends where the next begins.
void append_stops(std::vector<stop_point>& to,
                  const std::vector<stop_point>& stops) {
  for (const auto& stop : stops)
    if (!to.empty() && to.back().at == stop.at) {
      to.back().evaluate |= stop.evaluate;
      to.back().save |= stop.save;
    } else {
      assert(to.empty() || to.back().at < stop.at);
      to.push_back(stop);
    }
}

} // namespace

merge_view merge_core::view() const {
  return {plan_,    estimates_, chooser_,  leases_,        ledger_,
          retries_, kinds_,     settings_, &facts_.speeds, ranks_};
}

void merge_core::place_trainers() {
  give_up_unreachable();
  while (place_one())
    flush_effects();
  shrink_gangs();
  resize_gangs();
  offer_capacity();
  if (ranks_ > 1)
    collecting_.hold(idle_parts(view()), now_);
  announce_demand();
}

bool merge_core::place_one() {
  for (auto x : full_trainers(view()))
    leases_.set_aside(x);
  if (leases_.free_trainers().empty() || !is_leasing())
    return false;
  ledger_.advance(now_);
  auto next = next_placement(view());
  if (!next)
    return false;
  if (!next->where) {
    short_of_time_ = why_short_of_time(view(), next->what);
    if (release_unsuited())
      return true;
    if (!is_any_ready(view()))
      return false; // they wait for others of their like
    const auto waiting = collected(view());
    cool_down_idle();
    const auto free = leases_.free_trainers();
    for (auto x : free)
      if (!waiting.contains(x))
        leases_.set_aside(x);
    return true;
  }
  // The pool may have a trainer that the path would have for itself.
  const bool pool_has_none = announced_demand_.value_or(0) > 0
                             && demands_answered_ == demands_announced_;
  if (next->where->leases > 0 && !pool_has_none) {
    // Those without a lease may take nothing of what waits, or they would have
    // been chosen: they must not come back at once.
    if (!leases_.idle_trainers().empty()) {
      if (release_unsuited())
        return true;
      cool_down_idle();
    }
    return false;
  }
  const auto trainer = next->where->trainer;
  const auto helpers = helpers_for(trainer, next->what);
  begin_lease(trainer, std::move(next->what), helpers);
  return true;
}

void merge_core::choose_settings(lease& to) const {
  const auto waiting = [this](const stage& x) {
    return chooser_.waiting_for(x, x.begin);
  };
  auto& stages = to.stages;
  const auto& chosen = settings_for(view(), stages);
  to.workload.settings = chosen;
  if (settings_.is_uniform())
    return;
  const auto others
    = std::find_if(stages.begin() + 1, stages.end(), [&](const stage& x) {
        return !settings_.is_of_any(chosen, waiting(x));
      });
  stages.erase(others, stages.end());
}

running_lease merge_core::make_lease(trainer_id trainer, path chosen,
                                     const std::vector<trainer_id>& helpers) {
  running_lease result;
  result.trainer = trainer;
  if (const auto i = names_.find(trainer); i != names_.end())
    result.trainer_name = i->second;
  auto& work = result.work;
  work.lane = lane_for(leases_.trainer(trainer), chosen);
  work.number = leases_.next_id();
  work.workload = options_.workload;
  work.folder = options_.folder;
  work.code = options_.code;
  work.token = options_.folder_token;
  work.depot = options_.depot_port;
  work.start = std::move(chosen.start);
  work.base = retention_.base();
  work.stages = std::move(chosen.stages);
  choose_settings(work);
  shorten(work.stages, options_.lease_steps_max);
  fit_time_limit(view(), trainer, work.start, work.stages);
  for (auto x : helpers)
    fit_time_limit(view(), x, work.start, work.stages);
  if (!helpers.empty()) {
    auto& gang = work.gang.emplace();
    gang.lead = work.number;
    gang.members.push_back(leases_.trainer(trainer).gang_address);
    for (auto x : helpers)
      gang.members.push_back(leases_.trainer(x).gang_address);
    gang.secret = gang_secret(options_.gang_key, work.number);
  }
  const auto* kind = kinds_.kind_of_trainer(trainer);
  const auto slowdown = estimates_.slowdown(
    kind, static_cast<double>(leases_.trainer(trainer).leases + 1));
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < work.stages.size(); ++i) {
    auto& stage = work.stages[i];
    stage.config = plan_.config_of(stage.node);
    bytes += bytes_of(stage.config);
    if (i > 0 && bytes > options_.lease_bytes_max) {
      work.stages.resize(i);
      break;
    }
    stage.identity = plan_.node(stage.node).identity;
    const auto& key = result.speed_keys.emplace_back(
      estimates_.speed_key(stage.config, stage.begin));
    // The time of ranks does not depend on the trainers that hold them.
    const auto faster =
      ranks_ > 1 ? 1 : estimates_.speedup(kind, key, result.members());
    const auto step = estimates_.step_seconds(key, kind) * slowdown / faster;
    const auto save_every = static_cast<step_t>(
      std::ceil(save_seconds_apart(trainer) / std::max(step, 1e-6)));
    append_stops(work.stops, plan_.stops_of(stage.node, stage.begin, stage.end,
                                            save_every));
  }
  take_seed(work);
  result.bytes = bytes;
  auto& progress = result.progress;
  progress.reached = progress.saved = work.stages.front().begin;
  progress.heartbeat_at = progress.reached;
  progress.granted = progress.reported = progress.heartbeat = now_;
  progress.leases_counted = now_;
  return result;
}

void merge_core::begin_lease(trainer_id trainer, path chosen,
                             const std::vector<trainer_id>& helpers) {
  short_of_time_.clear();
  auto lease = make_lease(trainer, std::move(chosen), helpers);
  const auto& first = lease.work.stages.front();
  ledger_.begin(lease.id(), trainer, chooser_.waiting_for(first, first.begin));
  effects_.push_back(merge_effect::send_lease{trainer, lease.work});
  const auto node = lease.work.stages.back().node;
  if (estimates_.kinds() > 1 && kinds_.kind_of_tree(node) == nullptr)
    estimates_.outdate();
  kinds_.begin(lease.work.number, node, trainer);
  plan_.begin_lease(lease.work);
  leases_.count_leases(trainer, now_);
  const auto id = lease.id();
  leases_.begin(std::move(lease));
  if (helpers.empty())
    return;
  begin_followers(*leases_.find(id), helpers);
  if (ranks_ == 1)
    return;
  collecting_.note_begun();
  for (auto x : leases_.members_of(id))
    if (collecting_.is_asked_back(leases_.find(x)->trainer)) {
      leases_.wind_down(leases_.find(x)->trainer);
      yield_together(x);
    }
}

void merge_core::cool_down_idle() {
  const auto waiting = collected(view());
  for (auto x : leases_.idle_trainers()) {
    if (waiting.contains(x))
      continue;
    effects_.push_back(merge_effect::cool_down_trainer{
      x, failed_cool_down, {}});
    release(x);
  }
}

bool merge_core::release_unsuited() {
  if (!kinds_.are_several())
    return false;
  const auto wanted = wanted_kinds();
  if (wanted.empty())
    return false;
  bool result = false;
  const auto free = leases_.free_trainers();
  for (auto x : free) {
    if (wanted.count(*kinds_.kind_of_trainer(x)) > 0)
      continue;
    result = true;
    if (leases_.trainer(x).leases == 0)
      release(x);
    else
      leases_.set_aside(x);
  }
  return result;
}

std::set<std::string> merge_core::wanted_kinds() const {
  std::set<std::string> result;
  if (!kinds_.are_several() || !is_leasing())
    return result;
  bool is_any = false;
  chooser_.for_each_first([&](node_id node) {
    const auto kind = kinds_.kind_of(node);
    is_any = !kind;
    if (kind)
      result.insert(*kind);
    return !is_any;
  });
  if (is_any)
    result.clear();
  return result;
}

void merge_core::offer_capacity() {
  if (leases_.free_trainers().empty())
    return;
  if (is_leasing() && studies_.is_awaiting_any())
    return;
  const auto offers = is_leasing() ? divide_capacity(view(), studies_)
                                   : capacity_offers{};
  for (auto i : offers.ids())
    if (offers[i] > 0) {
      studies_.count_offer(i);
      effects_.push_back(merge_effect::offer_capacity{i, offers[i]});
    }
  if (offers.size() > 0)
    return;
  const auto kept = kept_helpers();
  for (auto x : leases_.idle_trainers())
    if (!kept.contains(x))
      release(x);
}

void merge_core::announce_demand() {
  // A trainer for each path: none is sooner done beside others.
  std::uint64_t demand = is_leasing() ? chooser_.runnable_count() : 0;
  if (ranks_ > 1)
    demand = trainers_lacking(view(), demand, usual_members_);
  double weight = 0;
  for (auto i : studies_.ids()) {
    const bool more = studies_.wants_capacity(i);
    if (more && is_leasing())
      demand = any_number_of_trainers;
    if (more || plan_.is_waiting(i))
      weight += ledger_.shares().weight(number_of(i));
  }
  if (weight == 0)
    weight = announced_weight_; // nothing waits, and nothing will be leased
  // More trials begin once there is a trainer for what waits: those of other
  // kinds would come and go.
  auto kinds = wanted_kinds();
  auto help = helpers();
  if (weight == 0
      || (demand == announced_demand_ && weight == announced_weight_
          && kinds == announced_kinds_ && help == announced_helpers_))
    return;
  announced_demand_ = demand;
  announced_weight_ = weight;
  announced_kinds_ = kinds;
  announced_helpers_ = help;
  ++demands_announced_;
  effects_.push_back(merge_effect::announce_demand{
    weight, demand, std::move(kinds), facts_, std::move(help)});
}

double merge_core::save_seconds_apart(trainer_id trainer) const {
  return save_interval(estimates_.save_seconds(kinds_.kind_of_trainer(trainer)),
                       between_interruptions_.at(trainer),
                       options_.save_every_seconds);
}

void merge_core::end_early(const running_lease& lease, step_t at) {
  if (at >= lease.work.stages.back().end)
    return;
  leases_.progress(lease.id()).ends_early = true;
  effects_.push_back(merge_effect::send_stop{
    lease.trainer,
    {lease.work.number, {.at = at, .save = true, .last = true}}});
}

void merge_core::release(trainer_id trainer) {
  assert(leases_.trainer(trainer).leases == 0);
  leases_.remove(trainer);
  forget_trainer(trainer);
  effects_.push_back(merge_effect::release_trainer{trainer});
}

/// Forgets what is known of a trainer that has no lease any more.
void merge_core::forget_trainer(trainer_id trainer) {
  kinds_.remove_trainer(trainer);
  names_.erase(trainer);
  usage_.forget(trainer);
  between_interruptions_.erase(trainer);
  ledger_.forget_price(trainer);
}

void merge_core::remove_trainer(trainer_id trainer, const std::string& died) {
  retries_.forget(trainer);
  if (!leases_.has(trainer))
    return;
  ledger_.advance(now_);
  losses_.forget(trainer);
  for (auto id : leases_.leases_of(trainer))
    if (!leases_.find(id)->is_follower())
      end_followers(id);
  for (const auto& lease : leases_.remove(trainer)) {
    const bool is_loss = !died.empty() && !lease.is_told();
    if (lease.is_follower()) {
      ledger_.end(lease.id());
      kinds_.end(lease.id());
      break_gang(lease.work.gang->lead,
                 is_loss ? std::optional{error{errc::gang_lost, died}}
                         : std::nullopt,
                 std::nullopt);
      continue;
    }
    if (is_loss && lease.work.gang) {
      if (!lease.progress.is_loss_counted)
        count_gang_loss(lease, std::nullopt, died);
      judge_lost_gang(lease, died);
    } else if (is_loss) {
      take_loss(lease, died,
                lease.progress.taken_up ? retry_policy::loss::gone
                                        : retry_policy::loss::untaken);
    }
    log(merge_effect::log_line::level::info,
        "lease " + to_string(lease.id())
          + " is free again from step "
          + std::to_string(lease.progress.reached));
    ledger_.end(lease.id());
    kinds_.end(lease.work.number);
    plan_.end_lease(lease.work.number);
  }
  forget_trainer(trainer);
  studies_.follow_ended_lease();
  recheck_all(); // trials may have failed with it
  reconcile();
}

void merge_core::cancel_all(trainer_id trainer) {
  for (auto id : leases_.leases_of(trainer))
    cancel(id);
}

void merge_core::cancel(lease_id lease) {
  leases_.progress(lease).is_cancelled = true;
  effects_.push_back(
    merge_effect::send_cancel{leases_.find(lease)->trainer, lease});
}

void merge_core::distrust(lease_id lease, std::string why) {
  leases_.progress(lease).fault = std::move(why);
  cancel(lease);
}

} // namespace hippo
