#include "pool.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <spdlog/spdlog.h>

#include "hippo/space/own_workload.hpp"
#include "hippo/wire/codec.hpp"

namespace hippo {

namespace {

using self_ptr = pool_actor::stateful_pointer<pool_state>;

/// How often the pool looks whether a merger must give a trainer back while
/// others wait: often beside the time by which they may be behind.
constexpr auto look_interval = std::chrono::seconds(3);

/// The place of a merger, or nothing if it has never wanted any trainer.
std::optional<std::size_t> place_of(const pool_state& st,
                                    const merger_actor& x) {
  const auto i
    = std::find_if(st.mergers.begin(), st.mergers.end(),
                   [&](const auto& entry) { return entry.handle == x; });
  if (i == st.mergers.end())
    return std::nullopt;
  return static_cast<std::size_t>(i - st.mergers.begin());
}

const workload_need* need_of(const pool_state& st, const merger_actor& x) {
  const auto i = std::find_if(st.needs.begin(), st.needs.end(),
                              [&](const auto& y) { return y.handle == x; });
  return i == st.needs.end() ? nullptr : &i->need;
}

/// Whether a trainer computes as a workload is to be computed.
bool computes_so(const pool_state::trainer_entry& x,
                 const workload_need& need) {
  return x.numerics.empty() || need.numerics.empty()
         || x.numerics == need.numerics;
}

/// Whether a trainer knows a workload in the version that is needed.
bool knows(const pool_state::trainer_entry& x, const workload_need& need) {
  const auto i = x.workloads.find(need.name);
  return i != x.workloads.end()
         && (i->second.empty() || need.version.empty()
             || i->second == need.version);
}

bool can_train(const pool_state::trainer_entry& x, const workload_need& need) {
  return knows(x, need) && computes_so(x, need);
}

/// Whether a trainer is of use to a merger.
bool suits(const pool_state& st, const pool_state::trainer_entry& x,
           const merger_actor& merger) {
  const auto* need = need_of(st, merger);
  return need == nullptr || can_train(x, *need);
}

/// Whether a trainer may be given work, now or later.
bool is_there(const pool_state::trainer_entry& x) {
  return !x.gone && !x.leaving;
}

/// Whether a trainer can be given work now.
bool is_idle(const pool_state::trainer_entry& x,
             caf::actor_clock::time_point now) {
  return is_there(x) && !x.holder && x.ready && x.rests_until <= now;
}

/// Says why no trainer can train what a merger needs.
std::string why_stuck(const pool_state& st, const workload_need& need) {
  std::size_t trainers = 0;
  std::string others; // versions
  bool known = false; // to a trainer, which computes with other numerics then
  for (const auto& [number, x] : st.trainers) {
    if (!is_there(x))
      continue;
    ++trainers;
    if (const auto i = x.workloads.find(need.name); i != x.workloads.end())
      others = i->second;
    known = known || knows(x, need);
  }
  if (trainers == 0)
    return "no trainer is connected";
  auto result = "none of the " + std::to_string(trainers)
                + " trainers can train '" + need.name + '\'';
  if (known)
    result += " with numerics: " + need.numerics
              + ": start one with --numerics " + need.numerics;
  else if (!others.empty())
    result += " in its version '" + need.version + "', only '" + others
              + "': run the same release or library everywhere";
  else
    result += is_own_workload(need.name) ? ": start one without --no-code"
                                 : ": start one with the library that it is in";
  return result;
}

/// Whether a trainer could be given to a merger, now or later.
bool has_trainer_for(const pool_state& st, const merger_actor& merger) {
  return std::any_of(st.trainers.begin(), st.trainers.end(),
                     [&](const auto& kvp) {
                       const auto& x = kvp.second;
                       return is_there(x) && suits(st, x, merger);
                     });
}

/// The mergers that have something to train, which no trainer can.
std::vector<pool_state::need_entry*> stuck_ones(pool_state& st) {
  std::vector<pool_state::need_entry*> result;
  for (auto& x : st.needs) {
    const auto merger = place_of(st, x.handle);
    if (merger && st.mergers[*merger].wanted > 0
        && !has_trainer_for(st, x.handle))
      result.push_back(&x);
    else
      x.told_stuck.clear();
  }
  return result;
}

/// Books the device time until now. Whatever changes who holds what, or with
/// which weight, begins with this.
void catch_up(self_ptr self) {
  auto& st = self->state;
  const auto now = self->clock().now();
  st.shares.advance(
    std::chrono::duration<double>(now - st.shared_until).count());
  st.shared_until = now;
}

/// Follows which mergers wait. One that no trainer is of use to has no turns
/// that it could miss. While there are no trainers, nobody has any.
void note_waiting(pool_state& st) {
  if (std::none_of(st.trainers.begin(), st.trainers.end(),
                   [](const auto& kvp) { return is_there(kvp.second); }))
    return;
  for (std::size_t i = 0; i < st.mergers.size(); ++i) {
    const auto& x = st.mergers[i];
    st.shares.set_waiting(i, x.wanted > 0 && has_trainer_for(st, x.handle));
  }
}

/// The merger whose turn it is of those that a trainer is of use to.
std::optional<std::size_t> next_for(const pool_state& st,
                                    const pool_state::trainer_entry& trainer) {
  auto shares = st.shares;
  while (const auto result = shares.next()) {
    if (suits(st, trainer, st.mergers[*result].handle))
      return result;
    shares.set_waiting(*result, false);
  }
  return std::nullopt;
}

/// Hands idle trainers to mergers until either run out.
void grant_idle(self_ptr self) {
  auto& st = self->state;
  const auto now = self->clock().now();
  for (auto& [number, x] : st.trainers) {
    if (!is_idle(x, now))
      continue;
    const auto first = next_for(st, x);
    if (!first)
      continue;
    st.shares.pass_turns();
    auto& merger = st.mergers[*first];
    x.holder = merger.handle;
    x.granted = st.shared_until;
    --merger.wanted; // until the merger says how many are left
    st.shares.hold(*first, 1);
    st.shares.set_waiting(*first, merger.wanted > 0);
    self->send(merger.handle, grant_atom::value, number, x.handle);
  }
  for (auto* x : stuck_ones(st))
    if (auto why = why_stuck(st, x->need); why != x->told_stuck) {
      spdlog::warn("pool: {} has to wait: {}", x->need.key, why);
      x->told_stuck = std::move(why);
    }
}

/// The shares as they will be once every trainer that was asked back is with
/// whom it was asked for.
struct outlook {
  fair_shares shares;
  std::vector<std::uint64_t> wanted; ///< by merger
  std::vector<std::size_t> passed;  ///< mergers that are asked for no more

