#include "hippo/service/pool/pool_core.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <functional>
#include <ratio>
#include <utility>

#include "hippo/service/pool/projected_shares.hpp"

namespace hippo {

namespace {

/// How often the pool reviews whether a merger must yield a trainer while
/// others wait: often beside the time by which they may be behind.
constexpr auto review_interval = std::chrono::seconds(3);

} // namespace

pool_core::pool_core(pool_options options, moment begun)
  : options_(std::move(options)), prices_(options_.machines), now_(begun),
    booked_until_(begun), ticked_(begun) {}

pool_core::effects pool_core::apply(any_pool_event event, moment now) {
  assert(now >= now_);
  now_ = now;
  std::visit([this](auto& x) { on(x); }, event);
  check_invariants();
  return std::exchange(effects_, {});
}

// -- from trainers ------------------------------------------------------------

void pool_core::on(pool_event::registered& event) {
  welcome result;
  if (event.what.protocol != protocol_version) {
    std::string why = "this service speaks version ";
    why += std::to_string(protocol_version) + " and the trainer version "
           + std::to_string(event.what.protocol)
           + ": run the same release of both";
    note_refused(event.what, why);
    result.refusal = error{errc::incompatible_version, std::move(why)};
    effects_.emplace_back(pool_effect::answer_hello{std::move(result)});
    share();
    return;
  }
  if (auto* same =
        event.known ? trainers_.find_connected(*event.known) : nullptr) {
    same->record.lost = "registered anew";
    part_from(*event.known, {});
  }
  const auto number = trainers_.add(pool_trainer::from(event.what, now_), now_);
  auto& trainer = trainers_.at(number);
  result.trainer = number;
  result.heartbeat_interval_ms =
    static_cast<std::uint64_t>(options_.heartbeat_interval.count());
  effects_.emplace_back(pool_effect::answer_hello{std::move(result)});
  effects_.emplace_back(pool_effect::watch{number});
  log(false, "trainer " + to_string(number) + " is " + trainer.record.name
               + ", " + trainer.record.device);
  if (auto line = prices_.place(trainer, event.what.machine))
    effects_.emplace_back(std::move(*line));
  prices_.note_joined(now_);
  book_time();
  kinds_.add(trainer.record.device, trainer.record.memory_bytes);
  able_changed_ = true;
  share(); // a merger may be stuck no longer
}

void pool_core::on(pool_event::heard& event) {
  const auto& what = event.what;
  auto* trainer = trainers_.find_connected(what.trainer);
  if (!trainer)
    return;
  trainer->last_message = now_;
  trainer->note_idle(what, now_);
  trainer->note_unreturned(what, now_, options_.heartbeat_interval);
  if (trainer->holder)
    effects_.emplace_back(
      pool_effect::forward_heartbeat{*trainer->holder, what});
  if (trainer->ready || trainer->holder || what.lease != lease_id{})
    return;
  trainer->ready = true;
  const auto& name = trainer->record.name;
  // It has sent some before, as one that is gone by now.
  if (!std::exchange(trainer->was_ready, true) && what.count > 0
      && trainers_.has_gone(name))
    for (const auto& need : needs_.all())
      effects_.emplace_back(pool_effect::notify_back{need.merger, name});
  trainer->awaited_until.reset();
  if (!std::exchange(trainer->record.stalled, {}).empty()) {
    log(false, "trainer " + to_string(what.trainer) + " goes on");
    able_changed_ = true;
  }
  share();
}

void pool_core::on(pool_event::alive& event) {
  auto* trainer = trainers_.find_connected(event.trainer);
  if (!trainer)
    return;
  trainer->last_message = now_;
  const bool was_sick = !std::exchange(trainer->record.sick, {}).empty();
  const bool was_unable =
    trainer->holder && !trainer->is_able(*trainer->holder);
  if (was_unable)
    trainer->rests.erase(*trainer->holder);
  if (!was_sick && !was_unable)
    return;
  trainer->sick_until = {};
  log(false, "trainer " + to_string(event.trainer) + " trains again");
  able_changed_ = true;
  share();
}

void pool_core::on(pool_event::leaving& event) {
  auto* trainer = trainers_.find(event.trainer);
  if (!trainer)
    return;
  if (trainer->is_there()) {
    book_time();
    kinds_.remove(trainer->record.device);
    kinds_.note_interruption(trainer->record.device);
  }
  trainer->leaving = true;
  able_changed_ = true;
  if (!trainer->holder && !trainer->gone)
    let_go(event.trainer);
  else
    tell_able_trainers();
}

void pool_core::on(pool_event::disconnected& event) {
  const auto* trainer = trainers_.find_connected(event.trainer);
  if (!trainer)
    return;
  if (trainer->leaving && event.in_order) // its merger has yet to release it
    let_go(event.trainer);
  else
    lose(event.trainer, event.why);
}

// -- from mergers -------------------------------------------------------------

void pool_core::on(pool_event::introduced& event) {
  needs_.add(event.merger, std::move(event.need));
  able_changed_ = true;
}

void pool_core::on(pool_event::demanded& event) {
  book_time();
  for (auto& [number, x] : trainers_.all())
    if (x.holder == event.merger)
      x.helps = event.helpers.helping.contains(number);
  demands_.set(std::move(event));
  share();
}

void pool_core::on(pool_event::merger_ended& event) {
  needs_.remove(event.merger);
  const auto place = demands_.place_of(event.merger);
  if (!place)
    return;
  book_time();
  for (auto& [number, trainer] : trainers_.all()) {
    trainer.rests.erase(event.merger);
    if (trainer.holder == event.merger)
      take_back(trainer);
    if (trainer.reserved_for == event.merger)
      trainer.reserved_for.reset();
  }
  demands_.remove(*place);
  share();
}

void pool_core::on(pool_event::released& event) {
  auto* trainer = trainers_.find_connected(event.trainer);
  if (!trainer)
    return;
  book_time();
  take_back(*trainer);
  if (trainer->leaving)
    let_go(event.trainer);
  share();
}

void pool_core::on(pool_event::stalled& event) {
  auto* trainer = trainers_.find_connected(event.trainer);
  if (!trainer)
    return;
  log(true, "trainer " + to_string(event.trainer) + " stalls: " + event.why);
  book_time();
  trainer->ready = false;
  trainer->record.stalled = std::move(event.why);
  trainer->awaited_until = now_ + stalled_awaited;
  able_changed_ = true;
  take_back(*trainer);
  share();
}

void pool_core::on(pool_event::cooled_down& event) {
  auto* trainer = trainers_.find_connected(event.trainer);
  if (!trainer || !trainer->holder)
    return;
  const auto was_able = trainer->is_able(*trainer->holder);
  auto& rest = trainer->rests[*trainer->holder];
  rest.until = now_ + event.span;
  if (event.joined)
    needs_.rest(*trainer->holder, rest.until);
  if (!event.unable.empty())
    rest.unable = event.unable.substr(0, event.unable.find('\n'));
  effects_.emplace_back(pool_effect::review_after{event.span, true});
  if (was_able && !event.unable.empty()) {
    able_changed_ = true;
    share();
  }
}

void pool_core::on(pool_event::blamed& event) {
  auto* trainer = trainers_.find_connected(event.trainer);
  if (!trainer)
    return;
  if (const auto span = trainer->fall_sick(event.why, now_)) {
    effects_.emplace_back(pool_effect::review_after{*span, true});
    log(true, "trainer " + to_string(event.trainer) + " rests: " + event.why);
  }
  able_changed_ = true;
  share();
}

void pool_core::on(pool_event::lease_failed& event) {
  auto* trainer = trainers_.find_connected(event.trainer);
  if (!trainer)
    return;
  ++trainer->record.failures;
  trainer->record.failed = std::move(event.why);
}

// -- from the clock -----------------------------------------------------------

void pool_core::on(pool_event::review_due& event) {
  if (!event.ends_cool_down)
    review_due_ = false;
  share();
}

void pool_core::on(pool_event::ticked&) {
  const auto late = now_ - ticked_ - options_.heartbeat_interval;
  ticked_ = now_;
  std::vector<trainer_id> silent;
  for (auto& [number, x] : trainers_.all()) {
    if (late > options_.heartbeat_interval)
      x.last_message = std::min(now_, x.last_message + late);
    if (!x.gone && now_ - x.last_message > options_.silence_max)
      silent.push_back(number);
    if (x.awaited_until && *x.awaited_until <= now_) {
      x.awaited_until.reset();
      able_changed_ = true;
    }
  }
  for (const auto number : silent)
    lose(number, "silent for "
                   + std::to_string(options_.silence_max.count() / 1000)
                   + " s");
  if (prices_.is_due(now_))
    if (auto line = prices_.take_missing(trainers_.devices(), now_))
      effects_.emplace_back(std::move(*line));
  if (able_changed_)
    share();
}

// -- sharing ------------------------------------------------------------------

void pool_core::share() {
  book_time();
  tell_able_trainers();
  note_waiting();
  gains_ = kind_gains{demands_, kinds_, options_.placement};
  grant_idle();
  log_stuck();
  if (!demands_.is_contended())
    return;
  ask_back();
  if (!std::exchange(review_due_, true))
    effects_.emplace_back(pool_effect::review_after{review_interval, false});
}

/// Books the device time until now. Whatever changes who holds what, or with
/// which weight, begins with this.
void pool_core::book_time() {
  const auto seconds =
    std::chrono::duration<double>(now_ - booked_until_).count();
  demands_.advance(seconds);
  kinds_.advance(seconds);
  booked_until_ = now_;
}

/// Tells mergers which trainers could train for them, where that has changed.
void pool_core::tell_able_trainers() {
  if (!std::exchange(able_changed_, false))
    return;
  for (auto& x : needs_.all())
    if (auto able = view().able_for(x.merger); able != x.told) {
      effects_.emplace_back(pool_effect::tell_able{x.merger, able});
      x.told = std::move(able);
    }
}

/// Follows which mergers wait. One that no trainer is of use to has no turns
/// that it could miss. While there are no trainers, nobody has any.
void pool_core::note_waiting() {
  if (!trainers_.any_is_there())
    return;
  for (std::size_t i = 0; i < demands_.size(); ++i)
    demands_.set_waiting(i, demands_[i].wanted > 0
                              && view().has_trainer_for(demands_[i].merger));
}

/// Grants idle trainers to mergers until either run out. Whose turn it is
/// follows from the shares as they will be, as in `ask_back`: what is granted
/// by other shares might be asked back at once, and so on without an end.
/// A merger that waits only for what it is promised need not wait for that.
/// Trainers that hold all ranks of a trial go before others.
void pool_core::grant_idle() {
  projected_shares next{view()};
  std::vector<std::pair<trainer_id, pool_trainer*>> idle;
  for (auto& [number, x] : trainers_.all())
    if (x.is_idle(now_))
      idle.emplace_back(number, &x);
  std::ranges::stable_sort(
    idle, std::greater{}, [](const auto& x) { return x.second->record.ranks; });
  for (const auto& [number, trainer] : idle) {
    auto& x = *trainer;
    auto first = next_for(view(), gains_, x, next.shares());
    if (!first)
      first = next_for(view(), gains_, x, demands_.shares());
    x.helps = !first;
    if (!first && !(first = next_helped(view(), x, next.shares())))
      continue;
    if (x.helps) {
      demands_.give_helper(*first);
      next.lend(*first);
    } else {
      next.grant(*first);
      demands_.pass_turns();
      demands_.give(*first);
    }
    x.count_time(booked_until_);
    x.holder = demands_[*first].merger;
    x.granted = booked_until_;
    effects_.emplace_back(pool_effect::grant{
      *x.holder, number, x.record.device, between_interruptions_of(x),
      x.record.price, x.record.name, x.record.at_once, x.record.code_at_once,
      x.seconds_left(now_), x.gang, x.record.ranks});
  }
}

/// Logs which mergers have to wait and why, once for each reason.
void pool_core::log_stuck() {
  for (auto& x : needs_.all()) {
    auto why = why_stuck(view(), x);
    if (!why.empty() && why != x.logged_stuck)
      log(true, x.need.key + " has to wait: " + why);
    x.logged_stuck = std::move(why);
  }
}

/// Asks mergers to yield trainers to the one whose turn it is: those that only
/// help them, then others as long as it stays behind them even with one more;
/// where kinds differ, farther behind than one that gains by them may put it.
void pool_core::ask_back() {
  projected_shares next{view()};
  const auto ask = [&](const yield_candidate& x, std::size_t to) {
    next.move(x.from, to);
    trainers_.at(x.trainer).reserved_for = demands_[to].merger;
    effects_.emplace_back(
      pool_effect::ask_to_yield{demands_[x.from].merger, x.trainer});
  };
  while (const auto to = next.shares().next()) {
    if (const auto x = helper_for(view(), next, *to)) {
      ask(*x, *to);
      continue;
    }
    if (const auto x = candidate_for(view(), gains_, next, *to)) {
      auto after = next;
      after.move(x->from, *to);
      if (after.shares().lag(*to, x->from) + next.shares().head_start(*to)
          > gains_.slack() * after.shares().weight(*to)) {
        ask(*x, *to);
        continue;
      }
    }
    next.pass(*to);
  }
}

// -- trainers -----------------------------------------------------------------

void pool_core::take_back(pool_trainer& trainer) {
  trainer.count_time(booked_until_);
  if (trainer.holder)
    demands_.take(*demands_.place_of(*trainer.holder));
  trainer.holder.reset();
  trainer.reserved_for.reset();
  trainer.helps = false;
}

/// Notes that a trainer is gone; its merger is notified. It may be forgotten.
/// @param why as of `notify_lost`
void pool_core::part_from(trainer_id number, const std::string& why) {
  auto& x = trainers_.at(number);
  assert(!x.gone);
  book_time();
  if (!x.leaving)
    kinds_.remove(x.record.device);
  x.gone = true;
  able_changed_ = true;
  if (x.holder)
    effects_.emplace_back(pool_effect::notify_lost{*x.holder, number, why});
  take_back(x);
  effects_.emplace_back(pool_effect::unwatch{number});
  forget_gone();
}

/// Forgets those that have been gone for the longest, and kinds of which nobody
/// is left.
void pool_core::forget_gone() {
  const auto forgotten = trainers_.forget_gone();
  for (const auto& x : forgotten)
    prices_.keep(x);
  if (!forgotten.empty())
    kinds_.keep_only(trainers_.devices());
}

void pool_core::note_refused(const hello& who, const std::string& why) {
  refused_trainer refused;
  refused.name = trainer_name(who);
  refused.reason = why;
  log(true, "refused trainer " + refused.name + ": " + why);
  std::erase_if(refused_,
                [&](const auto& x) { return x.name == refused.name; });
  refused_.push_back(std::move(refused));
  if (refused_.size() > refused_trainers_max)
    refused_.pop_front();
}

/// Lets a trainer go that has taken leave.
void pool_core::let_go(trainer_id number) {
  auto& x = trainers_.at(number);
  log(false,
      "trainer " + to_string(number) + " (" + x.record.name + ") has left");
  x.record.left = true;
  part_from(number, {});
  share();
}

void pool_core::lose(trainer_id number, const std::string& why) {
  auto& x = trainers_.at(number);
  log(true,
      "lost trainer " + to_string(number) + " (" + x.record.name + "): " + why);
  x.record.lost = why;
  if (!x.leaving)
    kinds_.note_interruption(x.record.device);
  effects_.emplace_back(pool_effect::dismiss{number});
  // A machine that is interrupted anyway says nothing of what it trained, but
  // where it has gone sooner than by chance.
  const auto hours =
    std::chrono::duration<double, std::ratio<3600>>(now_ - x.granted).count();
  const bool is_no_wonder = x.leaving || hours * x.interruptions > 0.01;
  part_from(number, is_no_wonder ? std::string{} : why);
  share();
}

/// Mean time until a trainer is interrupted, in seconds: by its machine if that
/// is known, else as it was counted; 0: it is not known.
double pool_core::between_interruptions_of(const pool_trainer& trainer) const {
  constexpr double hour = 3600;
  if (trainer.record.machine.empty())
    return kinds_.seconds_between_interruptions(trainer.record.device);
  return trainer.interruptions > 0 ? hour / trainer.interruptions : 0;
}

// -- looking ------------------------------------------------------------------

std::vector<trainer_record>
pool_core::trainers(std::optional<moment> now) const {
  const auto until = now.value_or(booked_until_);
  assert(until >= booked_until_);
  return trainers_.records(until);
}

std::vector<trainers_cost> pool_core::costs(std::optional<moment> now) const {
  if (!prices_.has_list())
    return {};
  return prices_.costs(trainers(now));
}

std::optional<merger_number> pool_core::holder_of(trainer_id trainer) const {
  const auto* found = trainers_.find(trainer);
  return found == nullptr ? std::nullopt : found->holder;
}

std::optional<merger_number> pool_core::reserved_for(trainer_id trainer) const {
  const auto* found = trainers_.find(trainer);
  return found == nullptr ? std::nullopt : found->reserved_for;
}

void pool_core::log(bool is_warning, std::string text) {
  effects_.emplace_back(pool_effect::log_line{is_warning, std::move(text)});
}

void pool_core::check_invariants() const {
#ifndef NDEBUG
  trainers_.check_invariants();
  demands_.check_invariants();
  needs_.check_invariants();
  std::vector<std::size_t> held(demands_.size());
  std::map<std::string, std::size_t> there;
  for (const auto& [number, x] : trainers_.all()) {
    prices_.check(x.record);
    for (const auto& kvp : x.rests)
      assert(demands_.place_of(kvp.first));
    assert(!x.reserved_for || demands_.place_of(*x.reserved_for));
    there[x.record.device] += x.is_there();
    if (!x.holder)
      continue;
    const auto place = demands_.place_of(*x.holder);
    assert(place);
    ++held[*place];
  }
  for (const auto& [kind, count] : there)
    assert(kinds_.all().at(kind).trainers == count);
  const bool any_is_there = trainers_.any_is_there();
  for (std::size_t i = 0; i < demands_.size(); ++i) {
    assert(demands_.shares().devices(i) == static_cast<double>(held[i]));
    assert(!any_is_there || !demands_.shares().waits(i)
           || demands_[i].wanted > 0);
  }
#endif
}

} // namespace hippo
