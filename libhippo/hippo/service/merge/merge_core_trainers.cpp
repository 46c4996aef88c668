#include "hippo/service/merge/merge_core.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "hippo/base/first_line.hpp"
#include "hippo/base/text.hpp"
#include "hippo/model/checkpoint_path.hpp"

// What trainers say: reports, ends of leases, heartbeats.

namespace hippo {

namespace {

using level = merge_effect::log_line::level;

/// A trainer stalls when something takes so many times as long as expected.
constexpr double stall_factor = 10;

/// The time between two heartbeats counts as that at most: the service itself
/// may have stood still.
constexpr double heartbeat_gap_max = 10;

/// A trainer that says for so long what it does, and does not say it of a
/// lease, has not got it, or has dropped it: one that lives takes a lease up at
/// once, however slow what it trains is. A large lease comes over a slow line
/// first.
constexpr double missed_seconds_max = 4;
/// The time between two such heartbeats counts as that at most: who has many
/// leases names one after the other, and heartbeats come late.
constexpr double missed_gap_max = 1.5;
constexpr double lease_bytes_per_second_min = 64 << 10;

double seconds(std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

bool all_finite(const metrics& xs) {
  return std::all_of(xs.begin(), xs.end(),
                     [](const auto& kvp) { return std::isfinite(kvp.second); });
}

/// Whether the way in which a workload is run may be why it has failed.
bool is_of_running(errc x) {
  return x != errc::cancelled && x != errc::diverged && x != errc::io_failed;
}

/// Whether a lease has reached a state that it measures and has yet to report.
bool is_measuring(const running_lease& x) {
  const auto at = x.progress.heartbeat_at;
  const auto& stops = x.work.stops;
  const auto& added = x.progress.added_measurements;
  return x.is_to_report(at)
         && (std::any_of(
               stops.begin(), stops.end(),
               [&](const stop_point& y) { return y.at == at && y.evaluate; })
             || std::find(added.begin(), added.end(), at) != added.end());
}

/// Whether what a report says it left is named after the state it is of. Any
/// other file is another lease's, or nobody's.
bool names_its_own_file(const stop_report& x) {
  return !x.saved || x.saved->file == checkpoint_name(x.node, x.at, x.lease);
}

/// Whether a report can be of a lease: of a state on its way, with the training
/// that leads there.
bool is_of(const lease& work, const stop_report& x) {
  const auto* where = stage_reaching(work, x.at);
  return where && x.node == where->node && x.identity == where->identity
         && names_its_own_file(x);
}

} // namespace

// -- messages -----------------------------------------------------------------

bool merge_core::refuse_other_metrics(const stop_report& report,
                                      reply_address from) {
  const auto is_one = [&](const std::string& name) {
    return report.values.contains(name);
  };
  if (report.values.empty() || options_.metrics.empty()
      || std::ranges::any_of(options_.metrics, is_one))
    return false;
  auto why = "lease " + to_string(report.lease) + " reports '"
             + report.values.begin()->first + "' of step "
             + std::to_string(report.at) + ", but none of the metrics of "
             + options_.workload.name;
  log(level::error, why);
  if (leases_.find(report.lease))
    distrust(report.lease, std::move(why));
  outbox_.acknowledge(from, ack{report.lease, report.at});
  reconcile();
  return true;
}

void merge_core::on(merge_event::reported& event) {
  if (refuse_other_metrics(event.report, event.from))
    return;
  const auto* lease = leases_.find(event.report.lease);
  if (!lease) {
    take_late(std::move(event.report), event.from);
    return;
  }
  if (const bool is_its_own =
        is_of(lease->work, event.report) && !lease->is_follower();
      !is_its_own
      || !kinds_.may_keep(lease->work.stages.back().node,
                          event.report.device)) {
    auto why = "trainer " + to_string(lease->trainer) + " reports step "
               + std::to_string(event.report.at) + " of node "
               + to_string(event.report.node) + " for lease "
               + to_string(event.report.lease) + ", made on "
               + event.report.device + ", which is not of it";
    log(level::error, why);
    if (is_its_own)
      cancel(lease->id()); // its tree has begun anew elsewhere
    else
      distrust(lease->id(), std::move(why));
    outbox_.acknowledge(event.from, ack{event.report.lease, event.report.at});
    reconcile();
    return;
  }
  if (!lease->is_to_report(event.report.at)) {
    take_late(std::move(event.report), event.from); // it has come before
    return;
  }
  take_report(*lease, std::move(event.report), event.from);
}

void merge_core::on(merge_event::resent& event) {
  if (refuse_other_metrics(event.report, event.from))
    return;
  take_late(std::move(event.report), event.from);
}

void merge_core::on(merge_event::lease_ended& event) {
  if (leases_.find(event.end.lease))
    end_lease(std::move(event.end));
}

void merge_core::end_lease(lease_end end) {
  const auto id = end.lease;
  if (leases_.find(id)->is_follower()) {
    end_follower(std::move(end));
    return;
  }
  ledger_.advance(now_);
  const auto culprit =
    end.failure ? culprit_of(id, *end.failure) : std::nullopt;
  if (!end.failure)
    for (auto follower : leases_.followers_of(id))
      losses_.note_ended(leases_.find(follower)->trainer);
  wind_down_together(id);
  end_followers(id);
  leases_.count_leases(leases_.find(id)->trainer, now_);
  auto ended = leases_.end(id);
  kinds_.end(id);
  const bool is_to_blame = hold_to_account(ended, end);
  const bool is_lost_gang =
    ended.work.gang && end.failure && end.failure->code == errc::gang_lost;
  // Its trainers go on at once where nobody else waits for them:
  // with other members, or with more.
  const bool regroups =
    (!end.failure || is_lost_gang)
    && (ended.work.gang || (joins() && ended.progress.ends_early));
  if (is_lost_gang) {
    if (!ended.progress.is_loss_counted && !ended.progress.is_cancelled)
      count_gang_loss(ended, culprit, first_line(end.failure->message));
    log(level::warning,
        "lease " + to_string(id) + " of trainer " + to_string(ended.trainer)
          + ": " + first_line(end.failure->message)
          + (culprit ? "; this member is " + named(*culprit) : std::string{}));
    if (!ended.progress.is_cancelled)
      judge_lost_gang(ended, first_line(end.failure->message));
  } else if (end.failure) {
    take_failure(ended, end);
    recheck_all(); // trials may have failed with it
  } else {
    retries_.note_success(ended.trainer);
    settings_.note_success(ended.work.workload.settings);
    losses_.note_ended(ended.trainer);
  }
  if (is_to_blame) {
    effects_.push_back(merge_effect::blame_trainer{
      ended.trainer, first_line(end.failure->message)});
    leases_.wind_down(ended.trainer);
  }
  plan_.end_lease(id);
  studies_.follow_ended_lease();
  if (regroups)
    leases_.set_free(ended.trainer);
  reconcile();
  ledger_.end(id);
  if (regroups && !leases_.has(ended.trainer))
    return; // nobody has a use for it
  if (regroups && !leases_.trainer(ended.trainer).yields)
    return;
  if (leases_.trainer(ended.trainer).leases == 0) {
    release(ended.trainer);
    return;
  }
  leases_.set_free(ended.trainer);
  if (!leases_.trainer(ended.trainer).yields)
    place_trainers();
}

void merge_core::on(merge_event::malformed& event) {
  if (!leases_.has(event.trainer))
    return;
  auto why = "trainer " + to_string(event.trainer) + ": " + event.why;
  log(level::error, why);
  for (auto id : leases_.leases_of(event.trainer))
    distrust(id, why);
}

void merge_core::on(merge_event::heartbeat& event) {
  notify_spent();
  give_back_collected();
  miss_others(event.trainer, event.lease);
  const auto* lease = leases_.find(event.lease);
  if (!lease || lease->trainer != event.trainer)
    return;
  auto& progress = leases_.progress(event.lease);
  if (is_overdue(progress))
    cancel(event.lease);
  const auto gap = seconds_between(progress.heartbeat, now_);
  assert(gap >= 0);
  progress.heartbeat = now_;
  progress.taken_up = true;
  progress.missed.reset();
  progress.missed_seconds = 0;
  progress.still_seconds += std::min(gap, heartbeat_gap_max);
  progress.unreported_seconds += std::min(gap, heartbeat_gap_max);
  // Training goes on, and not beyond what was leased.
  if (event.at > progress.heartbeat_at
      && event.at <= lease->work.stages.back().end) {
    progress.heartbeat_at = event.at;
    if (!lease->is_follower())
      note_progress(progress);
  }
  if (lease->is_follower())
    return; // its lead's progress is its own
  const bool is_still = progress.still_seconds > stall_seconds(*lease);
  const auto untold_max = unreported_seconds_max(*lease);
  if (!is_still && !(untold_max && progress.unreported_seconds > *untold_max)) {
    make_room_for_newcomers(*lease);
    return;
  }
  const auto span = is_still ? progress.still_seconds
                             : progress.unreported_seconds;
  const auto why = std::string{is_still ? "no step" : "no report"} + " for "
                   + std::to_string(static_cast<std::uint64_t>(span))
                   + " s, at step " + std::to_string(event.at);
  // What its other lanes train stands still as well.
  cancel_all(event.trainer);
  effects_.push_back(merge_effect::give_back_stalled{event.trainer, why});
  if (leases_.trainer(event.trainer).leases > 1) { // by whichever of them
    for (auto id : leases_.leases_of(event.trainer))
      if (const auto& one = *leases_.find(id); !one.is_told())
        take_loss(one, "it made " + why, retry_policy::loss::stalled);
    remove_trainer(event.trainer);
    return;
  }
  lease_end end;
  end.lease = event.lease;
  end.at = std::max(progress.heartbeat_at, progress.reached);
  end.failure = error{errc::training_failed,
                      "trainer " + to_string(event.trainer) + " made " + why};
  if (is_measuring(*lease))
    end.during = lease_part::measuring;
  take_failure(*lease, end);
  recheck_all(); // trials may have failed with it
  remove_trainer(event.trainer);
}

void merge_core::make_room_for_newcomers(const running_lease& lease) {
  const auto next = ledger_.shares().next();
  if (!next || ledger_.shares().seconds(*next) > 0 || lease.progress.ends_early)
    return;
  ledger_.advance(now_);
  const auto what = preempt(view(), usage_.totals(), options_.policy, lease);
  if (what.ends && !what.outranked)
    end_early(lease, lease.progress.reached + 1);
}

bool merge_core::hold_to_account(running_lease& lease, lease_end& end) {
  auto& progress = lease.progress;
  const bool is_dropped = end.failure && end.failure->code == errc::cancelled;
  const auto trainer = "trainer " + to_string(lease.trainer);
  std::string why;
  if (end.failure && !is_dropped)
    return false;
  if (!progress.fault.empty() && !lease.is_told())
    why = progress.fault;
  else if (progress.is_cancelled)
    return false;
  else if (is_dropped)
    why = trainer + " handed a lease back unasked, which had got to step "
          + std::to_string(progress.reached) + ": "
          + first_line(end.failure->message);
  else if (!lease.is_told() && !progress.ends_early && !progress.has_recorded)
    why = trainer + " ended a lease without having done anything of it";
  else
    return false;
  // It may have crossed the trainer's leave, as may others of this trainer.
  if (is_dropped && progress.fault.empty() && !progress.taken_up
      && ((leases_.has(lease.trainer) && leases_.trainer(lease.trainer).yields)
          || retries_.may_hand_back(lease.trainer))) {
    end.at = lease.work.stages.front().begin; // it leaves
    return false;
  }
  end.at = progress.reached;
  end.during = lease_part::training;
  end.failure = error{retries_.is_start_doubted(lease) ? errc::bad_checkpoint
                                                       : errc::training_failed,
                      std::move(why)};
  return true;
}

void merge_core::miss_others(trainer_id trainer, lease_id at) {
  if (!leases_.has(trainer))
    return;
  std::vector<lease_id> dropped;
  for (const auto id : leases_.leases_of(trainer)) {
    const auto& lease = *leases_.find(id);
    if (id == at || lease.progress.has_ended)
      continue;
    auto& progress = leases_.progress(id);
    const auto before = std::exchange(progress.missed, now_);
    if (!before)
      continue;
    progress.missed_seconds
      += std::min(seconds_between(*before, now_), missed_gap_max);
    const auto most
      = missed_seconds_max
        + (progress.taken_up ? 0
                             : static_cast<double>(lease.bytes)
                                 / lease_bytes_per_second_min);
    if (progress.missed_seconds > most)
      dropped.push_back(id);
  }
  for (const auto id : dropped) {
    auto& progress = leases_.progress(id);
    progress.taken_up = true; // or never would be
    effects_.push_back(merge_effect::send_cancel{trainer, id});
    lease_end end;
    end.lease = id;
    end.at = progress.reached;
    end.failure = error{errc::cancelled,
                        "it says that it does something else, or nothing"};
    end_lease(std::move(end));
  }
}

// -- reports ------------------------------------------------------------------

void merge_core::learn(const running_lease& lease, const stop_report& report,
                       double span, double leases) {
  if (report.trained_steps > 0) {
    const auto& speed_key =
      lease.speed_keys[stage_index(lease.work, report.at)];
    estimates_.learn_size(report.size);
    if (lease.work.gang && ranks_ == 1)
      estimates_.learn_gang_step(speed_key, report.trained_steps,
                                 seconds(report.train_ns), report.device,
                                 lease.members());
    else
      estimates_.learn_step(speed_key, report.trained_steps,
                            seconds(report.train_ns), report.device, leases);
    for (const auto& y : estimates_.take_drifts())
      log(level::warning,
          y.kind + " trains " + (y.now > y.before ? "slower" : "faster")
            + " than before: a step of " + options_.workload.name
            + (y.speed_key.empty() ? "" : " (" + y.speed_key + ')') + " takes "
            + significant(y.now, 3) + " s, not " + significant(y.before, 3)
            + " s");
    compare_kinds();
  }
  // Members measure together. Where they have not trained, it is the time until
  // all were there as well.
  if (report.evaluate_ns > 0 && (!lease.work.gang || report.trained_steps > 0))
    estimates_.learn(timed::evaluate,
                     seconds(report.evaluate_ns)
                       * estimates_.speedup(
                         &report.device,
                         lease.speed_keys[stage_index(lease.work, report.at)],
                         lease.members()),
                     report.device);
  if (report.saved)
    estimates_.learn(timed::save, seconds(report.save_ns), report.device);
  if (report.load_ns > 0)
    estimates_.learn(timed::load, seconds(report.load_ns), report.device);
  // What other lanes do meanwhile is no part of it.
  const auto told = seconds(report.load_ns + report.train_ns
                            + report.evaluate_ns + report.save_ns);
  if (!lease.progress.has_reported
      && leases_.trainer(lease.trainer).leases == 1)
    estimates_.learn(timed::dispatch, std::max(0.0, span - told),
                     report.device);
}

void merge_core::compare_kinds() {
  if (estimates_.kinds() < 2
      || std::exchange(facts_version_, estimates_.version())
           == estimates_.version())
    return;
  auto speeds = estimates_.speeds();
  if (!differ(speeds, facts_.speeds))
    return;
  facts_.speeds = std::move(speeds);
  announced_demand_.reset(); // announce it anew, with these
}

void merge_core::keep(const stop_report& report,
                      const std::optional<recorded>& news,
                      const std::string* trainer) {
  assert(names_its_own_file(report) && (!news || news->node == report.node));
  if (news && (news->measured || news->saved))
    kinds_.keep(news->node, report.device);
  if (news && !report.output.empty())
    outbox_.add(output_added{key_, {news->node, report.at, report.output}});
  if (news && news->measured)
    outbox_.add(
      result_added{key_,
                   {news->node, report.at, report.values, report.device,
                    trainer ? *trainer : std::string{}}});
  if (!report.saved)
    return;
  if (news && news->saved) {
    retention_.add(*report.saved);
    outbox_.add(checkpoint_added{
      key_, {news->node, report.at, *report.saved, report.device}});
    return;
  }
  if (plan_.has_node(report.node)) { // not of a report that was here before
    const auto& known = plan_.node(report.node).checkpoints;
    if (const auto i = known.find(report.at);
        i != known.end() && i->second.file == report.saved->file)
      return;
  }
  give_up(report.node, report.at, *report.saved);
}

void merge_core::give_up(node_id node, step_t at,
                         const checkpoint& checkpoint) {
  given_up_.push_back(checkpoint.file);
  if (given_up_.size() > evicted_max)
    given_up_.pop_front();
  outbox_.add(checkpoint_removed{key_, node, at, checkpoint.file});
  outbox_.delete_file(checkpoint_path(options_.folder, checkpoint));
}

void merge_core::leave_out_given_up(stop_report& report) {
  if (!report.saved || !plan_.has_node(report.node))
    return;
  const auto& node = plan_.node(report.node);
  if (node.checkpoints.count(report.at) > 0)
    return; // the first one counts
  if (node.results.count(report.at) == 0
      && std::find(given_up_.begin(), given_up_.end(), report.saved->file)
           == given_up_.end())
    return;
  leave_out_saved(report);
}

void merge_core::leave_out_saved(stop_report& report) {
  if (report.saved)
    outbox_.delete_file(checkpoint_path(options_.folder, *report.saved));
  report.saved.reset();
}

/// Leaves out a state some of whose parts are in files that are not kept, or
/// are others than it was saved with.
void merge_core::leave_out_partial(stop_report& report) {
  if (!report.saved)
    return;
  const auto is_kept = [this](const part_file& x) {
    const auto origin = origin_of(x.file);
    if (!origin || !plan_.has_node(origin->node))
      return false;
    const auto& known = plan_.node(origin->node).checkpoints;
    const auto i = known.find(origin->at);
    return i != known.end() && i->second.file == x.file
           && i->second.bytes == x.bytes && i->second.digest == x.digest;
  };
  if (!std::ranges::all_of(report.saved->part_files, is_kept))
    leave_out_saved(report);
}

void merge_core::take_late(stop_report x, reply_address from) {
  if (!names_its_own_file(x)) {
    log(level::error, "a late report of lease " + to_string(x.lease)
                        + " at step " + std::to_string(x.at) + " names "
                        + x.saved->file + ", which is not of it");
    outbox_.acknowledge(from, ack{x.lease, x.at});
    reconcile();
    return;
  }
  if (!all_finite(x.values) || plan_.refused_names(x.values))
    x.values.clear(); // to be found out again
  leave_out_given_up(x);
  leave_out_partial(x);
  // Its tree may have begun anew on another kind of device.
  const bool is_of_kind
    = !plan_.has_node(x.node) || kinds_.may_keep(x.node, x.device);
  const auto news = is_of_kind ? plan_.adopt(x) : std::nullopt;
  keep(x, news);
  if (news && (news->measured || news->saved)) {
    retries_.note_recorded(news->node, x.at);
    usage_.count_steps(x.trained_steps);
    recheck_all();
    log(level::info, "took in a late report of lease " + to_string(x.lease)
                       + " at step " + std::to_string(x.at));
  }
  outbox_.acknowledge(from, ack{x.lease, x.at});
  reconcile();
}

void merge_core::take_report(const running_lease& lease, stop_report x,
                             reply_address from) {
  const auto id = lease.id();
  effects_.push_back(merge_effect::note_alive{lease.trainer});
  ledger_.advance(now_);
  auto unreported_since = now_;
  for (const auto other : leases_.leases_of(lease.trainer))
    if (other != id)
      unreported_since = std::min(unreported_since,
                                  leases_.progress(other).reported);
  const auto span = usage_.book(lease, x, now_, unreported_since);
  learn(lease, x, span, leases_.take_mean_leases(id, now_));
  auto& progress = leases_.progress(id);
  if (span > 0 && x.trained_steps > 0)
    progress.steps_per_second = static_cast<double>(x.trained_steps) / span;
  progress.reported = now_;
  progress.reached = x.at;
  progress.has_reported = progress.taken_up = true;
  progress.unreported_seconds = progress.missed_seconds = 0;
  progress.missed.reset();
  note_progress(progress);
  leases_.set_present(lease.trainer, lease.work.lane,
                      x.saved ? x.saved->file : std::string{});
  if (!all_finite(x.values)) {
    x.values.clear(); // the trainer ends the lease as diverged
    leave_out_saved(x);
  }
  leave_out_partial(x);
  recheck_.insert(id);
  const auto refused = plan_.refused_names(x.values);
  if (refused)
    x.values.clear();
  const auto news = plan_.record(x);
  if (news && refused) {
    failed_under_.erase(x.node); // under any settings
    plan_.diverge(x.node, x.at, {errc::resource_exhausted, *refused});
  }
  if (news && (news->measured || news->saved))
    for (auto other : retries_.note_recorded(lease, x.at))
      effects_.push_back(merge_effect::blame_trainer{
        other, "failed at what trainer " + to_string(lease.trainer)
                 + " could train"});
  progress.has_recorded |= news && (news->measured || news->saved);
  if (news && x.saved)
    progress.saved = x.at;
  if (x.saved)
    retries_.note_kept(lease.trainer);
  keep(x, news, &names_[lease.trainer]);
  outbox_.acknowledge(from, ack{x.lease, x.at});
  follow_lead(lease, x);
  reconcile();
  const auto& next = lease.work.stages[stage_index(lease.work, x.at + 1)];
  const auto waiting = chooser_.waiting_for(next, x.at);
  ledger_.serve(id, waiting);
  for (auto follower : leases_.followers_of(id))
    ledger_.serve(follower, waiting);
  const auto preempted
    = preempt(view(), usage_.totals(), options_.policy, lease);
  progress.outranked = preempted.outranked;
  if (preempted.ends)
    end_early(lease, x.at + 1);
}

void merge_core::take_failure(const running_lease& lease,
                              const lease_end& end) {
  log(level::warning, "lease " + to_string(end.lease) + " of trainer "
                        + to_string(lease.trainer) + " failed at step "
                        + std::to_string(end.at) + ": "
                        + first_line(end.failure->message));
  if (is_of_running(end.failure->code))
    settings_.note_failure(lease.work.workload.settings);
  const auto node = lease.work.stages.back().node;
  const auto what = retries_.judge(
    lease, end, plan_,
    [&](trainer_id other) { return kinds_.may_train(other, node); },
    [&](const stage& where, step_t from) {
      return settings_waiting(where, from);
    });
  // What fails takes no device time, or little: it would always be next.
  if (end.failure->code != errc::cancelled
      && end.failure->code != errc::diverged) {
    ledger_.charge(lease.id(), fair_shares::quantum_seconds);
    effects_.push_back(merge_effect::note_failure{
      lease.trainer, first_line(end.failure->message)});
  }
  // It may be what it runs that could not be read.
  if (options_.kept_code_text && end.failure->code == errc::io_failed
      && !lease.progress.has_reported)
    effects_.push_back(merge_effect::restore_code{options_.kept_code_text});
  carry_out(what, lease, *end.failure);
}

void merge_core::take_loss(const running_lease& lease, const std::string& why,
                           retry_policy::loss how) {
  const auto node = lease.work.stages.back().node;
  ledger_.charge(lease.id(), fair_shares::quantum_seconds);
  carry_out(retries_.judge_lost(
              lease, why,
              [&](trainer_id other) { return kinds_.may_train(other, node); },
              [&](const stage& where, step_t from) {
                return settings_waiting(where, from);
              },
              how),
            lease, {});
}

std::vector<settings_table::settings>
merge_core::settings_waiting(const stage& where, step_t from) const {
  std::vector<settings_table::settings> result;
  for (auto study : chooser_.waiting_for(where, from))
    result.push_back(settings_.of(study));
  return result;
}

/// @param why what the trainer said
void merge_core::carry_out(const verdict& what, const running_lease& lease,
                           const error& why) {
  if (const auto* again = std::get_if<retry>(&what)) {
    if (again->trainer_leaves)
      leases_.wind_down(lease.trainer);
  } else if (const auto* cool = std::get_if<cool_down>(&what)) {
    leases_.wind_down(lease.trainer);
    effects_.push_back(merge_effect::cool_down_trainer{
      lease.trainer, cool->span, first_line(cool->unable)});
  } else if (const auto* diverged = std::get_if<mark_diverged>(&what)) {
    // What is said of one state twice is not about measuring it. The initial
    // one is there: what cannot be reached is the next.
    if (!plan_.diverge(diverged->node, diverged->at, why)) {
      failed_under_.erase(diverged->node); // under any
      plan_.fail(diverged->node, std::max<step_t>(diverged->at, 1), why);
    }
  } else if (const auto* unmeasured = std::get_if<fail_measuring>(&what)) {
    failed_under_.insert_or_assign(unmeasured->node, unmeasured->under);
    if (!plan_.diverge(unmeasured->node, unmeasured->at, unmeasured->reason))
      plan_.fail(unmeasured->node, unmeasured->at, unmeasured->reason);
  } else if (const auto* file = std::get_if<forget_checkpoint>(&what)) {
    forget_damaged(plan_.node(file->node).checkpoints.at(file->at));
  } else if (const auto* failed = std::get_if<fail_from>(&what)) {
    failed_under_.insert_or_assign(failed->node, failed->under);
    plan_.fail(failed->node, failed->at, failed->reason);
  }
}

bool merge_core::holds_for(node_id failed, study_no study) const {
  const auto i = failed_under_.find(failed);
  return settings_.is_uniform() || i == failed_under_.end()
         || i->second.count(settings_.of(study)) > 0;
}

void merge_core::note_progress(reported_progress& progress) {
  if (!progress.first_step_seconds) {
    progress.first_step_seconds = progress.still_seconds;
    estimates_.learn_first_step(progress.still_seconds);
  }
  progress.still_seconds = 0;
}

double merge_core::stall_seconds(const running_lease& lease) const {
  const auto seconds_in = [](std::chrono::milliseconds span) {
    return std::chrono::duration<double>(span).count();
  };
  const auto expected = expected_seconds(lease);
  return std::max(seconds_in(options_.stall_max),
                  expected ? stall_factor * *expected
                           : seconds_in(options_.unmeasured_stall_max));
}

std::optional<double>
merge_core::expected_seconds(const running_lease& lease) const {
  const auto index = stage_index(lease.work, lease.progress.heartbeat_at + 1);
  const auto* kind = kinds_.kind_of_trainer(lease.trainer);
  // At worst, all of its leases take turns.
  const auto leases =
    static_cast<double>(leases_.trainer(lease.trainer).leases);
  const auto step =
    leases * estimates_.step_seconds(lease.speed_keys[index], kind);
  const auto measure
    = leases
      * (estimates_.evaluate_seconds(kind) + estimates_.save_seconds(kind));
  const auto& first = lease.progress.first_step_seconds;
  if (!first) {
    const auto known = estimates_.first_step_seconds();
    return known ? std::optional{*known + step + measure} : std::nullopt;
  }
  if (is_measuring(lease))
    return estimates_.has_evaluated() ? std::optional{measure} : std::nullopt;
  return estimates_.has_trained() ? step + measure : *first;
}

std::optional<double>
merge_core::unreported_seconds_max(const running_lease& lease) const {
  if (!estimates_.has_trained())
    return std::nullopt;
  const auto reached = lease.progress.reached;
  const auto* next = lease.next_stop();
  const auto to = next ? next->at : lease.work.stages.back().end;
  const auto* kind = kinds_.kind_of_trainer(lease.trainer);
  auto expected = estimates_.first_step_seconds().value_or(0)
                  + estimates_.evaluate_seconds(kind)
                  + estimates_.save_seconds(kind);
  for (std::size_t i = 0; i < lease.work.stages.size(); ++i) {
    const auto& stage = lease.work.stages[i];
    const auto begin = std::max(stage.begin, reached);
    const auto end = std::min(stage.end, to);
    if (begin < end)
      expected += static_cast<double>(end - begin)
                  * estimates_.step_seconds(lease.speed_keys[i], kind);
  }
  // At worst, all of its leases take turns.
  expected *= static_cast<double>(leases_.trainer(lease.trainer).leases);
  return std::max(
    std::chrono::duration<double>(options_.stall_max).count(),
    stall_factor * expected);
}

} // namespace hippo
