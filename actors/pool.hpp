#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "hippo/pool/pool_core.hpp"
#include "messages.hpp"

namespace hippo {

/// So many reports wait in the pool for mergers that are not there yet; beyond
/// that, the oldest are forgotten, and what they say is trained again.
inline constexpr std::size_t waiting_reports_max = 10'000;

/// State of the pool: its decisions, and the actors that they are about.
struct pool_state {
  /// Prefix of this actor's lines in the log.
  static inline const char* name = "hippo.pool";

  /// A report that is to be passed on.
  struct waiting_report {
    std::string workload_key;
    stop_report report;
    trainer_actor from;
  };

  std::optional<pool_core> core; ///< set when the actor starts
  std::map<trainer_id, trainer_actor> trainers; ///< connected, by number
  std::map<std::uint64_t, merger_actor> mergers;   ///< by the core's numbers
  std::uint64_t last_merger = 0;                   ///< number
  std::deque<waiting_report> reports; ///< for mergers that are not there
};

/// Shares trainers among mergers, as `pool_core` decides: decodes what comes,
/// applies it and sends what follows.
pool_actor::behavior_type
pool(pool_actor::stateful_pointer<pool_state> self, pool_options options);

} // namespace hippo
