#pragma once

#include <cstdint>
#include <vector>

#include "hippo/base/types.hpp"

namespace hippo {

/// Returns min, min * eta, min * eta^2, ... below `max`, then `max` itself.
/// REQUIRES: `0 < min <= max` and `eta >= 2`
std::vector<step_t> rung_steps(step_t min, step_t max, std::uint64_t eta);

} // namespace hippo
