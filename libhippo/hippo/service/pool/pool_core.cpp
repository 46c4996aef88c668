#include "hippo/service/pool/pool_core.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace hippo {

namespace {

/// How often the pool reviews whether a merger must yield a trainer while
/// others wait: often beside the time by which they may be behind.
constexpr auto review_interval = std::chrono::seconds(3);

} // namespace

/// The shares as they will be once every trainer that was asked back is with
/// the merger that it is reserved for.
struct pool_core::projected_shares {
  fair_shares shares;
  std::vector<std::uint64_t> wanted; ///< by merger
  std::vector<std::size_t> passed;   ///< mergers that are asked for no more

  explicit projected_shares(const pool_core& x) : shares(x.shares_) {
    for (const auto& merger : x.mergers_)
      wanted.push_back(merger.wanted);
    for (const auto& [number, trainer] : x.trainers_)
      if (trainer.holder && trainer.reserved_for && trainer.is_there())
        move(*x.place_of(*trainer.holder), *x.place_of(*trainer.reserved_for));
  }

  void move(std::size_t from, std::size_t to) {
    assert(from != to);
    shares.hold(from, -1);
    grant(to);
  }

  /// A merger gets a trainer that nobody has.
  void grant(std::size_t to) {
    shares.hold(to, 1);
    if (wanted[to] > 0)
      shares.set_waiting(to, --wanted[to] > 0);
  }

  /// Nothing can be asked back for that merger.
  void pass(std::size_t merger) {
    shares.set_waiting(merger, false);
    passed.push_back(merger);
  }

  /// Whether a trainer would first be given to one that was passed.
  [[nodiscard]] bool is_spoken_for(const pool_core& pool,
                                   const trainer_entry& x) const {
    return std::any_of(passed.begin(), passed.end(), [&](std::size_t merger) {
      const auto id = pool.mergers_[merger].id;
      return pool.is_of_use(x, id) && !x.is_resting(id, pool.shared_until_);
    });
  }
};

pool_core::pool_core(pool_options options, time_point now)
  : options_(std::move(options)), shared_until_(now), ticked_(now) {}

// -- what is known ------------------------------------------------------------

std::optional<std::size_t> pool_core::place_of(merger_id x) const {
  const auto i = std::find_if(mergers_.begin(), mergers_.end(),
                              [&](const auto& y) { return y.id == x; });
  if (i == mergers_.end())
    return std::nullopt;
  return static_cast<std::size_t>(i - mergers_.begin());
}

bool pool_core::trainer_entry::knows(const workload_need& need) const {
  const auto i = workloads.find(need.name);
  return i != workloads.end()
         && (i->second.empty() || need.version.empty()
             || i->second == need.version);
}

bool pool_core::trainer_entry::can_train(const workload_need& need) const {
  return knows(need)
         && (numerics.empty() || need.numerics.empty()
             || numerics == need.numerics);
}

bool pool_core::suits(const trainer_entry& x, merger_id merger) const {
  const auto need
    = std::find_if(needs_.begin(), needs_.end(),
                   [&](const auto& y) { return y.merger == merger; });
  if (need == needs_.end())
    return true;
  return x.can_train(need->need);
}

bool pool_core::is_of_use(const trainer_entry& x, merger_id merger) const {
  if (!suits(x, merger))
    return false;
  const auto place = place_of(merger);
  return !place || mergers_[*place].kinds.empty()
         || mergers_[*place].kinds.count(x.record.device) > 0;
}

bool pool_core::has_trainer_for(merger_id merger) const {
  return std::any_of(trainers_.begin(), trainers_.end(), [&](const auto& kvp) {
    return kvp.second.is_there() && is_of_use(kvp.second, merger);
  });
}

std::map<trainer_id, std::string>
pool_core::able_for(merger_id merger) const {
  std::map<trainer_id, std::string> result;
  for (const auto& [number, x] : trainers_)
    if (x.is_there() && x.record.sick.empty()
        && (x.record.stalled.empty() || x.awaited_until) && x.is_able(merger)
        && suits(x, merger))
      result.emplace(number, x.record.device);
  return result;
}

