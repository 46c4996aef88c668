#pragma once

#include "hippo/report/preview.hpp"
#include "simulate.hpp"

namespace hippo {

/// Works out how long a simulation takes with merging on and off, whatever
/// `x.merge` says.
expected<time_preview> preview_times(simulation x);

} // namespace hippo
