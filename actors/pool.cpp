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

  void operator()(const pool_effect::answer_hello& x) const {
    auto& st = self->state;
    if (!x.what.refusal)
      st.trainers.emplace(x.what.trainer, std::move(st.joining));
    st.answer = x.what;
  }

  void operator()(const pool_effect::dismiss& x) const {
    self->send(trainer(x.trainer), lost_atom::value);
  }

  void operator()(const pool_effect::watch& x) const {
    self->monitor(trainer(x.trainer));
  }

  void operator()(const pool_effect::unwatch& x) const {
    self->demonitor(trainer(x.trainer).address());
    self->state.trainers.erase(x.trainer);
    self->state.reports.erase(x.trainer);
  }

  void operator()(const pool_effect::grant& x) const {
    self->send(merger(x.merger), grant_atom::value, trainer(x.trainer),
               trainer_grant{x.trainer, x.kind, x.seconds_between_interruptions,
                             x.price, x.name, x.at_once, x.code_at_once,
                             x.seconds_left, x.gang, x.ranks});
  }

  void operator()(const pool_effect::ask_to_yield& x) const {
    self->send(merger(x.merger), yield_atom::value, x.trainer);
  }

  void operator()(const pool_effect::notify_lost& x) const {
    self->send(merger(x.merger), lost_atom::value, x.trainer, x.why);
  }

  void operator()(const pool_effect::notify_back& x) const {
    self->send(merger(x.merger), back_atom::value, x.name);
  }

  void operator()(const pool_effect::tell_able& x) const {
    self->send(merger(x.merger), able_atom::value, x.trainers);
  }

  void operator()(const pool_effect::forward_heartbeat& x) const {
    self->send(merger(x.merger), heartbeat_atom::value,
               x.what.trainer, x.what.lease, x.what.at);
  }

  void operator()(const pool_effect::review_after& x) const {
    if (x.ends_cool_down)
      self->delayed_send(self, x.span, cooldown_atom::value);
    else
      self->delayed_send(self, x.span, yield_atom::value);
  }

  void operator()(const pool_effect::log_line& x) const {
    if (x.is_warning)
      spdlog::warn("pool: {}", x.text);
    else
      spdlog::info("pool: {}", x.text);
  }

private:
  [[nodiscard]] const merger_actor& merger(merger_number number) const {
    return self->state.mergers.at(number);
  }

  [[nodiscard]] const trainer_actor& trainer(trainer_id number) const {
    return self->state.trainers.at(number);
  }
};

/// Tells the core what has happened, and does what it has decided.
void dispatch(pool_self self, any_pool_event event) {
  auto& st = self->state;
  const auto effects =
    st.trace.apply(*st.core, std::move(event), self->clock().now());
  for (const auto& x : effects)
    std::visit(effect_sender{self}, x);
}

/// The core's number of a merger, a new one if it is not known yet.
merger_number id_of(pool_state& st, const merger_actor& x) {
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

welcome admit(pool_self self, hello&& x, const trainer_actor& handle) {
  auto& st = self->state;
  st.joining = handle;
  dispatch(self,
           pool_event::registered{std::move(x), registered_as(st, handle)});
  st.joining = trainer_actor{};
  return std::exchange(st.answer, {});
}

/// A merger or a trainer has ended.
void note_down(pool_self self, const caf::down_msg& msg) {
  auto& st = self->state;
  const auto is_source
    = [&](const auto& kvp) { return kvp.second.address() == msg.source; };
  if (const auto i
      = std::find_if(st.mergers.begin(), st.mergers.end(), is_source);
      i != st.mergers.end()) {
    dispatch(self, pool_event::merger_ended{i->first});
    st.mergers.erase(i);
    return;
  }
  if (const auto i
      = std::find_if(st.trainers.begin(), st.trainers.end(), is_source);
      i != st.trainers.end())
    dispatch(self, pool_event::disconnected{i->first, !msg.reason,
                                            self->system().render(msg.reason)});
}

} // namespace

pool_actor::behavior_type pool(pool_self self, pool_options options) {
  const auto begun = self->clock().now();
  self->state.trace = core_trace{options.trace, "pool"};
  self->state.trace.begin(options, begun);
  self->state.core.emplace(options, begun);
  self->set_down_handler(
    [self](const caf::down_msg& msg) { note_down(self, msg); });
  self->delayed_send(self, options.heartbeat_interval, tick_atom::value);
  return watched<pool_actor::behavior_type>(
    "pool",
    {
      [self](register_atom, const hello_wire& msg,
             const trainer_actor& handle) -> caf::result<welcome_wire> {
        auto x = decode(msg);
        if (!x)
          return caf::make_error(x.failure().code);
        return encode(admit(self, std::move(*x), handle));
      },
      [self](heartbeat_atom, const heartbeat_wire& msg) {
        if (auto x = decode(msg))
          dispatch(self, pool_event::heard{*x});
      },
      [self](resent_atom, const resent_wire& msg, const trainer_actor& from) {
        take_resent(self, msg, from);
      },
      [self](leave_atom, const goodbye_wire& msg) {
        if (auto x = decode(msg))
          dispatch(self, pool_event::leaving{x->trainer});
      },
      [self](introduce_atom, const merger_actor& who,
             const workload_need& need) {
        self->monitor(who);
        dispatch(self, pool_event::introduced{id_of(self->state, who), need});
        forward_reports(self, need.key, who);
      },
      [self](demand_atom, const merger_actor& who, double weight,
             std::uint64_t wanted, const device_names& kinds,
             const placement_facts& facts, const helper_demand& helpers) {
        dispatch(self, pool_event::demanded{id_of(self->state, who), weight,
                                            wanted, kinds, facts, helpers});
      },
      [self](release_atom, trainer_id trainer) {
        dispatch(self, pool_event::released{trainer});
      },
      [self](cooldown_atom, trainer_id trainer, std::uint64_t ms,
             const std::string& unable, bool joined) {
        dispatch(self,
                 pool_event::cooled_down{trainer, std::chrono::milliseconds(ms),
                                         unable, joined});
      },
      [self](blame_atom, trainer_id trainer, const std::string& why) {
        dispatch(self, pool_event::blamed{trainer, why});
      },
      [self](failed_atom, trainer_id trainer, const std::string& why) {
        dispatch(self, pool_event::lease_failed{trainer, why});
      },
      [self](cooldown_atom) { dispatch(self, pool_event::review_due{true}); },
      [self](stalled_atom, trainer_id trainer, const std::string& why) {
        dispatch(self, pool_event::stalled{trainer, why});
      },
      [self](alive_atom, trainer_id trainer) {
        dispatch(self, pool_event::alive{trainer});
      },
      [self](tick_atom) {
        dispatch(self, pool_event::ticked{});
        self->delayed_send(self, self->state.core->options().heartbeat_interval,
                           tick_atom::value);
      },
      [self](yield_atom) { dispatch(self, pool_event::review_due{false}); },
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
        result.demands = core.demands();
        result.idle_seconds = core.idle_seconds(now);
        result.refused.assign(core.refused().begin(), core.refused().end());
        return result;
      },
    });
}

} // namespace hippo
