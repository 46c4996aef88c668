#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hippo/service/pool/pool_core.hpp"
#include "hippo/service/trace/core_trace.hpp"
#include "messages.hpp"

namespace hippo {

/// State of the pool: its decisions, and the actors that they are about.
struct pool_state {
  /// Prefix of this actor's lines in the log.
  static inline const char* name = "hippo.pool";

  /// A report for a merger that is not there yet.
  struct waiting_report {
    std::string workload_key;
    resent_wire message;
    byte_booking booked; ///< of both
  };

  /// What a trainer has sent of these. It keeps them as well, and sends them
  /// again when it registers: what is let go of here is not lost.
  struct waiting_reports {
    std::vector<waiting_report> those;
    bool is_beyond = false; ///< whether there were more than its share
  };

  std::optional<pool_core> core; ///< set when the actor starts
  core_trace trace;              ///< of the core
  trainer_actor joining;         ///< the one that is being admitted
  welcome answer;                ///< for that one
  std::map<trainer_id, trainer_actor> trainers; ///< connected, by number
  std::map<merger_number, merger_actor> mergers; ///< by the core's numbers
  merger_number last_merger = 0;
  /// For mergers that are not there, by the trainer that has sent them. They
  /// go with it.
  std::map<trainer_id, waiting_reports> reports;
};

/// Shares trainers among mergers, as `pool_core` decides: decodes what comes,
/// applies it and sends what follows.
pool_actor::behavior_type
pool(pool_actor::stateful_pointer<pool_state> self, pool_options options);

} // namespace hippo
