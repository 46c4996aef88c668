#include "pool.hpp"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "hippo/net/wire/codec.hpp"
#include "turn_watch.hpp"

namespace hippo {

namespace {

using pool_self = pool_actor::stateful_pointer<pool_state>;

/// Carries out one effect after the other.
struct effect_sender {
  pool_self self;

  void operator()(const pool_core::grant& x) const {
    self->send(merger(x.merger), grant_atom::value, trainer(x.trainer),
               trainer_grant{x.trainer, x.kind, x.seconds_between_interruptions,
                             x.price, x.name, x.at_once, x.code_at_once});
  }

  void operator()(const pool_core::ask_to_yield& x) const {
    self->send(merger(x.merger), yield_atom::value, x.trainer);
  }

  void operator()(const pool_core::notify_lost& x) const {
    self->send(merger(x.merger), lost_atom::value, x.trainer, x.why);
  }

  void operator()(const pool_core::notify_back& x) const {
    self->send(merger(x.merger), back_atom::value, x.name);
  }

  void operator()(const pool_core::tell_able& x) const {
    self->send(merger(x.merger), able_atom::value, x.trainers);
  }

  void operator()(const pool_core::forward_heartbeat& x) const {
    self->send(merger(x.merger), heartbeat_atom::value,
               x.what.trainer, x.what.lease, x.what.at);
  }

  void operator()(const pool_core::dismiss& x) const {
    self->send(trainer(x.trainer), lost_atom::value);
  }

  void operator()(const pool_core::watch& x) const {
    self->monitor(trainer(x.trainer));
  }

  void operator()(const pool_core::unwatch& x) const {
    self->demonitor(trainer(x.trainer).address());
    self->state.trainers.erase(x.trainer);
    self->state.reports.erase(x.trainer);
  }

  void operator()(const pool_core::review_after& x) const {
    if (x.ends_cool_down)
      self->delayed_send(self, x.span, cooldown_atom::value);
    else
      self->delayed_send(self, x.span, yield_atom::value);
  }

  void operator()(const pool_core::log_line& x) const {
    if (x.is_warning)
      spdlog::warn("pool: {}", x.text);
    else
      spdlog::info("pool: {}", x.text);
  }

private:
  [[nodiscard]] const merger_actor& merger(std::uint64_t id) const {
    return self->state.mergers.at(id);
  }