bool pool_core::is_contended() const {
  std::size_t holding = 0;
  for (std::size_t i = 0; i < mergers_.size(); ++i)
    holding += shares_.devices(i) > 0;
  for (std::size_t i = 0; i < mergers_.size(); ++i)
    if (shares_.waits(i) && holding > (shares_.devices(i) > 0 ? 1u : 0u))
      return true;
  return false;
}

pool_core::trainer_entry* pool_core::find_connected(trainer_id x) {
  const auto i = trainers_.find(x);
  return i == trainers_.end() || i->second.gone ? nullptr : &i->second;
}

std::optional<pool_core::merger_id>
pool_core::merger_of(const std::string& workload_key) const {
  const auto i
    = std::find_if(needs_.begin(), needs_.end(),
                   [&](const auto& x) { return x.need.key == workload_key; });
  if (i == needs_.end())
    return std::nullopt;
  return i->merger;
}

std::uint64_t pool_core::idle() const {
  return static_cast<std::uint64_t>(
    std::count_if(trainers_.begin(), trainers_.end(), [](const auto& kvp) {
      const auto& x = kvp.second;
      return !x.gone && !x.holder && x.record.stalled.empty()
             && x.ends == lease_id{};
    }));
}

std::uint64_t pool_core::waiting_leases() const {
  std::uint64_t result = 0;
  for (const auto& x : mergers_)
    result += std::min(x.wanted, waiting_leases_max);
  return result;
}

std::optional<pool_core::merger_id>
pool_core::holder_of(trainer_id x) const {
  const auto i = trainers_.find(x);
  return i == trainers_.end() ? std::nullopt : i->second.holder;
}

std::optional<pool_core::merger_id>
pool_core::reserved_for(trainer_id x) const {
  const auto i = trainers_.find(x);
  return i == trainers_.end() ? std::nullopt : i->second.reserved_for;
}

// -- shares -------------------------------------------------------------------

/// Books the device time until now. Whatever changes who holds what, or with
/// which weight, begins with this.
void pool_core::catch_up(time_point now) {
  assert(now >= shared_until_);
  const auto seconds
    = std::chrono::duration<double>(now - shared_until_).count();
  shares_.advance(seconds);
  for (auto& [name, x] : kinds_)
    x.seconds += seconds * static_cast<double>(x.trainers);
  shared_until_ = now;
}

/// Follows which mergers wait. One that no trainer is of use to has no turns
/// that it could miss. While there are no trainers, nobody has any.
void pool_core::note_waiting() {
  if (std::none_of(trainers_.begin(), trainers_.end(),
                   [](const auto& kvp) { return kvp.second.is_there(); }))
    return;
  for (std::size_t i = 0; i < mergers_.size(); ++i) {
    const auto& x = mergers_[i];
    shares_.set_waiting(i, x.wanted > 0 && has_trainer_for(x.id));
  }
}

/// Grants idle trainers to mergers until either run out. Whose turn it is
/// follows from the shares as they will be, as in `ask_back`: what is granted
/// by other shares might be asked back at once, and so on without an end.
/// Whoever waits only for what it is promised need not wait for that.
void pool_core::grant_idle(time_point now, effects& out) {
  projected_shares next{*this};
  for (auto& [number, x] : trainers_) {
    if (!x.is_idle(now))
      continue;
    auto first = next_for(x, next.shares);
    if (!first && !(first = next_for(x, shares_)))
      continue;
    next.grant(*first);
    shares_.pass_turns();
    auto& merger = mergers_[*first];
    assert(merger.wanted > 0);
    count_time(x);
    x.holder = merger.id;
    x.granted = shared_until_;
    --merger.wanted; // until the merger says how many are left
    shares_.hold(*first, 1);
    shares_.set_waiting(*first, merger.wanted > 0);
    out.emplace_back(grant{merger.id, number, x.record.device,
                           between_interruptions_of(x), x.record.price,
                           x.record.name, x.record.at_once,
                           x.record.code_at_once});
  }
}

/// Tells mergers which trainers could train for them, where that has changed.
void pool_core::tell_able_trainers(effects& out) {
  if (!std::exchange(able_changed_, false))
    return;
  for (auto& x : needs_)
    if (auto able = able_for(x.merger); able != x.told) {
      out.emplace_back(tell_able{x.merger, able});
      x.told = std::move(able);
    }
}

