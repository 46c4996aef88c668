#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "hippo/base/types.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/model/records.hpp"

namespace hippo {

/// The recipe for the state that a trial had at a step.
struct weights_recipe {
  /// From the last state on the way that is kept to the one that is wanted. Its
  /// folder, unless that is in an object store, and the file of the code are
  /// left out: who trains it knows better.
  lease path;
  std::string code; ///< `study_code` as JSON; empty: the study brings none
  std::string kind; ///< of the device that measured the state
};

/// Describes how the state `step` of a node comes about.
/// @param is_kept whether a checkpoint can be read
/// REQUIRES: the node is of `plan`, and `step` was measured there.
/// @complexity O(nodes + results + checkpoints x depth)
weights_recipe
make_weights_recipe(const stored_plan& plan, node_id node, step_t step,
                    workload_spec workload, std::string code,
                    const std::function<bool(const checkpoint&)>& is_kept);

} // namespace hippo
