#include "trainer.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "hippo/net/wire/codec.hpp"
#include "log_format.hpp"

namespace hippo {

namespace {

using trainer_self = training_actor::stateful_pointer<trainer_state>;

/// How long the pool may take to answer.
constexpr auto answer_timeout = std::chrono::seconds(10);

trainer_actor handle_of(trainer_self self) {
  return caf::actor_cast<trainer_actor>(self);
}

void dispatch(trainer_self self, any_trainer_event event);

/// Carries out one effect after the other.
struct trainer_effect_sender {
  trainer_self self;

  void operator()(const trainer_effect::watch&) const {
    auto& st = self->state;
    st.pool = st.joining;
    self->monitor(st.pool);
  }

  void operator()(const trainer_effect::unwatch&) const {
    self->demonitor(self->state.pool.address());
  }

  void operator()(const trainer_effect::send_hello& x) const {
    const auto& st = self->state;
    self
      ->request(st.pool, answer_timeout, register_atom::value,
                encode(st.core->self_description()), handle_of(self))
      .then(
        [self = self, x](const welcome_wire& msg) {
          auto answer = decode(msg);
          dispatch(
            self, trainer_event::answered{
                    x.registration, answer ? std::move(*answer)
                                           : welcome{answer.failure(), {}, 0}});
        },
        [self = self, x](const caf::error& why) {
          dispatch(self, trainer_event::unanswered{x.registration,
                                                   self->system().render(why)});
        });
  }

  void operator()(const trainer_effect::send_heartbeat& x) const {
    const auto& st = self->state;
    auto what = x.what;
    if (what.lease != lease_id{})
      what.at = std::max(what.at, st.device->reached(what.lease));
    what.overdue_ms =
      static_cast<std::uint64_t>(st.device->overdue(what.lease).count());
    self->send(st.pool, heartbeat_atom::value, encode(what));
  }

  void operator()(const trainer_effect::send_resent& x) const {
    self->send(self->state.pool, resent_atom::value, encode(x.what),
               handle_of(self));
  }

  void operator()(const trainer_effect::send_goodbye& x) const {
    const auto done = [self = self, is_last = x.is_last] {
      dispatch(self, trainer_event::left{is_last});
    };
    self
      ->request(self->state.pool, answer_timeout, leave_atom::value,
                encode(goodbye{x.trainer}))
      .then(done, [done](const caf::error&) { done(); });
  }

  void operator()(const trainer_effect::send_report& x) const {
    self->send(owner(x.owner).handle, report_atom::value, encode(x.report));
  }

  void operator()(const trainer_effect::send_end& x) const {
    const auto& st = self->state;
    const auto& [handle, log_before] = owner(x.owner);
    auto end = x.end;
    if (end.failure && log_before)
      end.log = lines_of_lease(st.log_tail(), *log_before);
    self->send(handle, ended_atom::value, encode(end));
  }

  void operator()(const trainer_effect::drop_owner& x) const {
    self->state.owners.erase(x.owner);
  }

  void operator()(const trainer_effect::start_lease& x) const {
    auto& st = self->state;
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
      st.owners.at(x.owner).log_before = st.log_tail();
  }

  void operator()(const trainer_effect::add_stop& x) const {
    self->state.device->add_stop(x.what.lease, x.what.point);
  }

  void operator()(const trainer_effect::wind_down& x) const {
    auto& device = *self->state.device;
    device.add_stop(x.lease, x.stop_after(device.reached(x.lease)));
  }

  void operator()(const trainer_effect::cancel& x) const {
    self->state.device->cancel(x.lease);
  }

  void operator()(const trainer_effect::quit& x) const {
    self->quit(x.why ? caf::make_error(*x.why) : caf::error{});
  }

  void operator()(const trainer_effect::greet_after& x) const {
    self->delayed_send(self, x.span, register_atom::value, x.registration);
  }

  void operator()(const trainer_effect::beat_after& x) const {
    if (x.span.count() == 0)
      self->send(self, tick_atom::value, x.registration);
    else
      self->delayed_send(self, x.span, tick_atom::value, x.registration);
  }

