#pragma once

#include <optional>

#include "hippo/base/error.hpp"
#include "hippo/base/types.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// Returns a space with the same leaves, whose trials have `max_steps` steps.
/// REQUIRES: they have one length
search_space lengthened(const search_space& space, step_t max_steps);

/// Whether values of a space may be shares of a trial's length (`20%`).
bool has_shares_of_length(const search_space& space);

/// Says which values of a space its trials cannot have, if there are some: a
/// line that falls below 0 in longer trials, say.
std::optional<error> refusal_of_values(const search_space& space,
                                       const workload_descriptor& workload);

} // namespace hippo