/// Finds the trainer that can best be asked back for a merger: of those that
/// are of use to it, one of the merger that is ahead the most; there one by
/// whose kind it gains most beside what is lost, and of those the one that was
/// granted first.
std::optional<pool_core::candidate>
pool_core::candidate_for(const projected_shares& next, std::size_t to) {
  std::optional<candidate> result;
  const auto is_better = [&](const trainer_entry& x, std::size_t from) {
    if (from != result->from)
      return next.shares.lag(result->from, from) > 0;
    const auto there = result->trainer;
    if (!preferences_.empty() && x.record.device != there->record.device) {
      const auto& won = preferences_.gains[to];
      const auto& lost = preferences_.gains[from];
      // Not by division: a kind that is of no use gains nothing.
      const auto here = won.at(x.record.device)
                        * lost.at(there->record.device);
      const auto best = won.at(there->record.device)
                        * lost.at(x.record.device);
      if (here != best)
        return here > best;
    }
    return x.granted < there->granted;
  };
  for (auto& [number, x] : trainers_) {
    if (!x.holder || x.reserved_for || !x.is_there()
        || !is_of_use(x, mergers_[to].id) || !x.is_able(mergers_[to].id)
        || x.is_resting(mergers_[to].id, shared_until_)
        || next.is_spoken_for(*this, x))
      continue;
    const auto from = *place_of(*x.holder);
    if (from == to)
      continue;
    if (!result || is_better(x, from))
      result = candidate{number, &x, from};
  }
  return result;
}

/// Asks mergers to yield trainers to the one whose turn it is, as long as it
/// stays behind them even with one more; where kinds differ, farther behind
/// than one that gains by them may put it.
void pool_core::ask_back(effects& out) {
  projected_shares next{*this};
  while (const auto to = next.shares.next()) {
    if (const auto x = candidate_for(next, *to)) {
      auto after = next;
      after.move(x->from, *to);
      if (after.shares.lag(*to, x->from) + next.shares.head_start(*to)
          > preferences_.slack * after.shares.weight(*to)) {
        next = std::move(after);
        x->trainer->reserved_for = mergers_[*to].id;
        out.emplace_back(ask_to_yield{mergers_[x->from].id, x->number});
        continue;
      }
    }
    next.pass(*to);
  }
}

/// Sees to it that every merger gets its share. Follows whatever changes what
/// they want and hold.
void pool_core::share(time_point now, effects& out) {
  catch_up(now);
  tell_able_trainers(out);
  note_waiting();
  note_preferences();
  grant_idle(now, out);
  log_stuck(out);
  if (!is_contended())
    return;
  ask_back(out);
  if (!std::exchange(review_due_, true))
    out.emplace_back(review_after{review_interval, false});
}

void pool_core::take_back(trainer_entry& x) {
  count_time(x);
  if (x.holder)
    shares_.hold(*place_of(*x.holder), -1);
  x.holder.reset();
  x.reserved_for.reset();
}

// -- trainers -----------------------------------------------------------------

/// Forgets those that have been gone for the longest, and kinds of which nobody
/// is left.
void pool_core::forget_gone() {
  std::vector<trainer_id> gone;
  for (const auto& [number, x] : trainers_)
    if (x.gone)
      gone.push_back(number);
  for (std::size_t i = 0; i + gone_trainers_max < gone.size(); ++i) {
    keep_cost(trainers_.at(gone[i]).record);
    trainers_.erase(gone[i]);
  }
  if (gone.size() > gone_trainers_max)
    std::erase_if(kinds_, [this](const auto& kind) {
      return std::none_of(
        trainers_.begin(), trainers_.end(),
        [&](const auto& x) { return x.second.record.device == kind.first; });
    });
}

/// Notes that a trainer is gone; its merger is notified. `x` may be forgotten.
/// @param why as of `notify_lost`
void pool_core::part_from(trainer_id id, trainer_entry& x,
                          const std::string& why, time_point now,
                          effects& out) {
  assert(!x.gone);
  catch_up(now);
  if (!x.leaving)
    --kinds_.at(x.record.device).trainers;
  x.gone = true;
  able_changed_ = true;
  if (x.holder)
    out.emplace_back(notify_lost{*x.holder, id, why});
  take_back(x);
  out.emplace_back(unwatch{id});
  forget_gone();
}

