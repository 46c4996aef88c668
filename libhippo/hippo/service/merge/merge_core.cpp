#include "hippo/service/merge/merge_core.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "hippo/service/merge/rank_groups.hpp"

namespace hippo {

namespace {

using level = merge_effect::log_line::level;

/// Of the device time that a study has had, less than this waits to be stored.
constexpr double served_seconds_min = 1;

} // namespace

merge_core::merge_core(merger_options options, moment begun)
  : options_(std::move(options)), ranks_(ranks_of(options_.workload)),
    key_(key_of(options_.workload)),
    kept_(options_.kept ? std::exchange(options_.kept, nullptr)
                        : std::make_shared<kept_plan>(
                          waiting_limits{}, options_.workload.any_device)),
    plan_(kept_->plan), kinds_(kept_->kinds),
    retention_(kept_->checkpoint_bytes, options_.checkpoint_bytes_max,
               kept_->base),
    estimates_(options_.speed_names, key_,
               std::exchange(options_.other_steps, {})),
    chooser_(plan_, estimates_, options_.policy,
             [this](node_id node) { return kinds_.kind_of_tree(node); }),
    studies_(plan_, kept_->resource()), leases_(options_.first_lease),
    ledger_(begun), retries_(options_.attempts_max),
    usage_(begun, options_.trained),
    given_up_(options_.evicted.begin(), options_.evicted.end()), now_(begun) {
  if (const auto timings = std::exchange(options_.timings, {});
      !timings.empty())
    estimates_.begin_with(timings);
  else if (const auto known = options_.trained.step_seconds(); known > 0)
    estimates_.begin_with(known);
  compare_kinds();
  plan_.set_failure_filter([this](node_id failed, study_no study) {
    return holds_for(failed, study);
  });
  plan_.set_unpacked_max(options_.unpacked_nodes_max);
  plan_.pack_idle();
  check_invariants();
}

merge_core::effects merge_core::apply(any_merge_event event, moment now) {
  assert(now >= now_);
  assert(effects_.empty());
  now_ = now;
  std::visit([this](auto& x) { on(x); }, event);
  plan_.pack_idle();
  check_invariants();
  return std::exchange(effects_, {});
}

// -- from studies and the service ---------------------------------------------

bool merge_core::has_study(study_no study, const char* what) {
  if (studies_.has(study) && !studies_.has_left(study))
    return true;
  log(level::warning, "ignored " + std::string{what} + " for study "
                        + to_string(study) + " of "
                        + std::to_string(studies_.size()));
  return false;
}

void merge_core::on(merge_event::study_added& event) {
  ledger_.add_study(event.study.weight, event.study.device_seconds,
                    event.study.cost);
  settings_.add(event.study.settings);
  studies_.add(event.study);
  facts_.complexity = std::max(facts_.complexity, event.study.complexity);
  plan_.forget_passing_failures(); // their cause may be gone by now
}

void merge_core::on(merge_event::orders_given& event) {
  if (!has_study(event.study, "orders"))
    return;
  if (const auto why =
        studies_.apply(event.study, event.orders, options_.merge))
    log(level::error, "ignored orders of study " + to_string(event.study) + ": "
                        + why->message);
  if (!event.orders.dropped.empty())
    recheck_all();
  reconcile();
}

void merge_core::on(merge_event::weight_set& event) {
  if (!has_study(event.study, "a weight"))
    return;
  if (!(event.weight > 0) || std::isinf(event.weight)) {
    log(level::warning, "ignored the weight " + std::to_string(event.weight)
                          + " for study " + to_string(event.study)
                          + ": it must be a number greater than 0");
    return;
  }
  ledger_.advance(now_);
  ledger_.set_weight(event.study, event.weight);
  reconcile();
}

void merge_core::on(merge_event::budget_raised& event) {
  if (!has_study(event.study, "a larger budget"))
    return;
  ledger_.advance(now_);
  ledger_.raise(event.study, event.device_seconds, event.cost);
  reconcile();
}

void merge_core::on(merge_event::paused_set& event) {
  if (!has_study(event.study, event.paused ? "a pause" : "an end of a pause"))
    return;
  studies_.set_paused(event.study, event.paused);
  recheck_all();
  reconcile();
}

void merge_core::on(merge_event::study_left& event) {
  if (!has_study(event.study, "an end"))
    return;
  studies_.leave(event.study);
  recheck_all();
  reconcile();
}

void merge_core::on(merge_event::started&) {
  started_ = true;
  reconcile();
}

void merge_core::on(merge_event::halted&) {
  halted_ = true;
  // What was trained is saved, so that nobody trains it again.
  for (const auto& [id, x] : leases_.leases())
    if (!x.is_follower())
      end_early(x, std::max(x.progress.reached, x.progress.heartbeat_at) + 1);
  reconcile();
}

void merge_core::on(merge_event::retiring&) {
  retiring_ = halted_ = true;
  for (const auto& [id, x] : leases_.leases())
    if (!x.is_follower())
      cancel(id);
  reconcile();
}

void merge_core::on(merge_event::budget_set& event) {
  retention_.set_limit(event.bytes);
  reconcile();
}

void merge_core::on(merge_event::committed& event) {
  for (const auto& [to, report] : outbox_.committed(event.number))
    effects_.push_back(merge_effect::send_ack{to, report});
  note_retired();
}

void merge_core::on(merge_event::time_passed&) {
  ledger_.advance(now_);
  notify_spent();
}

// -- from the pool ------------------------------------------------------------

void merge_core::on(merge_event::granted& event) {
  if (leases_.has(event.trainer)) {
    log(level::error,
        "trainer " + to_string(event.trainer) + " was granted twice");
    return;
  }
  if (!is_any_ready(view()))
    studies_.await_all();
  leases_.add(event.trainer,
              options_.code.file.empty() ? event.at_once : event.code_at_once,
              event.seconds_left
                ? std::optional{now_ + span_of(*event.seconds_left)}
                : std::nullopt,
              std::move(event.gang), event.ranks);
  usual_members_ = members_needed(view(), event.trainer);
  names_[event.trainer] = std::move(event.name);
  between_interruptions_[event.trainer] = event.seconds_between_interruptions;
  ledger_.set_price(event.trainer, event.price);
  kinds_.add_trainer(event.trainer, std::move(event.kind));
  announced_demand_.reset(); // the pool has counted one off: announce it anew
  place_trainers();
}

void merge_core::on(merge_event::lost& event) {
  remove_trainer(event.trainer, event.why);
}

void merge_core::on(merge_event::trainer_back& event) {
  retries_.note_back(event.name);
  place_trainers(); // what was left to others need not be
}

void merge_core::on(merge_event::able_trainers& event) {
  std::set<trainer_id> able;
  for (const auto& kvp : event.trainers)
    able.insert(able.end(), kvp.first);
  retries_.set_able(std::move(able));
  kinds_.set_able(std::move(event.trainers));
  // A trainer that leaves ends the gangs that it leads itself.
  for (const auto& [id, x] : leases_.leases())
    if (x.is_follower() && retries_.is_unable(x.trainer))
      break_gang(x.work.gang->lead, std::nullopt, std::nullopt);
  for (auto x : collected(view()))
    if (retries_.is_unable(x)) // or others of its like are too few
      release(x);
  place_trainers(); // what was left to others may be left to nobody
}

void merge_core::on(merge_event::yield_asked& event) {
  if (!leases_.has(event.trainer))
    return; // it has been released
  const auto running = leases_.leases_of(event.trainer);
  if (running.empty()) {
    if (collecting_.ask_back(event.trainer))
      give_back_collected();
    else
      release(event.trainer);
    return;
  }
  leases_.wind_down(event.trainer);
  ledger_.advance(now_);
  if (ranks_ > 1 && leases_.find(running.front())->work.gang) {
    yield_together(running.front());
    return;
  }
  for (auto id : running) {
    const auto& lease = *leases_.find(id);
    if (lease.is_follower()) { // others may have it at once
      const auto& lead = *leases_.find(lease.work.gang->lead);
      end_early(lead, lead.progress.reached + 1);
    } else {
      end_early(lease, yield_at(view(), usage_.totals(), lease));
    }
  }
}

void merge_core::on(merge_event::demand_answered&) {
  assert(demands_answered_ < demands_announced_);
  if (++demands_answered_ == demands_announced_)
    place_trainers();
}

// -- what follows from a change of the plan -----------------------------------

void merge_core::reconcile() {
  flush_effects();
  place_trainers();
}

void merge_core::flush_effects() {
  chooser_.update(plan_.take_changed());
  evict();
  chooser_.update(plan_.take_changed());
  for (const auto& x : plan_.take_added_stops())
    if (const auto* lease = leases_.find(x.lease)) {
      if (x.stop.evaluate)
        leases_.progress(lease->id()).added_measurements.push_back(x.stop.at);
      effects_.push_back(
        merge_effect::send_stop{lease->trainer, {x.lease, x.stop}});
    }
  cancel_orphaned_leases();
  record_new_nodes();
  for (auto study : studies_.take_quiesced())
    effects_.push_back(merge_effect::notify_quiesced{study});
  notify_spent();
  record_news();
  if (auto commit = outbox_.next_commit())
    effects_.push_back(merge_effect::commit{std::move(*commit)});
  note_retired();
  note_waiting();
}

void merge_core::notify_spent() {
  if (!ledger_.has_budgets())
    return;
  ledger_.advance(now_);
  for (const auto& x : ledger_.take_spent())
    effects_.push_back(merge_effect::notify_spent{x.study, x.what, x.raises});
}

void merge_core::evict() {
  if (!retention_.is_due())
    return;
  const auto victims = retention_.choose_victims(plan_, chooser_.tree(),
                                                 !leases_.leases().empty());
  for (const auto& x : victims)
    evict_checkpoint(x.node, x.at);
  retention_.note_evicted();
  log(level::info, "evicted " + std::to_string(victims.size())
                     + " checkpoints, " + std::to_string(retention_.bytes())
                     + " bytes are left");
}

void merge_core::evict_checkpoint(node_id node, step_t at) {
  const auto& known = plan_.node(node).checkpoints;
  const auto i = known.find(at);
  assert(i != known.end());
  const auto file = i->second;
  plan_.forget_checkpoint(node, at);
  retention_.remove(file);
  suspected_.erase(file.file);
  give_up(node, at, file);
}

/// The first time, only the checkpoint's own file counts as damaged, and not
/// the files of others that hold parts of it.
void merge_core::forget_damaged(checkpoint damaged) {
  bool is_first = true;
  for (const auto& x : damaged.part_files)
    is_first &= suspected_.insert(x.file).second;
  if (is_first)
    damaged.part_files.clear();
  for (const auto& x : damaged_with(plan_, damaged))
    evict_checkpoint(x.node, x.at);
}

bool merge_core::is_waited_for(const running_lease& lease) const {
  const auto& stages = lease.work.stages;
  const auto reached = lease.progress.reached;
  return std::any_of(stages.begin(), stages.end(), [&](const stage& s) {
    if (s.begin == s.end) // only to measure
      return plan_.node(s.node).wants.count(s.end) > 0;
    // What waits beyond its end is nearer with it.
    return s.end > reached
           && chooser_.tree().is_waited_for(s.node,
                                            std::max(s.begin, reached));
  });
}

void merge_core::cancel_orphaned_leases() {
  for (auto id : std::exchange(recheck_, {}))
    if (const auto* lease = leases_.find(id);
        lease && !is_waited_for(*lease) && !lease->is_told())
      cancel(id);
}

void merge_core::record_new_nodes() {
  for (auto id : plan_.take_made()) {
    const auto& x = plan_.node(id);
    outbox_.add(node_added{
      key_, {id, x.parent, x.begin, x.strand, plan_.config_of(id)}});
  }
}

void merge_core::record_news() {
  if (const auto unstored = usage_.take_unstored(key_))
    outbox_.add(*unstored);
  for (auto& x : estimates_.take_unstored())
    outbox_.add(timing_learned{key_, std::move(x)});
  for (const auto& [study, seconds, cost] :
       ledger_.take_served(halted_ ? 0 : served_seconds_min))
    outbox_.add(study_served{studies_.stored_id(study), seconds, cost});
  for (auto& [study, news] : studies_.take_news()) {
    for (const auto& x : news)
      outbox_.add(event_added{studies_.stored_id(study), key_, x});
    outbox_.notify(study, std::move(news));
  }
}

void merge_core::note_waiting() {
  for (auto i : studies_.ids())
    ledger_.set_waiting(i, chooser_.is_runnable(i)
                             || studies_.wants_capacity(i));
}

void merge_core::note_retired() {
  if (!retiring_ || !leases_.leases().empty() || !outbox_.is_empty())
    return;
  effects_.push_back(merge_effect::retired{usage_.trained_steps()});
  retiring_ = false;
}

void merge_core::recheck_all() {
  for (const auto& [id, x] : leases_.leases())
    if (!x.is_follower())
      recheck_.insert(id);
}

// -- looking ------------------------------------------------------------------

merger_status merge_core::status() const {
  merger_status result;
  result.figures = plan_.figures();
  for (auto i : studies_.ids()) {
    result.by_study.add(plan_.figures(i));
    result.segments[studies_.stored_id(i)] += plan_.segments(i);
  }
  result.trained_steps = usage_.trained_steps();
  result.reused_steps = plan_.restored_steps();
  result.runnable_paths = chooser_.runnable_count();
  result.startable_stages =
    is_leasing() ? chooser_.startable_count(startable_stages_max) : 0;
  result.memory_bytes = memory_bytes();
  result.device_seconds = usage_.totals().busy_seconds;
  result.wait_seconds = usage_.totals().wait_seconds;
  result.step_seconds = usage_.step_seconds();
  const auto own = usage_.trained().own_step_seconds(
    estimates_.mean_step_seconds() * trainers_of_path());
  result.alone_seconds
    = static_cast<double>(result.figures.delivered_steps) * own;
  result.saved_seconds
    = static_cast<double>(result.figures.shared_steps) * own;
  for (const auto& [id, x] : leases_.leases()) {
    const auto reached = x.progress.reached;
    const auto& where = x.work.stages[stage_index(x.work, reached + 1)];
    std::vector<study_id> studies;
    for (const auto study : ledger_.beneficiaries(id))
      studies.push_back(studies_.stored_id(study));
    result.running.push_back(
      {x.trainer, x.work.lane, where.config, std::move(studies), reached,
       x.work.stages.back().end, x.progress.steps_per_second, x.members()});
  }
  result.hindered = hindrance();
  if (leases_.leases().empty() && chooser_.runnable_count() > 0)
    result.short_of_time = short_of_time_;
  return result;
}

std::string merge_core::hindrance() const {
  const auto& running = leases_.leases();
  if ((running.empty() && chooser_.runnable_count() == 0)
      || std::any_of(running.begin(), running.end(), [&](const auto& kvp) {
           return !retries_.is_hindered(kvp.second.trainer);
         }))
    return {};
  return retries_.hindrance();
}

std::uint64_t merge_core::memory_bytes() const {
  return kept_->memory_bytes() + (kept_->cold ? 0 : studies_.cold_bytes())
         + chooser_.tree().memory_bytes()
         + usage_.totals().timeline.size() * sizeof(busy_record);
}

merger_overview merge_core::overview() const {
  merger_overview result;
  static_cast<usage_totals&>(result) = usage_.totals();
  result.status = status();
  result.workload_key = key_;
  result.lanes = leases_.most_lanes();
  result.trainers = trainers_of_path();
  result.stages = hippo::overview(plan_);
  for (auto i : studies_.ids()) {
    result.study_seconds.add(ledger_.shares().seconds(number_of(i)));
    result.study_costs.add(ledger_.cost(i));
  }
  result.age_seconds = usage_.age(now_);
  return result;
}

void merge_core::log(level severity, std::string text) {
  effects_.push_back(merge_effect::log_line{severity, std::move(text)});
}

void merge_core::check_invariants() const {
#ifndef NDEBUG
  assert(ledger_.shares().size() == studies_.size());
  settings_.check_invariants();
  assert(ledger_.leases() == leases_.leases().size());
  assert(demands_answered_ <= demands_announced_);
  assert(ledger_.advanced_to() <= now_);
  assert(recheck_.empty());
  studies_.check_invariants();
  outbox_.check_invariants();
  retries_.check_invariants();
  retention_.check_invariants(plan_);
  kinds_.check_invariants();
  // Where there are many trials or leases, each part checks what it touches.
  constexpr std::size_t trials_checked_max = 64;
  constexpr std::size_t leases_checked_max = 64;
  if (plan_.trials() <= trials_checked_max)
    plan_.check_invariants();
  if (leases_.leases().size() > leases_checked_max)
    return;
  leases_.check_invariants();
  for (const auto& kvp : leases_.leases())
    assert(ledger_.has(kvp.first));
  check_ranks();
#endif
}

} // namespace hippo
