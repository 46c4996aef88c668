#pragma once

#include <vector>

#include "hippo/report/preview.hpp"
#include "simulate.hpp"
#include "studies.hpp"

namespace hippo {

/// Works out what studies that run together would train. Algorithms that stop
/// early are also run on made-up results, in which each trial has a random
/// quality; the estimate is the mean over several such runs.
/// @complexity O(trials * segments)
preview_record preview(const std::vector<loaded_study>& studies,
                       const workload_catalogue& catalogue);

/// Works out how long a simulation takes with merging on and off, whatever
/// `x.merge` says.
expected<time_preview> preview_times(simulation x);

} // namespace hippo