  [[nodiscard]] const trainer_actor& trainer(trainer_id number) const {
    return self->state.trainers.at(number);
  }
};

void apply_effects(pool_self self, const pool_core::effects& xs) {
  for (const auto& x : xs)
    std::visit(effect_sender{self}, x);
}

/// The core's number of a merger, a new one if it is not known yet.
std::uint64_t id_of(pool_state& st, const merger_actor& x) {
  for (const auto& [id, known] : st.mergers)
    if (known == x)
      return id;
  st.mergers.emplace(++st.last_merger, x);
  return st.last_merger;
}

/// About what a waiting report takes beside its message and key.
constexpr std::size_t bytes_of_waiting = 256;

/// Passes on what came before the merger did.
void forward_reports(pool_self self, const std::string& key,
                     const merger_actor& merger) {
  auto& st = self->state;
  for (auto& [number, x] : st.reports) {
    std::erase_if(x.those, [&](const auto& y) {
      if (y.workload_key != key)
        return false;
      if (auto report = decode(y.message))
        self->send(merger, resent_atom::value, std::move(report->report),
                   st.trainers.at(number));
      return true;
    });
    x.is_beyond = x.is_beyond && !x.those.empty();
  }
}

std::optional<trainer_id> registered_as(const pool_state& st,
                                        const trainer_actor& handle) {
  const auto i
    = std::find_if(st.trainers.begin(), st.trainers.end(),
                   [&](const auto& kvp) { return kvp.second == handle; });
  return i == st.trainers.end() ? std::nullopt : std::optional{i->first};
}

void take_resent(pool_self self, const resent_wire& msg,
                 const trainer_actor& from) {
  auto x = decode(msg);
  if (!x)
    return;
  auto& st = self->state;
  if (const auto merger = st.core->merger_of(x->workload_key)) {
    self->send(st.mergers.at(*merger), resent_atom::value,
               std::move(x->report), from);
    return;
  }
  const auto number = registered_as(st, from);
  if (!number)
    return; // it registers anew, and sends it again then
  auto& known = st.reports[*number];
  auto booked = st.core->options()
                  .held->root()
                  .open("reports for what has not begun")
                  .open("trainer " + to_string(*number))
                  .take(msg.size_bytes() + x->workload_key.size()
                        + bytes_of_waiting);
  if (booked)
    known.those.push_back(
      {std::move(x->workload_key), msg, std::move(*booked)});
  else if (!std::exchange(known.is_beyond, true))
    spdlog::warn("pool: some reports of trainer {} for what has not begun are "
                 "left with it: {}",
                 to_string(*number), booked.failure().message);
}

welcome admit(pool_self self, const hello& x, const trainer_actor& handle) {
  auto& st = self->state;
  pool_core::effects effects;
  auto result = st.core->admit(x, registered_as(st, handle), self->clock().now(),
                               effects);
  if (!result.refusal)
    st.trainers.emplace(result.trainer, handle);
  apply_effects(self, effects);
  return result;
}

/// A merger or a trainer has ended.
void note_down(pool_self self, const caf::down_msg& msg) {
  auto& st = self->state;
  const auto now = self->clock().now();
  const auto is_source
    = [&](const auto& kvp) { return kvp.second.address() == msg.source; };
  if (const auto i
      = std::find_if(st.mergers.begin(), st.mergers.end(), is_source);
      i != st.mergers.end()) {
    apply_effects(self, st.core->forget_merger(i->first, now));
    st.mergers.erase(i);
    return;
  }
  if (const auto i
      = std::find_if(st.trainers.begin(), st.trainers.end(), is_source);
      i != st.trainers.end())
    apply_effects(self,
                  st.core->disconnect(i->first, !msg.reason,
                                      self->system().render(msg.reason), now));
}

} // namespace

pool_actor::behavior_type pool(pool_self self, pool_options options) {
  self->state.core.emplace(options, self->clock().now());
  self->set_down_handler(
    [self](const caf::down_msg& msg) { note_down(self, msg); });
  self->delayed_send(self, options.heartbeat_interval, tick_atom::value);
  return watched<pool_actor::behavior_type>("pool", {
    [self](register_atom, const hello_wire& msg,
           const trainer_actor& handle) -> caf::result<welcome_wire> {
      auto x = decode(msg);
      if (!x)
        return caf::make_error(x.failure().code);
      return encode(admit(self, *x, handle));
    },
    [self](heartbeat_atom, const heartbeat_wire& msg) {
      if (auto x = decode(msg))
        apply_effects(self,
                      self->state.core->note_heartbeat(*x, self->clock().now()));
    },
    [self](resent_atom, const resent_wire& msg, const trainer_actor& from) {
      take_resent(self, msg, from);
    },
    [self](leave_atom, const goodbye_wire& msg) {
      if (auto x = decode(msg))
        apply_effects(self,
                      self->state.core->leave(x->trainer, self->clock().now()));
    },
    [self](introduce_atom, const merger_actor& who, const workload_need& need) {
      auto& st = self->state;
      self->monitor(who);
      st.core->introduce(id_of(st, who), need);
      forward_reports(self, need.key, who);
    },
    [self](demand_atom, const merger_actor& who, double weight,
           std::uint64_t wanted, const device_names& kinds,
           const placement_facts& facts) {
      auto& st = self->state;
      apply_effects(self, st.core->demand(id_of(st, who), weight, wanted,
                                          kinds, self->clock().now(), facts));
    },
    [self](release_atom, trainer_id number) {
      apply_effects(self,
                    self->state.core->release(number, self->clock().now()));
    },
    [self](cooldown_atom, trainer_id number, std::uint64_t ms,
           const std::string& unable) {
      apply_effects(self, self->state.core->cool_down(
                    number, std::chrono::milliseconds(ms), unable,
                    self->clock().now()));
    },
    [self](blame_atom, trainer_id number, const std::string& why) {
      apply_effects(self,
                    self->state.core->blame(number, why, self->clock().now()));
    },
    [self](failed_atom, trainer_id number, const std::string& why) {
      self->state.core->note_failure(number, why);
    },
    [self](cooldown_atom) {
      apply_effects(self, self->state.core->review(true, self->clock().now()));
    },
    [self](stalled_atom, trainer_id number, const std::string& why) {
      apply_effects(self,
                    self->state.core->stall(number, why, self->clock().now()));
    },
    [self](alive_atom, trainer_id number) {
      apply_effects(self,
                    self->state.core->note_alive(number, self->clock().now()));
    },
    [self](tick_atom) {
      auto& core = *self->state.core;
      apply_effects(self, core.tick(self->clock().now()));
      self->delayed_send(self, core.options().heartbeat_interval, tick_atom::value);
    },
    [self](yield_atom) {
      apply_effects(self, self->state.core->review(false, self->clock().now()));
    },
    [self](status_atom) {
      const auto& core = *self->state.core;
      pool_status result;
      const auto now = self->clock().now();
      result.trainers = core.trainers(now);
      if (core.options().machines)
        result.costs = core.costs(now);
      result.idle = core.idle();
      result.waiting_leases = core.waiting_leases();
      for (auto& x : core.stuck())
        result.stuck.push_back({std::move(x.key), std::move(x.why)});
      return result;
    },
  });
}

} // namespace hippo
