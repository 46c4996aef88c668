#include "trainer.hpp"

#include <utility>

#include <spdlog/spdlog.h>

#include "hippo/wire/codec.hpp"

namespace hippo {

namespace {

using self_ptr = training_actor::stateful_pointer<trainer_state>;

/// How long the pool may take to answer a registration.
constexpr auto register_timeout = std::chrono::seconds(10);

void start(self_ptr self, trainer_state::task x) {
  auto& st = self->state;
  st.running = std::move(x);
  auto me = caf::actor_cast<caf::actor>(self->ctrl());
  st.device->start(st.running->work, [me](engine_event event) {
    std::visit([&](auto& e) { caf::anon_send(me, told_atom::value, e); },
               event);
  });
}

void greet(self_ptr self, const hello& x) {
  self
    ->request(self->state.pool, register_timeout, register_atom::value,
              encode(x), caf::actor_cast<trainer_actor>(self))
    .then(
      [self](const welcome_wire& msg) {
        auto answer = decode(msg);
        if (!answer || answer->refusal) {
          const auto& why = answer ? *answer->refusal : answer.failure();
          spdlog::error("trainer: refused: {}", why.message);
          self->quit(caf::make_error(why.code));
          return;
        }
        self->state.number = answer->trainer;
        self->state.beat_interval_ms = answer->beat_interval_ms;
        spdlog::info("trainer: registered as number {}", answer->trainer);
        self->send(self, tick_atom::value);
      },
      [self](caf::error& err) {
        spdlog::error("trainer: no answer to registration: {}",
                      self->system().render(err));
        self->quit(std::move(err));
      });
}

} // namespace

trainer_state::~trainer_state() {
  // What runs is of no use to anybody once its trainer is gone.
  if (running)
    device->cancel(running->work.number);
}

training_actor::behavior_type trainer(self_ptr self, registrar_actor pool,
                                      hello self_description,
                                      std::shared_ptr<engine> device) {
  self->state.device = std::move(device);
  self->state.pool = std::move(pool);
  self->monitor(self->state.pool);
  self->set_down_handler([self](const caf::down_msg& msg) {
    spdlog::warn("trainer: lost the service: {}",
                 self->system().render(msg.reason));
    self->quit(caf::exit_reason::remote_link_unreachable);
  });
  greet(self, self_description);
  return {
    [self](lease_atom, const lease_wire& msg, const lease_owner_actor& owner) {
      auto work = decode(msg);
      if (!work) {
        spdlog::error("trainer: refused a lease: {}", work.failure().message);
        return;
      }
      auto& st = self->state;
      if (!st.running) {
        start(self, {std::move(*work), owner});
        return;
      }
      st.device->cancel(st.running->work.number);
      st.waiting = trainer_state::task{std::move(*work), owner};
    },
    [self](stop_atom, const stop_wire& msg) {
      if (auto x = decode(msg))
        self->state.device->add_stop(x->lease, x->point);
    },
    [self](cancel_atom, const cancel_wire& msg) {
      auto& st = self->state;
      auto x = decode(msg);
      if (!x)
        return;
      st.device->cancel(x->lease);
      if (st.waiting && st.waiting->work.number == x->lease)
        st.waiting.reset();
    },
    [self](told_atom, const stop_report& x) {
      auto& st = self->state;
      if (st.running && st.running->work.number == x.lease)
        self->send(st.running->owner, report_atom::value, encode(x));
    },
    [self](told_atom, const lease_end& x) {
      auto& st = self->state;
      if (!st.running || st.running->work.number != x.lease)
        return; // of a trainer before this one, on the same engine
      self->send(st.running->owner, ended_atom::value, encode(x));
      st.running.reset();
      if (auto next = std::exchange(st.waiting, std::nullopt))
        start(self, std::move(*next));
    },
    [self](tick_atom) {
      auto& st = self->state;
      beat x;
      x.trainer = st.number;
      x.lease = st.running ? st.running->work.number : 0;
      x.at = st.running ? st.device->reached() : 0;
      x.count = st.beats++;
      self->send(st.pool, beat_atom::value, encode(x));
      self->delayed_send(self, std::chrono::milliseconds(st.beat_interval_ms),
                         tick_atom::value);
    },
  };
}

} // namespace hippo