  void operator()(const trainer_effect::log_line& x) const {
    spdlog::log(severity_of(x.severity), "trainer: {}", x.text);
  }

private:
  [[nodiscard]] const trainer_state::owner& owner(owner_number number) const {
    return self->state.owners.at(number);
  }
};

/// Tells the core what has happened, and does what it has decided.
void dispatch(trainer_self self, any_trainer_event event) {
  auto& st = self->state;
  const auto effects =
    st.trace.apply(*st.core, std::move(event), self->clock().now());
  for (const auto& x : effects)
    std::visit(trainer_effect_sender{self}, x);
}

void connect(trainer_self self, const registrar_actor& pool,
             std::optional<std::string> gang = {}) {
  auto& st = self->state;
  st.joining = pool;
  dispatch(self, trainer_event::connected{st.pool && st.pool == pool,
                                          std::move(gang)});
  st.joining = nullptr;
}

void take_lease(trainer_self self, const lease_wire& msg,
                const lease_owner_actor& owner) {
  auto& st = self->state;
  const auto number = ++st.last_owner;
  st.owners.emplace(number, trainer_state::owner{owner});
  if (auto work = decode(msg))
    dispatch(self, trainer_event::leased{number, std::move(*work)});
  else
    dispatch(self,
             trainer_event::malformed{number, number_of(msg), work.failure()});
}

} // namespace

trainer_state::~trainer_state() {
  // What runs is of no use to anybody once its trainer is gone.
  if (core)
    for (const auto lease : core->running())
      device->cancel(lease);
}

training_actor::behavior_type trainer(trainer_self self, registrar_actor pool,
                                      hello self_description,
                                      std::shared_ptr<engine> device,
                                      std::function<std::string()> log_tail) {
  return traced_trainer(self, std::move(pool), std::move(self_description),
                        std::move(device), std::move(log_tail), {});
}

training_actor::behavior_type
traced_trainer(trainer_self self, registrar_actor pool, hello self_description,
               std::shared_ptr<engine> device,
               std::function<std::string()> log_tail, core_trace trace) {
  auto& state = self->state;
  const auto begun = self->clock().now();
  state.device = std::move(device);
  state.log_tail = std::move(log_tail);
  state.trace = std::move(trace);
  state.trace.begin(self_description, begun);
  state.core.emplace(std::move(self_description), begun);
  self->set_down_handler([self](const caf::down_msg& msg) {
    auto& st = self->state;
    if (!st.pool || msg.source != st.pool.address())
      return;
    st.pool = nullptr;
    dispatch(self,
             trainer_event::disconnected{self->system().render(msg.reason)});
  });
  if (pool)
    connect(self, pool);
  return {
    [self](lease_atom, const lease_wire& msg, const lease_owner_actor& owner) {
      take_lease(self, msg, owner);
    },
    [self](stop_atom, const stop_wire& msg) {
      if (const auto x = decode(msg))
        dispatch(self, trainer_event::stop_asked{*x});
    },
    [self](cancel_atom, const cancel_wire& msg) {
      if (const auto x = decode(msg))
        dispatch(self, trainer_event::cancel_asked{x->lease});
    },
    [self](ack_atom, const ack_wire& msg) {
      if (const auto x = decode(msg))
        dispatch(self, trainer_event::acked{*x});
    },
    [self](lost_atom) { dispatch(self, trainer_event::given_up{}); },
    [self](connect_atom, const registrar_actor& x) { connect(self, x); },
    [self](connect_atom, const registrar_actor& x, const std::string& gang) {
      connect(self, x, gang);
    },
    [self](leave_atom) { dispatch(self, trainer_event::leave_asked{}); },
    [self](notify_atom, const stop_report& x) {
      dispatch(self, trainer_event::reported{x});
    },
    [self](notify_atom, const lease_end& x) {
      dispatch(self, trainer_event::ended{x});
    },
    [self](stalled_atom, const lease_end& x) {
      dispatch(self, trainer_event::stuck{x});
    },
    [self](register_atom, std::uint64_t registration) {
      dispatch(self, trainer_event::greeting_due{registration});
    },
    [self](tick_atom, std::uint64_t registration) {
      dispatch(self, trainer_event::beat_due{registration});
    },
  };
}

} // namespace hippo