/// Lets a trainer go that has taken leave.
void pool_core::let_go(trainer_id number, time_point now, effects& out) {
  auto& x = trainers_.at(number);
  out.emplace_back(log_line{false, "trainer "
                                     + to_string(number) + " ("
                                     + x.record.name + ") has left"});
  x.record.left = true;
  part_from(number, x, {}, now, out);
  share(now, out);
}

welcome pool_core::admit(const hello& x, std::optional<trainer_id> known,
                         time_point now, effects& out) {
  welcome result;
  if (x.protocol != protocol_version) {
    std::string why = "this service speaks version ";
    why += std::to_string(protocol_version) + " and the trainer version "
           + std::to_string(x.protocol) + ": run the same release of both";
    result.refusal = error{errc::incompatible_version, std::move(why)};
    share(now, out);
    checked();
    return result;
  }
  if (auto* y = known ? find_connected(*known) : nullptr) {
    y->record.lost = "registered anew";
    part_from(*known, *y, {}, now, out);
  }
  last_trainer_ = trainer_id{number_of(last_trainer_) + 1};
  const auto number = last_trainer_;
  trainer_entry entry;
  entry.record.number = number_of(number);
  entry.record.name = x.host + ':' + std::to_string(x.process_id);
  entry.record.device = x.device;
  entry.record.memory_bytes = x.memory_bytes;
  entry.record.driver = x.driver;
  entry.record.compute_capability = x.compute_capability;
  entry.record.notice_seconds = x.notice_seconds;
  entry.record.at_once = x.at_once;
  entry.record.code_at_once = x.code_at_once;
  entry.workloads = x.workloads;
  entry.numerics = x.numerics;
  entry.last_message = entry.since = now;
  rest_on(entry, now);
  out.emplace_back(watch{number});
  out.emplace_back(
    log_line{false, "trainer " + to_string(number) + " is "
                      + entry.record.name + ", " + x.device});
  find_machine(entry, x.machine, out);
  if (!first_joined_)
    first_joined_ = now;
  catch_up(now);
  auto& kind = kinds_[x.device];
  ++kind.trainers;
  kind.memory_bytes = x.memory_bytes;
  trainers_.emplace(number, std::move(entry));
  able_changed_ = true;
  result.trainer = number;
  result.heartbeat_interval_ms
    = static_cast<std::uint64_t>(options_.heartbeat_interval.count());
  share(now, out); // a merger may be stuck no longer
  checked();
  return result;
}

pool_core::effects pool_core::note_heartbeat(const heartbeat& msg,
                                             time_point now) {
  effects out;
  auto* x = find_connected(msg.trainer);
  if (!x)
    return out;
  x->last_message = now;
  x->note_unreturned(msg, now, options_.heartbeat_interval);
  if (x->holder)
    out.emplace_back(forward_heartbeat{*x->holder, msg});
  if (x->ready || x->holder || msg.lease != lease_id{})
    return out;
  x->ready = true;
  if (msg.count > 0 // it has sent some before, as one that is gone by now
      && std::any_of(trainers_.begin(), trainers_.end(), [&](const auto& kvp) {
           return kvp.second.gone && kvp.second.record.name == x->record.name;
         }))
    for (const auto& need : needs_)
      out.emplace_back(notify_back{need.merger, x->record.name});
  x->awaited_until.reset();
  if (!std::exchange(x->record.stalled, {}).empty()) {
    out.emplace_back(
      log_line{false, "trainer " + to_string(msg.trainer) + " goes on"});
    able_changed_ = true;
  }
  share(now, out);
  checked();
  return out;
}

pool_core::effects pool_core::note_alive(trainer_id number, time_point now) {
  effects out;
  auto* x = find_connected(number);
  if (!x)
    return out;
  x->last_message = now;
  const bool was_sick = !std::exchange(x->record.sick, {}).empty();
  const bool was_unable = x->holder && !x->is_able(*x->holder);
  if (was_unable)
    x->rests.erase(*x->holder);
  if (!was_sick && !was_unable)
    return out;
  x->sick_until = {};
  out.emplace_back(log_line{false, "trainer "
                                     + to_string(number)
                                     + " trains again"});
  able_changed_ = true;
  share(now, out);
  checked();
  return out;
}

