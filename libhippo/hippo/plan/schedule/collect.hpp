#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hippo/plan/stage_tree.hpp"

namespace hippo {

/// A checkpoint of the plan.
struct plan_checkpoint {
  node_id node{};
  step_t at = 0;
  checkpoint file;
};

/// Returns the checkpoints to give up so that `bytes` become free: those that
/// take the least time to train again from the one before, first. What a
/// runnable path or a running lease starts from, or that a lease has just
/// reached, is never among them, nor is one whose file holds parts of another
/// that stays.
/// @param spared file of a checkpoint that stays; empty: none
/// @returns fewer bytes than asked for if nothing else can go
/// @complexity O(nodes + checkpoints log checkpoints), once more for each that
///             holds parts of others as long as these go before it
std::vector<plan_checkpoint>
collect_checkpoints(const search_plan& plan, const stage_tree& tree,
                    std::uint64_t bytes, const std::string& spared = {});

/// Returns the checkpoints that cannot be read, or cannot be trusted, now that
/// one is damaged, that one among them: the damage may lie in any file that it
/// has parts in, and so in all that have parts there.
/// @complexity O(nodes + checkpoints), a few times
std::vector<plan_checkpoint> damaged_with(const search_plan& plan,
                                          const checkpoint& damaged);

/// A workload whose checkpoints take space.
struct checkpoint_user {
  std::uint64_t bytes = 0;
  bool live = false; ///< whether studies of it go on
};

/// Divides the space for checkpoints, `bytes_max`, among workloads. Those that
/// are not live give up theirs, in the order given, until `reserve` is free.
/// The live ones have what is free, in equal parts; if they take too much, each
/// gives up the same part of its own.
/// @returns for each the bytes that it may take
std::vector<std::uint64_t>
divide_checkpoint_space(const std::vector<checkpoint_user>& users,
                        std::uint64_t bytes_max, std::uint64_t reserve);

} // namespace hippo
