#pragma once

#include <vector>

#include "hippo/model/records.hpp"
#include "hippo/plan/overview.hpp"

namespace hippo {

/// Adds how far trials of studies that run are to get to how far others got.
/// @param stages of the plan in memory, which may know ended studies as well:
///               at a state where both say something, the greater number counts
/// @returns sorted by node and step
std::vector<stored_end> with_running(const std::vector<stored_end>& ended,
                                     const std::vector<overview_stage>& stages);

} // namespace hippo
