#include "hippo/service/trainer/trainer_core.hpp"

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

#include "hippo/base/first_line.hpp"
#include "hippo/model/stop_points.hpp"
#include "hippo/model/workload_seed.hpp"

namespace hippo {

namespace {

using level = log_level;

/// The spans between attempts to register.
constexpr auto greeting_first = std::chrono::seconds(1);
constexpr auto greeting_last = std::chrono::seconds(30);

} // namespace

trainer_core::trainer_core(hello self_description, moment begun)
  : self_description_(std::move(self_description)), begun_(begun),
    greeting_(greeting_first, greeting_last), now_(begun) {}

hello trainer_core::self_description() const {
  auto result = self_description_;
  if (auto& left = result.seconds_left; left > 0) {
    const auto passed = std::chrono::ceil<std::chrono::seconds>(now_ - begun_);
    // 0 would be no limit.
    left -= static_cast<std::uint32_t>(
      std::min<std::chrono::seconds::rep>(passed.count(), left - 1));
  }
  return result;
}

trainer_core::effects trainer_core::apply(any_trainer_event event, moment now) {
  assert(now >= now_);
  assert(effects_.empty());
  now_ = now;
  std::visit([this](auto& x) { on(x); }, event);
  check_invariants();
  return std::exchange(effects_, {});
}

// -- from the service ---------------------------------------------------------

void trainer_core::on(trainer_event::connected& event) {
  if (is_registered() && event.is_same)
    return;
  if (event.gang)
    self_description_.gang = std::move(*event.gang);
  if (std::exchange(has_service_, true)) { // its end has not been heard of yet
    effects_.emplace_back(trainer_effect::unwatch{});
    be_away();
  }
  effects_.emplace_back(trainer_effect::watch{});
  greet();
}

void trainer_core::on(trainer_event::disconnected& event) {
  log(level::warning, "lost the service: " + event.why);
  has_service_ = false;
  be_away();
  if (leaving_)
    go();
}

void trainer_core::on(trainer_event::answered& event) {
  if (event.registration != registrations_)
    return; // too late: it has been lost meanwhile
  greets_ = false;
  if (const auto& why = event.what.refusal) {
    log(level::error, "refused: " + why->message);
    effects_.emplace_back(trainer_effect::quit{why->code});
    return;
  }
  be_welcome(event.what);
}

void trainer_core::on(trainer_event::unanswered& event) {
  if (event.registration != registrations_)
    return;
  greets_ = false;
  log(level::warning, "no answer to registration: " + event.why);
  if (leaving_)
    go();
  effects_.emplace_back(
    trainer_effect::greet_after{greeting_.next(), registrations_});
}

void trainer_core::on(trainer_event::given_up&) {
  register_anew();
}

void trainer_core::on(trainer_event::left& event) {
  if (event.is_last)
    effects_.emplace_back(trainer_effect::quit{});
}

void trainer_core::on(trainer_event::leased& event) {
  auto key = key_of(without_seed(event.work.workload));
  task next{std::move(event.work), std::move(key), event.owner, registrations_};
  if (leaving_) {
    hand_back(next);
    return;
  }
  for (const auto& [number, x] : running_)
    if (x.excludes(next))
      effects_.emplace_back(trainer_effect::cancel{number});
  std::erase_if(waiting_, [&](const task& x) {
    if (!x.excludes(next))
      return false;
    effects_.emplace_back(trainer_effect::drop_owner{x.owner});
    return true;
  });
  waiting_.push_back(std::move(next));
  start_waiting();
}

/// The sender of the lease must not wait for it, nor take this trainer for
/// idle.
void trainer_core::on(trainer_event::malformed& event) {
  log(level::error, "refused a lease: " + event.why.message);
  if (event.lease) {
    lease_end end;
    end.lease = *event.lease;
    end.failure = std::move(event.why);
    effects_.emplace_back(
      trainer_effect::send_end{event.owner, std::move(end)});
  }
  effects_.emplace_back(trainer_effect::drop_owner{event.owner});
  if (!event.lease)
    register_anew(); // the service lets go of the lease so as well
}

void trainer_core::on(trainer_event::stop_asked& event) {
  const auto& [lease, point] = event.what;
  if (running_.contains(lease))
    effects_.emplace_back(trainer_effect::add_stop{event.what});
  for (auto& x : waiting_) // as if it had come along with it
    if (auto& stops = x.work.stops;
        x.work.number == lease && point.at <= stops.back().at)
      merge_stop(stops, 0, point);
}

void trainer_core::on(trainer_event::cancel_asked& event) {
  if (running_.contains(event.lease))
    effects_.emplace_back(trainer_effect::cancel{event.lease});
  std::erase_if(waiting_, [&](const task& x) {
    const bool is_meant = x.work.number == event.lease;
    if (is_meant)
      hand_back(x);
    return is_meant;
  });
}

void trainer_core::on(trainer_event::acked& event) {
  std::erase_if(unacknowledged_, [&](const resent& x) {
    return x.report.lease == event.what.lease && x.report.at == event.what.at;
  });
}

// -- from the device ----------------------------------------------------------

/// Passes a report on, and keeps it until it is acknowledged.
void trainer_core::on(trainer_event::reported& event) {
  auto& report = event.what;
  const auto i = running_.find(report.lease);
  if (i == running_.end())
    return;
  const auto& from = i->second;
  // A trainer is of one kind, that of its hello, whatever it trains.
  report.device = kind_made(from.work, self_description_.device);
  if (report.saved && from.work.workload.any_device)
    report.saved->device = report.device;
  const auto* where = stage_reaching(from.work, report.at);
  const bool has_place = where != nullptr && where->node != root_node;
  if (has_place) {
    report.node = where->node;
    report.identity = where->identity;
    unacknowledged_.push_back({from.key, report});
    if (unacknowledged_.size() > unacknowledged_max)
      unacknowledged_.pop_front();
  }
  if (is_current(from))
    effects_.emplace_back(
      trainer_effect::send_report{from.owner, std::move(report)});
  else if (is_registered() && has_place)
    effects_.emplace_back(trainer_effect::send_resent{unacknowledged_.back()});
}

void trainer_core::on(trainer_event::ended& event) {
  if (running_.contains(event.end.lease))
    end(std::move(event.end));
}

void trainer_core::on(trainer_event::stuck& event) {
  if (!running_.contains(event.end.lease))
    return;
  leave(); // first: the device is given nothing more
  end(std::move(event.end));
}

// -- from the process and the clock -------------------------------------------

void trainer_core::on(trainer_event::leave_asked&) {
  leave();
}

void trainer_core::on(trainer_event::greeting_due& event) {
  if (event.registration == registrations_)
    greet();
}

void trainer_core::on(trainer_event::beat_due& event) {
  if (event.registration != registrations_)
    return;
  beat();
  effects_.emplace_back(
    trainer_effect::beat_after{heartbeat_interval_, registrations_});
}

// -- the registration ---------------------------------------------------------

void trainer_core::greet() {
  greets_ = true;
  effects_.emplace_back(trainer_effect::send_hello{++registrations_});
}

/// Notes that the registration, if there was one, is over.
void trainer_core::be_away() {
  number_ = {};
  ++registrations_; // what comes of the one before counts no more
  greets_ = false;
  wind_down();
}

void trainer_core::register_anew() {
  if (!is_registered())
    return;
  log(level::warning, "the service has given this trainer up, because it was "
                      "not heard of; registering anew");
  be_away();
  greet();
}

void trainer_core::be_welcome(const welcome& what) {
  greeting_.reset();
  number_ = what.trainer;
  heartbeat_interval_ = std::chrono::milliseconds{what.heartbeat_interval_ms};
  log(level::info, "registered as number " + to_string(number_) + " with "
                     + self_description_.device);
  if (!unacknowledged_.empty())
    log(level::info,
        "sending " + std::to_string(unacknowledged_.size()) + " reports again");
  for (const auto& x : unacknowledged_)
    effects_.emplace_back(trainer_effect::send_resent{x});
  if (leaving_)
    say_goodbye();
  effects_.emplace_back(
    trainer_effect::beat_after{std::chrono::milliseconds{0}, registrations_});
}

/// Ends in good order: saves after the present step, reports, takes leave.
void trainer_core::leave() {
  if (std::exchange(leaving_, true))
    return;
  wind_down();
  go();
}

/// Goes as far as it can now: a pool that knows this trainer, or is about to,
/// must hear of it, or would take it for lost.
void trainer_core::go() {
  if (is_registered())
    say_goodbye();
  else if (!greets_ && running_.empty())
    effects_.emplace_back(trainer_effect::quit{});
}

/// Takes leave of the pool; ends once that has received everything.
void trainer_core::say_goodbye() {
  effects_.emplace_back(
    trainer_effect::send_goodbye{number_, running_.empty()});
}

void trainer_core::beat() {
  if (running_.empty())
    send_heartbeat({}, 0);
  for (const auto& kvp : running_)
    send_heartbeat(kvp.first, 0);
}

void trainer_core::send_heartbeat(lease_id lease, step_t at) {
  effects_.emplace_back(
    trainer_effect::send_heartbeat{{number_, lease, at, heartbeats_++}});
}

// -- leases -------------------------------------------------------------------

/// Starts what is waiting and has nothing in its way any more.
void trainer_core::start_waiting() {
  for (auto& x : std::exchange(waiting_, {}))
    if (is_hindered(x))
      waiting_.push_back(std::move(x));
    else
      start(std::move(x));
}

bool trainer_core::is_hindered(const task& which) const {
  return std::ranges::any_of(
    running_, [&](const auto& kvp) { return kvp.second.excludes(which); });
}

void trainer_core::start(task begun) {
  // Should this trainer be lost over it, that is known to be why.
  if (is_current(begun) && is_registered())
    send_heartbeat(begun.work.number, begun.work.stages.front().begin);
  effects_.emplace_back(trainer_effect::start_lease{begun.owner, begun.work});
  const auto number = begun.work.number;
  running_.emplace(number, std::move(begun));
}

/// Hands a lease back that has not begun.
void trainer_core::hand_back(const task& which) {
  lease_end end;
  end.lease = which.work.number;
  end.at = which.work.stages.front().begin;
  end.failure = error{errc::cancelled, "it had not begun"};
  effects_.emplace_back(trainer_effect::send_end{which.owner, std::move(end)});
  effects_.emplace_back(trainer_effect::drop_owner{which.owner});
}

void trainer_core::end(lease_end what) {
  const auto from = running_.extract(what.lease).mapped();
  if (what.failure && what.failure->code != errc::cancelled)
    log(level::warning, "lease " + to_string(what.lease) + " failed at step "
                          + std::to_string(what.at) + ": "
                          + first_line(what.failure->message));
  if (is_current(from))
    effects_.emplace_back(
      trainer_effect::send_end{from.owner, std::move(what)});
  effects_.emplace_back(trainer_effect::drop_owner{from.owner});
  start_waiting();
  if (!running_.empty())
    return;
  if (leaving_)
    go();
  else if (!is_current(from) && is_registered())
    beat(); // it is free for work from now on
}

/// Lets the running leases end after their present steps, with checkpoints.
void trainer_core::wind_down() {
  for (const auto& x : std::exchange(waiting_, {}))
    hand_back(x);
  for (const auto& [number, x] : running_) {
    const auto& stages = x.work.stages;
    effects_.emplace_back(trainer_effect::wind_down{
      number, stages.front().begin, stages.back().end});
  }
}

// -- looking ------------------------------------------------------------------

std::vector<lease_id> trainer_core::running() const {
  std::vector<lease_id> result;
  for (const auto& kvp : running_)
    result.push_back(kvp.first);
  return result;
}

void trainer_core::log(level severity, std::string text) {
  effects_.emplace_back(trainer_effect::log_line{severity, std::move(text)});
}

void trainer_core::check_invariants() const {
#ifndef NDEBUG
  assert(has_service_ || (!is_registered() && !greets_));
  assert(!is_registered() || !greets_);
  assert(!leaving_ || waiting_.empty());
  assert(unacknowledged_.size() <= unacknowledged_max);
  std::set<std::uint32_t> lanes; // of what runs
  std::set<owner_number> owners;
  for (const auto& [number, x] : running_) {
    assert(x.work.number == number);
    assert(x.key == running_.begin()->second.key);
    lanes.insert(x.work.lane);
    owners.insert(x.owner);
  }
  for (const auto& x : waiting_) {
    assert(is_hindered(x));
    owners.insert(x.owner);
  }
  assert(lanes.size() == running_.size());
  assert(owners.size() == running_.size() + waiting_.size());
#endif
}

} // namespace hippo