  explicit outlook(const pool_state& st) : shares(st.shares) {
    for (const auto& x : st.mergers)
      wanted.push_back(x.wanted);
    for (const auto& [number, x] : st.trainers)
      if (x.holder && x.heir && is_there(x))
        move(*place_of(st, x.holder), *place_of(st, x.heir));
  }

  void move(std::size_t from, std::size_t to) {
    shares.hold(from, -1);
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
  bool is_spoken_for(const pool_state& st,
                     const pool_state::trainer_entry& x) const {
    return std::any_of(passed.begin(), passed.end(), [&](std::size_t merger) {
      return suits(st, x, st.mergers[merger].handle);
    });
  }
};

/// A trainer that a merger may be asked for.
struct candidate {
  std::uint64_t number = 0;
  pool_state::trainer_entry* trainer = nullptr;
  std::size_t from = 0; ///< the merger
};

/// Finds the trainer that can best be asked back for a merger: of those that are
/// of use to it, one of whoever is ahead the most, and there the one that was
/// granted first.
std::optional<candidate> candidate_for(pool_state& st, const outlook& next,
                                       std::size_t to) {
  std::optional<candidate> result;
  for (auto& [number, x] : st.trainers) {
    if (!x.holder || x.heir || !is_there(x)
        || !suits(st, x, st.mergers[to].handle)
        || next.is_spoken_for(st, x))
      continue;
    const auto from = *place_of(st, x.holder);
    if (from == to)
      continue;
    if (!result
        || (from == result->from ? x.granted < result->trainer->granted
                                 : next.shares.lag(result->from, from) > 0))
      result = candidate{number, &x, from};
  }
  return result;
}

/// Asks mergers for trainers for the one whose turn it is, as long as it stays
/// behind them even with one more.
void ask_back(self_ptr self) {
  auto& st = self->state;
  outlook next{st};
  while (const auto to = next.shares.next()) {
    if (const auto x = candidate_for(st, next, *to)) {
      auto after = next;
      after.move(x->from, *to);
      if (after.shares.lag(*to, x->from) > 0) {
        next = std::move(after);
        x->trainer->heir = st.mergers[*to].handle;
        self->send(x->trainer->holder, yield_atom::value, x->number);
        continue;
      }
    }
    next.pass(*to);
  }
}

/// Whether a merger waits while another one trains.
bool is_contended(const pool_state& st) {
  std::size_t holding = 0;
  for (std::size_t i = 0; i < st.mergers.size(); ++i)
    holding += st.shares.devices(i) > 0;
  for (std::size_t i = 0; i < st.mergers.size(); ++i)
    if (st.shares.waits(i) && holding > (st.shares.devices(i) > 0 ? 1u : 0u))
      return true;
  return false;
}

/// Sees to it that every merger gets its share. Follows whatever changes what
/// they want and hold.
void share(self_ptr self) {
  auto& st = self->state;
  catch_up(self);
  note_waiting(st);
  grant_idle(self);
  if (!is_contended(st))
    return;
  ask_back(self);
  if (!std::exchange(st.looking, true))
    self->delayed_send(self, look_interval, yield_atom::value);
}

void take_back(pool_state& st, pool_state::trainer_entry& x) {
  if (const auto merger = place_of(st, x.holder))
    st.shares.hold(*merger, -1);
  x.holder = nullptr;
  x.heir = nullptr;
}

/// Forgets those who have been gone for the longest.
void forget_gone(pool_state& st) {
  std::vector<std::uint64_t> gone;
  for (const auto& [number, x] : st.trainers)
    if (x.gone)
      gone.push_back(number);
  for (std::size_t i = 0; i + gone_trainers_max < gone.size(); ++i)
    st.trainers.erase(gone[i]);
}

/// Notes that a trainer is gone; its merger hears of it.
void part_from(self_ptr self, std::uint64_t number,
               pool_state::trainer_entry& x) {
  auto& st = self->state;
  x.gone = true;
  if (x.holder) {
    catch_up(self);
    self->send(x.holder, lost_atom::value, number);
    take_back(st, x);
  }
  self->demonitor(x.handle.address());
  x.handle = nullptr;
  forget_gone(st);
}

void lose(self_ptr self, std::uint64_t number, const std::string& why) {
  auto& x = self->state.trainers.at(number);
  if (x.gone)
    return;
  spdlog::warn("pool: lost trainer {} ({}): {}", number, x.record.name, why);
  x.record.lost = why;
  // Should it only have been cut off, it registers anew.
  self->send(x.handle, lost_atom::value);
  part_from(self, number, x);
  share(self);
}

/// Lets a trainer go that has taken leave.
void let_go(self_ptr self, std::uint64_t number) {
  auto& x = self->state.trainers.at(number);
  if (x.gone)
    return;
  spdlog::info("pool: trainer {} ({}) has left", number, x.record.name);
  x.record.left = true;
  part_from(self, number, x);
  share(self);
}

/// Forgets a merger that has ended; its trainers are free.
void forget_merger(self_ptr self, std::size_t place) {
  auto& st = self->state;
  catch_up(self);
  const auto handle = st.mergers[place].handle;
  for (auto& [number, x] : st.trainers) {
    if (x.holder == handle)
      take_back(st, x);
    if (x.heir == handle)
      x.heir = nullptr;
  }
  st.shares.remove(place);
  st.mergers.erase(st.mergers.begin() + static_cast<std::ptrdiff_t>(place));
  share(self);
}

/// Passes on what came before the merger did.
void pass_reports(self_ptr self, const std::string& key,
                  const merger_actor& merger) {
  std::erase_if(self->state.reports, [&](const auto& x) {
    if (x.workload_key != key)
      return false;
    self->send(merger, resent_atom::value, x.report, x.from);
    return true;
  });
}

void take_resent(self_ptr self, resent x, const trainer_actor& from) {
  auto& st = self->state;
  const auto i
    = std::find_if(st.needs.begin(), st.needs.end(),
                   [&](const auto& y) { return y.need.key == x.workload_key; });
  if (i != st.needs.end()) {
    self->send(i->handle, resent_atom::value, std::move(x.report), from);
    return;
  }
  st.reports.push_back(
    {std::move(x.workload_key), std::move(x.report), from});
  if (st.reports.size() > waiting_reports_max)
    st.reports.pop_front();
}

/// Takes in that a trainer is alive, and what it does.
void take_beat(self_ptr self, const beat& msg) {
  auto& st = self->state;
  const auto i = st.trainers.find(msg.trainer);
  if (i == st.trainers.end() || i->second.gone)
    return;
  auto& x = i->second;
  x.heard = self->clock().now();
  if (x.holder && msg.lease != 0)
    self->send(x.holder, beat_atom::value, msg.trainer, msg.lease, msg.at);
  if (x.ready || x.holder || msg.lease != 0)
    return;
  x.ready = true;
  if (!std::exchange(x.record.stalled, {}).empty())
    spdlog::info("pool: trainer {} goes on", msg.trainer);
  share(self);
}

/// Looks for trainers that have fallen silent. When the pool itself has not run
/// for a while, that time says nothing about them.
void look(self_ptr self) {
  auto& st = self->state;
  const auto now = self->clock().now();
  const auto late = now - st.ticked - st.options.beat_interval;
  st.ticked = now;
  std::vector<std::uint64_t> silent;
  for (auto& [number, x] : st.trainers) {
    if (late > st.options.beat_interval)
      x.heard = std::min(now, x.heard + late);
    if (!x.gone && now - x.heard > st.options.silence_max)
      silent.push_back(number);
  }
  for (auto number : silent)
    lose(self, number,
         "silent for " + std::to_string(st.options.silence_max.count() / 1000)
           + " s");
}

welcome admit(self_ptr self, const hello& x, const trainer_actor& handle) {
  auto& st = self->state;
  welcome result;
  if (x.protocol != protocol_version) {
    std::string why = "this service speaks version ";
    why += std::to_string(protocol_version) + " and the trainer version "
           + std::to_string(x.protocol) + ": run the same release of both";
    result.refusal = error{errc::incompatible_version, std::move(why)};
    return result;
  }
  for (auto& [known, y] : st.trainers)
    if (!y.gone && y.handle == handle) {
      // It has not heard the answer.
      y.record.lost = "registered anew";
      part_from(self, known, y);
      break;
    }
  const auto number = ++st.last_trainer;
  pool_state::trainer_entry entry;
  entry.handle = handle;
  entry.record.number = number;
  entry.record.name = x.host + ':' + std::to_string(x.process_id);
  entry.record.device = x.device;
  entry.record.memory_bytes = x.memory_bytes;
  entry.record.driver = x.driver;
  entry.record.compute_capability = x.compute_capability;
  entry.workloads = x.workloads;
  entry.numerics = x.numerics;
  entry.heard = self->clock().now();
  st.trainers.emplace(number, std::move(entry));
  self->monitor(handle);
  spdlog::info("pool: trainer {} is {}:{}, {}", number, x.host, x.process_id,
               x.device);
  result.trainer = number;
  result.beat_interval_ms
    = static_cast<std::uint64_t>(st.options.beat_interval.count());
  return result;
}

} // namespace

pool_actor::behavior_type pool(self_ptr self, pool_options options) {
  self->state.options = options;
  self->state.ticked = self->state.shared_until = self->clock().now();
  self->set_down_handler([self](const caf::down_msg& msg) {
    auto& st = self->state;
    const auto is_source
      = [&](const auto& x) { return x.handle.address() == msg.source; };
    std::erase_if(st.needs, is_source);
    if (const auto i
        = std::find_if(st.mergers.begin(), st.mergers.end(), is_source);
        i != st.mergers.end()) {
      forget_merger(self, static_cast<std::size_t>(i - st.mergers.begin()));
      return;
    }
    for (auto& [number, x] : st.trainers)
      if (!x.gone && x.handle.address() == msg.source) {
        if (x.leaving && !msg.reason) // its merger has yet to release it
          let_go(self, number);
        else
          lose(self, number, self->system().render(msg.reason));
        return;
      }
  });
  self->delayed_send(self, options.beat_interval, tick_atom::value);
  return {
    [self](register_atom, const hello_wire& msg,
           const trainer_actor& handle) -> caf::result<welcome_wire> {
      auto x = decode(msg);
      if (!x)
        return caf::make_error(x.failure().code);
      auto answer = encode(admit(self, *x, handle));
      share(self); // somebody may be stuck no longer
      return answer;
    },
    [self](beat_atom, const beat_wire& msg) {
      if (auto x = decode(msg))
        take_beat(self, *x);
    },
    [self](resent_atom, const resent_wire& msg, const trainer_actor& from) {
      if (auto x = decode(msg))
        take_resent(self, std::move(*x), from);
    },
    [self](leave_atom, const goodbye_wire& msg) {
      auto x = decode(msg);
      if (!x)
        return;
      const auto i = self->state.trainers.find(x->trainer);
      if (i == self->state.trainers.end())
        return;
      i->second.leaving = true;
      if (!i->second.holder)
        let_go(self, x->trainer);
    },
    [self](introduce_atom, const merger_actor& who, const workload_need& need) {
      auto& needs = self->state.needs;
      std::erase_if(needs, [&](const auto& x) { // that one has retired
        return x.need.key == need.key;
      });
      self->monitor(who);
      needs.push_back({who, need, {}});
      pass_reports(self, need.key, who);
    },
    [self](demand_atom, const merger_actor& who, double weight,
           std::uint64_t wanted) {
      auto& st = self->state;
      catch_up(self);
      auto place = place_of(st, who);
      if (!place) {
        place = st.shares.add(weight);
        st.mergers.push_back({who, 0});
      }
      st.mergers[*place].wanted = wanted;
      st.shares.set_weight(*place, weight);
      share(self);
    },
    [self](release_atom, std::uint64_t number) {
      auto& st = self->state;
      auto i = st.trainers.find(number);
      if (i == st.trainers.end() || i->second.gone)
        return;
      catch_up(self);
      take_back(st, i->second);
      if (i->second.leaving)
        let_go(self, number);
      share(self);
    },
    [self](rest_atom, std::uint64_t number, std::uint64_t ms) {
      auto i = self->state.trainers.find(number);
      if (i == self->state.trainers.end())
        return;
      const std::chrono::milliseconds span(ms);
      i->second.rests_until = self->clock().now() + span;
      self->delayed_send(self, span, rest_atom::value);
    },
    [self](rest_atom) { share(self); },
    [self](stalled_atom, std::uint64_t number, const std::string& why) {
      auto& st = self->state;
      auto i = st.trainers.find(number);
      if (i == st.trainers.end() || i->second.gone)
        return;
      spdlog::warn("pool: trainer {} stalls: {}", number, why);
      catch_up(self);
      i->second.ready = false;
      i->second.record.stalled = why;
      take_back(st, i->second);
      share(self);
    },
    [self](told_atom, std::uint64_t number) {
      auto i = self->state.trainers.find(number);
      if (i != self->state.trainers.end())
        i->second.heard = self->clock().now();
    },
    [self](tick_atom) {
      look(self);
      self->delayed_send(self, self->state.options.beat_interval,
                         tick_atom::value);
    },
    [self](yield_atom) {
      self->state.looking = false;
      share(self);
    },
    [self](status_atom) {
      pool_status result;
      for (const auto& [number, x] : self->state.trainers) {
        result.trainers.push_back(x.record);
        result.idle += !x.gone && !x.holder;
      }
      for (auto* x : stuck_ones(self->state))
        result.stuck.push_back({x->need.key, why_stuck(self->state, x->need)});
      return result;
    },
  };
}

} // namespace hippo
