#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "hippo/schedule/fair_shares.hpp"
#include "messages.hpp"

namespace hippo {

/// The pool remembers so many trainers that are gone, the last ones.
inline constexpr std::size_t gone_trainers_max = 1000;

/// So many reports wait in the pool for mergers that are not there yet; beyond
/// that, the oldest are forgotten, and what they say is trained again.
inline constexpr std::size_t waiting_reports_max = 10'000;

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
    std::map<std::string, std::string> workloads; ///< versions, by name
    std::string numerics; ///< of the workloads that it trains; empty: any
    merger_actor heir;   ///< for whom it was asked back; null: it was not
    caf::actor_clock::time_point granted;
    caf::actor_clock::time_point heard;
    caf::actor_clock::time_point rests_until;
    bool ready = false;   ///< whether it has said that it is idle
    bool leaving = false; ///< whether it has taken leave
    bool gone = false;
  };

  struct merger_entry {
    merger_actor handle;
    std::uint64_t wanted = 0; ///< trainers that it could use
  };

  /// A merger that has introduced itself.
  struct need_entry {
    merger_actor handle;
    workload_need need;
    std::string told_stuck; ///< why it has to wait, as the log has it
  };

  /// A report that is to be passed on.
  struct waiting_report {
    std::string workload_key;
    stop_report report;
    trainer_actor from;
  };

  pool_options options;
  std::map<std::uint64_t, trainer_entry> trainers; ///< by number
  std::uint64_t last_trainer = 0; ///< number
  std::vector<need_entry> needs;
  std::deque<waiting_report> reports; ///< for mergers that are not there
  caf::actor_clock::time_point ticked;
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
