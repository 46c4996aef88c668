#pragma once

#include <chrono>
#include <map>
#include <vector>

#include "hippo/schedule/fair_shares.hpp"
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
    merger_actor heir;   ///< for whom it was asked back; null: it was not
    caf::actor_clock::time_point granted;
    caf::actor_clock::time_point heard;
    bool gone = false;
  };

  struct merger_entry {
    merger_actor handle;
    std::uint64_t paths = 0; ///< that it could lease
  };

  pool_options options;
  std::map<std::uint64_t, trainer_entry> trainers; ///< by number, for ever
  std::vector<merger_entry> mergers;
  fair_shares shares; ///< of the mergers, by their places above
  caf::actor_clock::time_point shared_until; ///< what `shares` know of
  bool looking = false; ///< whether a look at who must give back is to come
};

/// Shares trainers among mergers: an idle one goes to the merger that has had
/// the least device time for its weight, of those that have something to train.
/// Where that falls far behind all the same, because others train on without an
/// end, it asks them for a trainer.
pool_actor::behavior_type
pool(pool_actor::stateful_pointer<pool_state> self, pool_options options);

} // namespace hippo
