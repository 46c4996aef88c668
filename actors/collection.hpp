#pragma once

#include <cstdint>
#include <vector>

#include "hippo/plan/search_plan.hpp"
#include "hippo/schedule/collect.hpp"
#include "hippo/store/records.hpp"

namespace hippo {

/// Puts what is stored into a plan that is empty. @returns the bytes of its
/// checkpoints
std::uint64_t restore(search_plan& plan, stored_plan known);

/// A checkpoint of a plan that no study is trained on.
struct idle_checkpoint {
  plan_checkpoint what;
  step_t steps = 0; ///< to train it again from the one before
};

/// Chooses the checkpoints to give up so that `bytes` become free, as
/// `collect_checkpoints` does, of a plan that no study is trained on.
std::vector<idle_checkpoint> collect_idle(stored_plan known,
                                          std::uint64_t bytes);

} // namespace hippo