pool_core::effects pool_core::leave(trainer_id x, time_point now) {
  effects out;
  const auto i = trainers_.find(x);
  if (i == trainers_.end())
    return out;
  if (i->second.is_there()) {
    catch_up(now);
    auto& kind = kinds_.at(i->second.record.device);
    --kind.trainers;
    ++kind.interruptions;
  }
  i->second.leaving = true;
  able_changed_ = true;
  if (!i->second.holder && !i->second.gone)
    let_go(x, now, out);
  else
    tell_able_trainers(out);
  checked();
  return out;
}

pool_core::effects pool_core::disconnect(trainer_id number, bool in_order,
                                         const std::string& why,
                                         time_point now) {
  effects out;
  const auto* x = find_connected(number);
  if (!x)
    return out;
  if (x->leaving && in_order) // its merger has yet to release it
    let_go(number, now, out);
  else
    lose(number, why, now, out);
  checked();
  return out;
}

pool_core::effects pool_core::release(trainer_id number, time_point now) {
  effects out;
  auto* x = find_connected(number);
  if (!x)
    return out;
  catch_up(now);
  take_back(*x);
  if (x->leaving)
    let_go(number, now, out);
  share(now, out);
  checked();
  return out;
}

pool_core::effects pool_core::stall(trainer_id number,
                                    const std::string& why, time_point now) {
  effects out;
  auto* x = find_connected(number);
  if (!x)
    return out;
  out.emplace_back(log_line{true, "trainer " + to_string(number)
                                 + " stalls: " + why});
  catch_up(now);
  x->ready = false;
  x->record.stalled = why;
  x->awaited_until = now + stalled_awaited;
  able_changed_ = true;
  take_back(*x);
  share(now, out);
  checked();
  return out;
}

pool_core::effects pool_core::cool_down(trainer_id number,
                                        std::chrono::milliseconds span,
                                        const std::string& unable,
                                        time_point now) {
  effects out;
  auto* x = find_connected(number);
  if (!x || !x->holder)
    return out;
  const auto was_able = x->is_able(*x->holder);
  auto& rest = x->rests[*x->holder];
  rest.until = now + span;
  if (!unable.empty())
    rest.unable = unable.substr(0, unable.find('\n'));
  out.emplace_back(review_after{span, true});
  if (was_able && !unable.empty()) {
    able_changed_ = true;
    share(now, out);
  }
  checked();
  return out;
}

pool_core::effects pool_core::blame(trainer_id number, const std::string& why,
                                    time_point now) {
  effects out;
  auto* x = find_connected(number);
  if (!x)
    return out;
  if (x->blamed && now - *x->blamed > sick_last)
    x->sick_pauses.reset();
  // What it has begun before it rests says nothing new.
  if (x->sick_until <= now) {
    const auto span = x->sick_pauses.next();
    x->sick_until = now + span;
    x->blamed = now;
    out.emplace_back(review_after{span, true});
    out.emplace_back(log_line{true, "trainer "
                                      + to_string(number)
                                      + " rests: " + why});
  }
  x->record.sick = why;
  able_changed_ = true;
  share(now, out);
  checked();
  return out;
}

void pool_core::note_failure(trainer_id number, const std::string& why) {
  auto* x = find_connected(number);
  if (!x)
    return;
  ++x->record.failures;
  x->record.failed = why;
}

pool_core::effects pool_core::review(bool ends_cool_down, time_point now) {
  effects out;
  if (!ends_cool_down)
    review_due_ = false;
  share(now, out);
  checked();
  return out;
}

pool_core::effects pool_core::tick(time_point now) {
  effects out;
  const auto late = now - ticked_ - options_.heartbeat_interval;
  ticked_ = now;
  std::vector<trainer_id> silent;
  for (auto& [number, x] : trainers_) {
    if (late > options_.heartbeat_interval)
      x.last_message = std::min(now, x.last_message + late);
    if (!x.gone && now - x.last_message > options_.silence_max)
      silent.push_back(number);
    if (x.awaited_until && *x.awaited_until <= now) {
      x.awaited_until.reset();
      able_changed_ = true;
    }
  }
  for (const auto number : silent)
    lose(number,
         "silent for " + std::to_string(options_.silence_max.count() / 1000)
           + " s",
         now, out);
  look_for_listed_devices(now, out);
  if (able_changed_)
    share(now, out);
  checked();
  return out;
}

