#pragma once

#include <cstdint>
#include <vector>

#include "hippo/tree/stage_tree.hpp"

namespace hippo {

/// A checkpoint of the plan.
struct plan_checkpoint {
  node_id node = 0;
  step_t at = 0;
  checkpoint file;
};

/// Returns the checkpoints to give up so that `bytes` become free: those that
/// take the least time to train again from the one before, first. What a
/// runnable path or a running lease starts from, or that a lease has just
/// reached, is never among them.
/// @returns fewer bytes than asked for if nothing else can go
/// @complexity O(nodes + checkpoints log checkpoints)
std::vector<plan_checkpoint> collect_checkpoints(const search_plan& plan,
                                                 const stage_tree& tree,
                                                 std::uint64_t bytes);

} // namespace hippo
