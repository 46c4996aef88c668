#include "pool.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <spdlog/spdlog.h>

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

/// Books the device time until now. Whatever changes who holds what, or with
/// which weight, begins with this.
void catch_up(self_ptr self) {
  auto& st = self->state;
  const auto now = self->clock().now();
  st.shares.advance(
    std::chrono::duration<double>(now - st.shared_until).count());
  st.shared_until = now;
}

/// Hands idle trainers to mergers until either run out.
void grant_idle(self_ptr self) {
  auto& st = self->state;
  for (auto& [number, x] : st.trainers) {
    if (x.gone || x.holder)
      continue;
    const auto first = st.shares.next();
    if (!first)
      return;
    st.shares.pass_turns();
    auto& merger = st.mergers[*first];
    x.holder = merger.handle;
    x.granted = st.shared_until;
    --merger.paths; // until the merger says how many are left
    st.shares.hold(*first, 1);
    st.shares.set_waiting(*first, merger.paths > 0);
    self->send(merger.handle, grant_atom::value, number, x.handle);
  }
}

/// The shares as they will be once every trainer that was asked back is with
/// whom it was asked for.
struct outlook {
  fair_shares shares;
  std::vector<std::uint64_t> paths; ///< by merger

  explicit outlook(const pool_state& st) : shares(st.shares) {
    for (const auto& x : st.mergers)
      paths.push_back(x.paths);
    for (const auto& [number, x] : st.trainers)
      if (x.holder && x.heir)
        move(*place_of(st, x.holder), *place_of(st, x.heir));
  }

  void move(std::size_t from, std::size_t to) {
    shares.hold(from, -1);
    shares.hold(to, 1);
    if (paths[to] > 0)
      shares.set_waiting(to, --paths[to] > 0);
  }
};

/// Finds the trainer that a merger can best do without: the one that it has had
/// for the longest, of those that it was not asked for yet.
pool_state::trainer_entry* oldest_of(pool_state& st, std::size_t merger,
                                     std::uint64_t& number) {
  pool_state::trainer_entry* result = nullptr;
  for (auto& [no, x] : st.trainers)
    if (x.holder == st.mergers[merger].handle && !x.heir
        && (result == nullptr || x.granted < result->granted)) {
      result = &x;
      number = no;
    }
  return result;
}

/// Asks mergers for trainers for the one whose turn it is, as long as it stays
/// behind them even with one more.
void ask_back(self_ptr self) {
  auto& st = self->state;
  outlook next{st};
  while (const auto to = next.shares.next()) {
    std::optional<std::size_t> from;
    for (std::size_t i = 0; i < st.mergers.size(); ++i)
      if (i != *to && next.shares.devices(i) > 0
          && (!from || next.shares.lag(*from, i) > 0))
        from = i;
    if (!from)
      return;
    next.move(*from, *to);
    std::uint64_t number = 0;
    auto* trainer = oldest_of(st, *from, number);
    if (trainer == nullptr || next.shares.lag(*to, *from) <= 0)
      return;
    trainer->heir = st.mergers[*to].handle;
    self->send(trainer->holder, yield_atom::value, number);
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
  grant_idle(self);
  auto& st = self->state;
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

void lose(self_ptr self, std::uint64_t number, const std::string& why) {
  auto& st = self->state;
  auto& x = st.trainers.at(number);
  if (x.gone)
    return;
  spdlog::warn("pool: lost trainer {} ({}): {}", number, x.record.name, why);
  x.gone = true;
  x.record.lost = why;
  if (x.holder) {
    catch_up(self);
    self->send(x.holder, lost_atom::value, number);
    take_back(st, x);
  }
  self->demonitor(x.handle.address());
  // Should it only have been cut off, it registers anew.
  self->send_exit(x.handle, caf::exit_reason::kill);
  x.handle = nullptr;
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
  const auto number = st.trainers.size() + 1;
  pool_state::trainer_entry entry;
  entry.handle = handle;
  entry.record.number = number;
  entry.record.name = x.host + ':' + std::to_string(x.process_id);
  entry.record.device = x.device;
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
  self->state.shared_until = self->clock().now();
  self->set_down_handler([self](const caf::down_msg& msg) {
    for (auto& [number, x] : self->state.trainers)
      if (!x.gone && x.handle.address() == msg.source) {
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
      catch_up(self);
      share(self);
      return answer;
    },
    [self](beat_atom, const beat_wire& msg) {
      auto x = decode(msg);
      if (!x)
        return;
      auto i = self->state.trainers.find(x->trainer);
      if (i != self->state.trainers.end())
        i->second.heard = self->clock().now();
    },
    [self](demand_atom, const merger_actor& who, double weight,
           std::uint64_t paths) {
      auto& st = self->state;
      catch_up(self);
      auto place = place_of(st, who);
      if (!place) {
        place = st.shares.add(weight);
        st.mergers.push_back({who, 0});
      }
      st.mergers[*place].paths = paths;
      st.shares.set_weight(*place, weight);
      st.shares.set_waiting(*place, paths > 0);
      share(self);
    },
    [self](release_atom, std::uint64_t number) {
      auto& st = self->state;
      auto i = st.trainers.find(number);
      if (i == st.trainers.end() || i->second.gone)
        return;
      catch_up(self);
      take_back(st, i->second);
      share(self);
    },
    [self](tick_atom) {
      auto& st = self->state;
      const auto now = self->clock().now();
      for (auto& [number, x] : st.trainers)
        if (!x.gone && now - x.heard > st.options.silence_max)
          lose(self, number,
               "silent for "
                 + std::to_string(st.options.silence_max.count() / 1000)
                 + " s");
      self->delayed_send(self, st.options.beat_interval, tick_atom::value);
    },
    [self](yield_atom) {
      self->state.looking = false;
      catch_up(self);
      share(self);
    },
    [self](status_atom) {
      pool_status result;
      for (const auto& [number, x] : self->state.trainers) {
        result.trainers.push_back(x.record);
        result.idle += !x.gone && !x.holder;
      }
      return result;
    },
  };
}

} // namespace hippo
