#pragma once

#include <cstdint>
#include <vector>

#include "hippo/base/types.hpp"
#include "hippo/search/algorithm/algorithm_reader.hpp"
#include "hippo/search/option.hpp"

namespace hippo {

/// The most rungs of an algorithm that has one at each interval.
inline constexpr std::uint64_t max_interval_rungs = 10'000;

/// Returns `interval`, `2 * interval`, ... below `max`, then `max` itself.
/// REQUIRES: `interval > 0`
std::vector<step_t> interval_steps(step_t interval, step_t max);

/// The option of algorithms with such rungs.
inline constexpr option interval_option{.name = "interval",
                                        .low = 1,
                                        .high_text = "`max`",
                                        .fallback_text =
                                          "a tenth of `max`, rounded up",
                                        .meaning = "steps between two rungs"};

/// Reads it.
step_t read_interval(algorithm_reader& from, step_t max, step_t fallback);

} // namespace hippo
