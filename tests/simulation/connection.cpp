#include "simulation/connection.hpp"

#include <utility>

#include "hippo/net/wire/codec.hpp"

namespace hippo::simulation {

using namespace std::chrono_literals;

namespace {

/// Lets an actor send although it has no message now.
template <class Self>
Self awake(Self self) {
  self->context(self->system().dummy_execution_unit());
  return self;
}

} // namespace

std::shared_ptr<connection> connection::make(environment where,
                                             pool_actor pool,
                                             trainer_actor trainer) {
  const std::shared_ptr<connection> result{new connection{std::move(where)}};
  auto& system = *result->where_.system;
  result->far_trainer_ = system.spawn(
    [result, trainer](trainer_actor::pointer self) {
      return result->be_trainer(self, trainer);
    });
  result->far_pool_ = system.spawn(
    [result, pool](registrar_actor::pointer self) {
      return result->be_pool(self, pool);
    });
  result->where_.note_actor(caf::actor_cast<caf::actor>(result->far_trainer_));
  result->where_.note_actor(caf::actor_cast<caf::actor>(result->far_pool_));
  return result;
}

void connection::delay(bool delayed) {
  is_delayed_ = delayed;
  while (!is_delayed_ && !is_lost_ && !waiting_.empty()) {
    const auto next = std::move(waiting_.front());
    waiting_.pop_front();
    next();
  }
}

void connection::lose(virtual_timeline::duration until_service_notices,
                      virtual_timeline::duration until_trainer_notices) {
  if (std::exchange(is_lost_, true))
    return;
  waiting_.clear();
  end(caf::actor_cast<caf::actor>(far_trainer_), until_service_notices);
  end(caf::actor_cast<caf::actor>(far_pool_), until_trainer_notices);
  for (const auto& x : owners_)
    end(x, 0s);
}

void connection::end(const caf::actor& actor,
                     virtual_timeline::duration after) {
  const auto notice = [actor] {
    caf::anon_send_exit(actor, caf::exit_reason::remote_link_unreachable);
  };
  const auto& timeline = where_.timeline;
  if (after == 0s)
    notice();
  else
    timeline->schedule_at(timeline->now() + after, notice);
}

/// Passes a message on, now or when messages no longer wait.
void connection::pass(std::function<void()> message) {
  if (is_lost_)
    return;
  if (is_delayed_)
    waiting_.push_back(std::move(message));
  else
    message();
}

registrar_actor::behavior_type
connection::be_pool(registrar_actor::pointer self, pool_actor pool) {
  const auto me = weak_from_this();
  return {
    [=](register_atom, const hello_wire& x,
        const trainer_actor&) -> caf::result<welcome_wire> {
      auto promise = self->make_response_promise<welcome_wire>();
      if (const auto y = me.lock())
        y->pass([=] {
          awake(self)
            ->request(pool, caf::infinite, register_atom::value, x,
                      y->far_trainer_)
            .then(
              [=](const welcome_wire& answer) {
                y->is_registered_ = true;
                y->pass([=]() mutable {
                  static_cast<void>(awake(self));
                  promise.deliver(answer);
                });
              },
              [](const caf::error&) {});
        });
      return promise;
    },
    [=](heartbeat_atom, const heartbeat_wire& x) {
      if (const auto y = me.lock())
        y->pass([=] {
          awake(self)->send(pool, heartbeat_atom::value, y->told(x));
          if (y->where_.sick->resends)
            y->send_unknown(awake(self), pool);
        });
    },
    [=](resent_atom, const resent_wire& x, const trainer_actor&) {
      if (const auto y = me.lock())
        y->pass([=] {
          awake(self)->send(pool, resent_atom::value, x, y->far_trainer_);
        });
    },
    [=](leave_atom, const goodbye_wire& x) -> caf::result<void> {
      auto promise = self->make_response_promise<void>();
      if (const auto y = me.lock())
        y->pass([=]() mutable {
          static_cast<void>(awake(self));
          promise.delegate(pool, leave_atom::value, x);
        });
      return promise;
    },
  };
}

trainer_actor::behavior_type
connection::be_trainer(trainer_actor::pointer self, trainer_actor trainer) {
  const auto me = weak_from_this();
  const auto on = [=](std::function<void(connection&)> message) {
    if (const auto x = me.lock())
      x->pass([=] { message(*x); });
  };
  return {
    [=](lease_atom, const lease_wire& x, const lease_owner_actor& owner) {
      on([=](connection& y) {
        awake(self)->send(trainer, lease_atom::value, x, y.owner_for(owner));
      });
    },
    [=](stop_atom, const stop_wire& x) {
      on([=](connection&) { awake(self)->send(trainer, stop_atom::value, x); });
    },
    [=](cancel_atom, const cancel_wire& x) {
      on([=](connection&) {
        awake(self)->send(trainer, cancel_atom::value, x);
      });
    },
    [=](ack_atom, const ack_wire& x) {
      on([=](connection&) { awake(self)->send(trainer, ack_atom::value, x); });
    },
    [=](lost_atom) {
      on([=](connection&) { awake(self)->send(trainer, lost_atom::value); });
    },
  };
}

/// The owner of a lease as the trainer sees it.
lease_owner_actor connection::owner_for(const lease_owner_actor& owner) {
  const auto me = weak_from_this();
  auto result = where_.system->spawn(
    [=](lease_owner_actor::pointer) -> lease_owner_actor::behavior_type {
      return {
        [=](report_atom, const stop_report_wire& x) {
          if (const auto y = me.lock())
            y->pass([=] { y->send_report(owner, x); });
        },
        [=](ended_atom, const lease_end_wire& x) {
          if (const auto y = me.lock())
            y->pass([=] {
              caf::send_as(y->far_trainer_, owner, ended_atom::value, x);
            });
        },
      };
    });
  owners_.push_back(caf::actor_cast<caf::actor>(result));
  where_.note_actor(owners_.back());
  return result;
}

/// A heartbeat as a trainer says it that lies.
heartbeat_wire connection::told(const heartbeat_wire& message) {
  const auto& sick = *where_.sick;
  auto lie = decode(message);
  if (!lie || (!sick.says_idle && !sick.moves))
    return message;
  if (sick.says_idle) {
    lie->lease = lease_id{};
    lie->at = 0;
  } else if (lie->lease != lease_id{}) {
    lie->at += random_() % 5;
  }
  return encode(*lie);
}

/// Sends what nobody knows a merger for.
template <class Self>
void connection::send_unknown(Self self, const pool_actor& pool) {
  resent x;
  x.workload_key = "nobody knows this";
  x.report.lease = lease_id{7};
  x.report.node = node_id{1};
  x.report.at = 1;
  x.report.device = "sim";
  x.report.output = std::string(1000, 'o');
  self->send(pool, resent_atom::value, encode(x), far_trainer_);
}

/// Sends a report, and what a trainer that lies says beside it.
void connection::send_report(const lease_owner_actor& owner,
                             const stop_report_wire& message) {
  const auto& sick = *where_.sick;
  const auto send = [this, owner](const stop_report_wire& y) {
    caf::send_as(far_trainer_, owner, report_atom::value, y);
  };
  if (sick.talks_nonsense)
    if (auto lie = decode(message)) {
      // The truth comes as well, or the work would have to be done again.
      switch (random_() % 5) {
        case 0: lie->at += 1000; break;
        case 1:
          lie->lease = lease_id{number_of(lie->lease) + random_() % 3};
          break;
        case 2: lie->node = node_id{random_() % 10}; break;
        case 3: lie->identity = random_(); break;
        default: lie->trained_steps = UINT64_MAX; break;
      }
      send(encode(*lie));
    }
  send(message);
  if (sick.repeats)
    send(message);
  if (sick.is_late) {
    const auto me = weak_from_this();
    where_.timeline->schedule_at(where_.timeline->now() + 70s, [=] {
      if (const auto y = me.lock(); y && !y->is_lost_)
        send(message);
    });
  }
}

} // namespace hippo::simulation
