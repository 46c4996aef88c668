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

} // namespace hippo
