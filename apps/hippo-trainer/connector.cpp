#include "connector.hpp"

#include <utility>

#include <spdlog/spdlog.h>

namespace hippo {

connector::connector(caf::actor_system& system, const trainer_list& trainers,
                     const credentials* keys,
                     std::optional<following_port> gangs)
  : system_(system), self_(system), link_(system, keys), gangs_(gangs) {
  for (const auto& x : trainers) {
    self_->monitor(x);
    trainers_.push_back({x, registrar_actor{}});
  }
}

bool connector::connect(const std::string& name, const endpoint& where) {
  for (auto& x : trainers_) {
    if (x.service)
      continue;
    auto found
      = link_.connect(where, caf::actor_cast<trainer_actor>(x.trainer));
    if (!found) {
      const auto& why = found.failure().message;
      if (std::exchange(last_failure_, why) != why)
        spdlog::warn("trainer: cannot reach {}: {}; trying again", name, why);
      return false;
    }
    x.service = caf::actor_cast<registrar_actor>(found->service);
    self_->monitor(x.service);
    if (gangs_)
      self_->send(x.trainer, connect_atom::value, x.service,
                  listen_at(found->own_host));
    else
      self_->send(x.trainer, connect_atom::value, x.service);
  }
  last_failure_.clear();
  spdlog::info("trainer: reached {}", name);
  return true;
}

std::string connector::listen_at(const std::string& host) {
  auto& port = *gangs_->port;
  const auto before = port.address();
  if (const auto why = port.move_to({host, gangs_->number}))
    spdlog::warn("trainer: trains with no other trainer: {}", why->message);
  auto result = port.address();
  if (!result.empty() && result != before)
    spdlog::info("trainer: other trainers reach this one at {}", result);
  return result;
}

bool connector::wait_until_lost() {
  for (;;) {
    bool lost = false, refused = false;
    self_->receive([&](const caf::down_msg& msg) {
      for (auto& x : trainers_)
        if (x.service && x.service.address() == msg.source) {
          x.service = nullptr;
          lost = true;
        }
      refused = msg.reason == errc::incompatible_version
                || msg.reason == errc::malformed_message;
    });
    if (lost || refused)
      return lost;
  }
}

} // namespace hippo