// -- mergers ------------------------------------------------------------------

void pool_core::introduce(merger_id who, workload_need need) {
  // The one that had the key before has retired.
  std::erase_if(needs_, [&](const auto& x) { return x.need.key == need.key; });
  needs_.push_back({who, std::move(need)});
  able_changed_ = true;
  checked();
}

pool_core::effects pool_core::demand(merger_id who, double weight,
                                     std::uint64_t wanted,
                                     std::set<std::string> kinds,
                                     time_point now, placement_facts facts) {
  assert(weight > 0);
  effects out;
  catch_up(now);
  auto place = place_of(who);
  if (!place) {
    place = shares_.add(weight);
    mergers_.push_back({who, 0, {}, {}});
    assert(*place + 1 == mergers_.size());
  }
  mergers_[*place].wanted = wanted;
  mergers_[*place].kinds = std::move(kinds);
  mergers_[*place].facts = std::move(facts);
  shares_.set_weight(*place, weight);
  share(now, out);
  checked();
  return out;
}

pool_core::effects pool_core::forget_merger(merger_id who, time_point now) {
  effects out;
  std::erase_if(needs_, [&](const auto& x) { return x.merger == who; });
  const auto place = place_of(who);
  if (!place)
    return out;
  catch_up(now);
  for (auto& [number, x] : trainers_) {
    x.rests.erase(who);
    if (x.holder == who)
      take_back(x);
    if (x.reserved_for == who)
      x.reserved_for.reset();
  }
  shares_.remove(*place);
  mergers_.erase(mergers_.begin() + static_cast<std::ptrdiff_t>(*place));
  share(now, out);
  checked();
  return out;
}

// -- invariants ---------------------------------------------------------------

void pool_core::check_invariants() const {
  assert(shares_.size() == mergers_.size());
  std::vector<std::size_t> held(mergers_.size());
  std::map<std::string, std::size_t> there;
  std::size_t gone = 0;
  bool any_is_there = false;
  for (const auto& [number, x] : trainers_) {
    assert(number_of(number) == x.record.number);
    assert(number_of(number) >= 1 && number <= last_trainer_);
    assert(x.gone || (x.record.lost.empty() && !x.record.left));
    assert(!x.record.left || x.record.lost.empty());
    assert(!x.holder || !x.gone);
    assert(!x.holder || x.ready);
    assert(!x.holder || x.record.stalled.empty());
    assert(x.record.sick.empty() || x.blamed);
    for (const auto& [merger, rest] : x.rests)
      assert(place_of(merger));
    assert(x.record.machine.empty() || x.record.unpriced.empty());
    assert(x.record.machine.empty()
           || options_.machines->find(x.record.machine)->trainer_price()
                == x.record.price);
    assert(!x.reserved_for || x.holder);
    assert(!x.reserved_for || x.reserved_for != x.holder);
    assert(!x.reserved_for || place_of(*x.reserved_for));
    gone += x.gone;
    any_is_there |= x.is_there();
    there[x.record.device] += x.is_there();
    if (x.holder) {
      const auto place = place_of(*x.holder);
      assert(place);
      ++held[*place];
    }
  }
  assert(gone <= gone_trainers_max);
  for (const auto& [kind, count] : there)
    assert(kinds_.at(kind).trainers == count);
  for (std::size_t i = 0; i < mergers_.size(); ++i) {
    assert(shares_.devices(i) == static_cast<double>(held[i]));
    assert(shares_.weight(i) > 0);
    assert(!any_is_there || !shares_.waits(i) || mergers_[i].wanted > 0);
    assert(place_of(mergers_[i].id) == i);
  }
  for (std::size_t i = 0; i < needs_.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      assert(needs_[i].need.key != needs_[j].need.key);
  // With NDEBUG nothing above is read.
  static_cast<void>(gone);
  static_cast<void>(any_is_there);
}

void pool_core::checked() const {
#ifndef NDEBUG
  check_invariants();
#endif
}

} // namespace hippo
