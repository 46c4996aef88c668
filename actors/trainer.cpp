#include "trainer.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "hippo/net/wire/codec.hpp"
#include "hippo/train/run.hpp"
#include "log_format.hpp"

namespace hippo {

namespace {

using trainer_self = training_actor::stateful_pointer<trainer_state>;

/// How long the pool may take to answer.
constexpr auto answer_timeout = std::chrono::seconds(10);

trainer_actor handle_of(trainer_self self) {
  return caf::actor_cast<trainer_actor>(self);
}

/// Whether one of two leases must have ended before the other one can start:
/// they are for one lane, or of different mergers.
bool exclude(const lease& x, const lease& y) {
  return x.lane == y.lane || key_of(x.workload) != key_of(y.workload);
}

/// Hands a lease back that has not begun.
void hand_back(trainer_self self, const trainer_state::task& x) {
  lease_end end;
  end.lease = x.work.number;
  end.at = x.work.stages.front().begin;
  end.failure = error{errc::cancelled, "it had not begun"};
  self->send(x.owner, ended_atom::value, encode(end));
}

/// Ends a lease that says nothing this trainer could do: whoever sent it must
/// not wait for it, nor take this trainer for idle.
void refuse(trainer_self self, const lease_wire& msg,
            const lease_owner_actor& owner, const error& why) {
  spdlog::error("trainer: refused a lease: {}", why.message);
  lease_end end;
  if (const auto number = number_of(msg))
    end.lease = *number;
  else
    return self->send(self, lost_atom::value); // is let go of so as well
  end.failure = why;
  self->send(owner, ended_atom::value, encode(end));
}

/// Lets the running leases end after their present steps, with checkpoints.
void wind_down(trainer_self self) {
  auto& st = self->state;
  for (const auto& x : std::exchange(st.waiting, {}))
    hand_back(self, x);
  for (const auto& [number, x] : st.running) {
    const auto& stages = x.work.stages;
    const auto reached
      = std::max(st.device->reached(number), stages.front().begin);
    st.device->add_stop(number,
                        {.at = std::min(reached + 1, stages.back().end),
                         .save = true,
                         .last = true});
  }
}

/// Notes that the registration, if there was one, is over.
void be_away(trainer_self self) {
  auto& st = self->state;
  st.number = {};
  ++st.registrations; // what comes of the one before counts no more
  st.greets = false;
  wind_down(self);
}

void send_heartbeat(trainer_self self, lease_id lease, step_t at) {
  auto& st = self->state;
  self->send(st.pool, heartbeat_atom::value,
             encode(heartbeat{
               st.number, lease, at, st.heartbeats++,
               static_cast<std::uint64_t>(st.device->overdue(lease).count())}));
}

void start(trainer_self self, trainer_state::task x) {
  auto& st = self->state;
  const auto number = x.work.number;
  // Should this trainer be lost over it, that is known to be why.
  if (x.registration == st.registrations && st.pool
      && st.number != trainer_id{})
    send_heartbeat(self, number, x.work.stages.front().begin);
  auto me = caf::actor_cast<caf::actor>(self->ctrl());
  st.device->start(x.work, [me](engine_event event) {
    if (auto* stuck = std::get_if<device_stuck>(&event))
      caf::anon_send(me, stalled_atom::value, std::move(stuck->end));
    else if (auto* end = std::get_if<lease_end>(&event))
      caf::anon_send(me, notify_atom::value, std::move(*end));
    else
      caf::anon_send(me, notify_atom::value,
                     std::move(std::get<stop_report>(event)));
  });
  if (st.log_tail)
    x.log_before = st.log_tail();
  st.running.emplace(number, std::move(x));
}

/// Starts what is waiting and has nothing in its way any more.
void start_waiting(trainer_self self) {
  auto& st = self->state;
  for (auto& x : std::exchange(st.waiting, {}))
    if (std::any_of(st.running.begin(), st.running.end(), [&](const auto& y) {
          return exclude(y.second.work, x.work);
        }))
      st.waiting.push_back(std::move(x));
    else
      start(self, std::move(x));
}

void heartbeat_now(trainer_self self) {
  auto& st = self->state;
  if (st.running.empty())
    send_heartbeat(self, {}, 0);
  for (const auto& kvp : st.running)
    send_heartbeat(self, kvp.first, st.device->reached(kvp.first));
}

void send_again(trainer_self self, const resent& x) {
  self->send(self->state.pool, resent_atom::value, encode(x), handle_of(self));
}

/// Takes leave of the pool; ends once that has received everything.
void say_goodbye(trainer_self self) {
  auto& st = self->state;
  const bool last = st.running.empty();
  const auto done = [self, last] {
    if (last)
      self->quit();
  };
  self
    ->request(st.pool, answer_timeout, leave_atom::value,
              encode(goodbye{st.number}))
    .then(done, [done](const caf::error&) { done(); });
}

/// Goes as far as it can now: a pool that knows this trainer, or is about to,
/// must hear of it, or would take it for lost.
void go(trainer_self self) {
  auto& st = self->state;
  if (st.number != trainer_id{})
    say_goodbye(self);
  else if (!st.greets && st.running.empty())
    self->quit();
}

void be_welcome(trainer_self self, const welcome& x) {
  auto& st = self->state;
  st.greeting.reset();
  st.number = x.trainer;
  st.heartbeat_interval_ms = x.heartbeat_interval_ms;
  spdlog::info("trainer: registered as number {} with {}", number_of(x.trainer),
               st.self_description.device);
  if (!st.unacknowledged.empty())
    spdlog::info("trainer: sending {} reports again",
                 st.unacknowledged.size());
  for (const auto& y : st.unacknowledged)
    send_again(self, y);
  if (st.leaving)
    say_goodbye(self);
  self->send(self, tick_atom::value, st.registrations);
}

void greet(trainer_self self) {
  auto& st = self->state;
  const auto registration = ++st.registrations;
  st.greets = true;
  self
    ->request(st.pool, answer_timeout, register_atom::value,
              encode(st.self_description), handle_of(self))
    .then(
      [self, registration](const welcome_wire& msg) {
        if (self->state.registrations != registration)
          return; // too late: it has been lost meanwhile
        self->state.greets = false;
        auto answer = decode(msg);
        if (answer && !answer->refusal) {
          be_welcome(self, *answer);
          return;
        }
        const auto& why = answer ? *answer->refusal : answer.failure();
        spdlog::error("trainer: refused: {}", why.message);
        self->quit(caf::make_error(why.code));
      },
      [self, registration](const caf::error& why) {
        auto& now = self->state;
        if (now.registrations != registration)
          return;
        now.greets = false;
        spdlog::warn("trainer: no answer to registration: {}",
                     self->system().render(why));
        if (now.leaving)
          go(self);
        self->delayed_send(self, now.greeting.next(), register_atom::value,
                           registration);
      });
}

void connect(trainer_self self, registrar_actor pool) {
  auto& st = self->state;
  if (st.number != trainer_id{} && st.pool == pool)
    return;
  if (st.pool) { // its end has not been heard of yet
    self->demonitor(st.pool.address());
    be_away(self);
  }
  st.pool = std::move(pool);
  self->monitor(st.pool);
  greet(self);
}

/// Passes a report on, and keeps it until it is acknowledged.
void pass_on(trainer_self self, const trainer_state::task& from,
             stop_report x) {
  // A trainer is of one kind, that of its hello, whatever it trains.
  x.device = kind_made(from.work, self->state.self_description.device);
  if (x.saved && from.work.workload.any_device)
    x.saved->device = x.device;
  auto& st = self->state;
  const auto* where = stage_reaching(from.work, x.at);
  const bool has_place = where != nullptr && where->node != root_node;
  if (has_place) {
    x.node = where->node;
    x.identity = where->identity;
    st.unacknowledged.push_back({key_of(from.work.workload), x});
    if (st.unacknowledged.size() > unacknowledged_max)
      st.unacknowledged.pop_front();
  }
  if (from.registration == st.registrations)
    self->send(from.owner, report_atom::value, encode(x));
  else if (st.number != trainer_id{} && has_place)
    send_again(self, st.unacknowledged.back());
}

void take_end(trainer_self self, lease_end x) {
  auto& st = self->state;
  const auto from = st.running.extract(x.lease).mapped();
  if (x.failure && x.failure->code != errc::cancelled)
    spdlog::warn("trainer: lease {} failed at step {}: {}",
                 number_of(x.lease), x.at, first_line(x.failure->message));
  const bool is_current = from.registration == st.registrations;
  if (x.failure && st.log_tail)
    x.log = lines_of_lease(st.log_tail(), from.log_before);
  if (is_current)
    self->send(from.owner, ended_atom::value, encode(x));
  start_waiting(self);
  if (!st.running.empty())
    return;
  if (st.leaving)
    go(self);
  else if (!is_current && st.number != trainer_id{})
    heartbeat_now(self); // it is free for work from now on
}

/// Ends in good order: saves after the present step, reports, takes leave.
void leave(trainer_self self) {
  if (std::exchange(self->state.leaving, true))
    return;
  wind_down(self);
  go(self);
}

} // namespace

trainer_state::~trainer_state() {
  // What runs is of no use to anybody once its trainer is gone.
  for (const auto& kvp : running)
    device->cancel(kvp.first);
}

training_actor::behavior_type trainer(trainer_self self, registrar_actor pool,
                                      hello self_description,
                                      std::shared_ptr<engine> device,
                                      std::function<std::string()> log_tail) {
  self->state.device = std::move(device);
  self->state.self_description = std::move(self_description);
  self->state.log_tail = std::move(log_tail);
  self->set_down_handler([self](const caf::down_msg& msg) {
    auto& st = self->state;
    if (!st.pool || msg.source != st.pool.address())
      return;
    spdlog::warn("trainer: lost the service: {}",
                 self->system().render(msg.reason));
    st.pool = nullptr;
    be_away(self);
    if (st.leaving)
      go(self);
  });
  if (pool)
    connect(self, std::move(pool));
  return {
    [self](lease_atom, const lease_wire& msg, const lease_owner_actor& owner) {
      auto work = decode(msg);
      if (!work) {
        refuse(self, msg, owner, work.failure());
        return;
      }
      auto& st = self->state;
      trainer_state::task next{std::move(*work), owner, st.registrations};
      if (st.leaving) {
        hand_back(self, next);
        return;
      }
      // The lessor has cancelled what is in the way.
      for (const auto& [number, x] : st.running)
        if (exclude(x.work, next.work))
          st.device->cancel(number);
      std::erase_if(st.waiting, [&](const auto& x) {
        return exclude(x.work, next.work);
      });
      st.waiting.push_back(std::move(next));
      start_waiting(self);
    },
    [self](stop_atom, const stop_wire& msg) {
      const auto x = decode(msg);
      if (!x)
        return;
      self->state.device->add_stop(x->lease, x->point);
      for (auto& y : self->state.waiting) // as if it had come along with it
        if (auto& stops = y.work.stops;
            y.work.number == x->lease && x->point.at <= stops.back().at)
          merge_stop(stops, 0, x->point);
    },
    [self](cancel_atom, const cancel_wire& msg) {
      auto& st = self->state;
      auto x = decode(msg);
      if (!x)
        return;
      st.device->cancel(x->lease);
      std::erase_if(st.waiting, [&](const auto& y) {
        const bool is_meant = y.work.number == x->lease;
        if (is_meant)
          hand_back(self, y);
        return is_meant;
      });
    },
    [self](ack_atom, const ack_wire& msg) {
      auto x = decode(msg);
      if (!x)
        return;
      std::erase_if(self->state.unacknowledged, [&](const resent& y) {
        return y.report.lease == x->lease && y.report.at == x->at;
      });
    },
    [self](lost_atom) {
      auto& st = self->state;
      if (!st.pool || st.number == trainer_id{})
        return;
      spdlog::warn("trainer: the service has given this trainer up, because it "
                   "was not heard of; registering anew");
      be_away(self);
      greet(self);
    },
    [self](connect_atom, const registrar_actor& x) {
      connect(self, x);
    },
    [self](leave_atom) { leave(self); },
    [self](notify_atom, const stop_report& x) {
      auto& st = self->state;
      if (const auto i = st.running.find(x.lease); i != st.running.end())
        pass_on(self, i->second, x);
    },
    [self](notify_atom, const lease_end& x) {
      auto& st = self->state;
      if (st.running.count(x.lease) > 0)
        take_end(self, x);
    },
    [self](stalled_atom, const lease_end& x) {
      if (self->state.running.count(x.lease) == 0)
        return;
      leave(self); // first: the device is given nothing more
      take_end(self, x);
    },
    [self](register_atom, std::uint64_t registration) {
      if (registration == self->state.registrations && self->state.pool)
        greet(self);
    },
    [self](tick_atom, std::uint64_t registration) {
      auto& st = self->state;
      if (registration != st.registrations)
        return;
      heartbeat_now(self);
      self->delayed_send(self,
                         std::chrono::milliseconds(st.heartbeat_interval_ms),
                         tick_atom::value, registration);
    },
  };
}

} // namespace hippo
