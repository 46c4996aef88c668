#pragma once

#include "coordinator.hpp"

// How a coordinator keeps the checkpoints of all workloads within their space.

namespace hippo {

/// Whether there is a limit.
bool limits_space(const coordinator_state& st);

/// Divides the space among the workloads: those with a merger are notified of
/// what they may take, the others lose what they take beyond their part.
/// REQUIRES: `limits_space(self->state)`
void divide_space(coordinator_self self);

} // namespace hippo
