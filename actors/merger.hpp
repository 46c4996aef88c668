#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hippo/service/merge/merge_core.hpp"
#include "hippo/service/trace/core_trace.hpp"
#include "messages.hpp"

namespace hippo {

/// State of a merger: what decides, and whom its numbers stand for.
struct merger_state {
  /// Prefix of this actor's lines in the log.
  static inline const char* name = "hippo.merger";

  std::unique_ptr<merge_core> core;
  core_trace trace; ///< of the core
  pool_actor pool;
  journal_actor journal;
  by_id<study_no, trial_owner_actor> studies;
  std::map<trainer_id, trainer_actor> trainers; ///< that have been granted
  /// Who is sent the acknowledgement of a report.
  std::map<reply_address, trainer_actor> reply_to;
  std::uint64_t replies = 0; ///< addresses given so far
  std::optional<caf::typed_response_promise<std::uint64_t>> retiring;
  /// Whose orders are being carried out, if any are.
  std::optional<study_id> in_hand;
  caf::actor_clock::time_point cold_since; ///< when the core's was let go of
  /// Where trainers leave checkpoints, if it can be looked into at once.
  std::string folder;
};

/// Merges the trials of its studies into one search plan, leases the paths of
/// its stage tree to the trainers that the pool grants, and tells the studies
/// what came of it once the journal has it. All decisions are those of
/// `merge_core`.
merger_actor::behavior_type
merger(merger_actor::stateful_pointer<merger_state> self,
       merger_options options, pool_actor pool, journal_actor journal);

} // namespace hippo
