#pragma once

#include <chrono>

namespace hippo {

/// A point in time. Nothing in this folder reads a clock: moments come with
/// events.
using moment = std::chrono::steady_clock::time_point;

/// Returns the seconds from `begin` to `end`, less than 0 if `end` is earlier.
inline double seconds_between(moment begin, moment end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// Returns so many seconds as a span between moments.
inline moment::duration span_of(double seconds) {
  return std::chrono::duration_cast<moment::duration>(
    std::chrono::duration<double>(seconds));
}

} // namespace hippo
