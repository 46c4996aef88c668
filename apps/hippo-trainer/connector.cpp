#include "connector.hpp"

#include <utility>

#include <spdlog/spdlog.h>

#include "hippo/keys/handshake.hpp"
#include "network.hpp"

namespace hippo {

connector::connector(caf::actor_system& system, const trainer_list& trainers,
                     const credentials* keys)
  : system_(system), self_(system), trainers_(trainers), keys_(keys) {
  for (const auto& x : trainers_)
    self_->monitor(x);
}

bool connector::connect(const std::string& name, const endpoint& where) {
  auto pool
    = find_published<registrar_actor>(system_, where.host, where.port);
  if (!pool) {
    auto why = system_.render(pool.error());
    // The reason that TLS gives is another connection away.
    if (keys_ != nullptr)
      if (auto refusal
          = why_refused(where.host, where.port, *keys_, connect_patience))
        why = refusal->message;
    if (std::exchange(last_failure_, why) != why)
      spdlog::warn("trainer: cannot reach {}: {}; trying again", name, why);
    return false;
  }
  last_failure_.clear();
  spdlog::info("trainer: reached {}", name);
  pool_ = *pool;
  self_->monitor(pool_);
  for (const auto& x : trainers_)
    self_->send(x, connect_atom::value, pool_);
  return true;
}

bool connector::wait_until_lost() {
  for (;;) {
    bool lost = false, refused = false;
    self_->receive([&](const caf::down_msg& msg) {
      lost = msg.source == pool_.address();
      refused = msg.reason == errc::incompatible_version
                || msg.reason == errc::malformed_message;
    });
    if (lost || refused)
      return lost;
  }
}

} // namespace hippo
