#include "pool.hpp"

#include <algorithm>

#include <spdlog/spdlog.h>

#include "hippo/wire/codec.hpp"

namespace hippo {

namespace {

using self_ptr = pool_actor::stateful_pointer<pool_state>;

pool_state::merger_entry* merger_of(pool_state& st, const merger_actor& x) {
  const auto i
    = std::find_if(st.mergers.begin(), st.mergers.end(),
                   [&](const auto& entry) { return entry.handle == x; });
  return i == st.mergers.end() ? nullptr : &*i;
}

/// The merger to serve next, or null if none has anything to train.
pool_state::merger_entry* neediest(pool_state& st) {
  const auto share = [](const pool_state::merger_entry& x) {
    return static_cast<double>(x.trainers) / x.weight;
  };
  pool_state::merger_entry* result = nullptr;
  for (auto& x : st.mergers)
    if (x.paths > 0 && (result == nullptr || share(x) < share(*result)))
      result = &x;
  return result;
}

/// Hands idle trainers to mergers until either run out.
void share(self_ptr self) {
  auto& st = self->state;
  for (auto& [number, x] : st.trainers) {
    if (x.gone || x.holder)
      continue;
    auto* merger = neediest(st);
    if (merger == nullptr)
      return;
    x.holder = merger->handle;
    ++merger->trainers;
    --merger->paths; // until the merger says how many are left
    self->send(merger->handle, grant_atom::value, number, x.handle);
  }
}

void take_back(pool_state& st, pool_state::trainer_entry& x) {
  if (auto* merger = merger_of(st, x.holder))
    --merger->trainers;
  x.holder = nullptr;
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
      if (auto* known = merger_of(st, who))
        known->paths = paths;
      else
        st.mergers.push_back({who, weight, paths, 0});
      share(self);
    },
    [self](release_atom, std::uint64_t number) {
      auto& st = self->state;
      auto i = st.trainers.find(number);
      if (i == st.trainers.end() || i->second.gone)
        return;
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
