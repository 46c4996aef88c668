#pragma once

#include <chrono>
#include <map>
#include <vector>

#include "messages.hpp"

namespace hippo {

/// How the pool watches its trainers.
struct pool_options {
  std::chrono::milliseconds beat_interval{1000};
  /// A trainer that says nothing for so long is treated as dead.
  std::chrono::milliseconds silence_max{15'000};
};

/// State of the pool: which trainers there are and who holds them.
struct pool_state {
  /// Prefix of this actor's lines in the log.
  static inline const char* name = "hippo.pool";

  struct trainer_entry {
    trainer_actor handle;
    trainer_record record;
    merger_actor holder; ///< null: idle
    caf::actor_clock::time_point heard;
    bool gone = false;
  };

  struct merger_entry {
    merger_actor handle;
    double weight = 1;
    std::uint64_t paths = 0;    ///< that it could lease
    std::uint64_t trainers = 0; ///< that it holds
  };

  pool_options options;
  std::map<std::uint64_t, trainer_entry> trainers; ///< by number, for ever
  std::vector<merger_entry> mergers;
};

/// Shares trainers among mergers: an idle one goes to the merger that holds the
/// fewest for its weight, of those that have something to train.
pool_actor::behavior_type
pool(pool_actor::stateful_pointer<pool_state> self, pool_options options);

} // namespace hippo
