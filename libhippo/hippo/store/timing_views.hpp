#pragma once

#include <vector>

#include "hippo/model/records.hpp"
#include "hippo/model/view/views.hpp"

namespace hippo {

/// Measured times as clients see them.
workload_timings_view view_of(const workload_timings& measured);

/// Returns what views tell of, but for what this release does not know. A
/// number that is none, or below 0, is 0.
std::vector<workload_timings>
timings_of(const std::vector<workload_timings_view>& views);

} // namespace hippo
