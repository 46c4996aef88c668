#pragma once

#include <chrono>

namespace hippo {

/// How long to wait before each further attempt: twice as long every time, up
/// to a limit.
class backoff {
public:
  using duration = std::chrono::milliseconds;

  /// REQUIRES: `0 < first <= last`
  backoff(duration first, duration last) : first_(first), last_(last) {}

  /// Returns the next waiting time.
  /// @param jitter from 0 to 1: takes off so much of one half of it, so that
  ///               many who lost the same peer do not come back at once
  duration next(double jitter = 0);

  /// After a success: begins with the first one again.
  void reset() noexcept { doublings_ = 0; }

private:
  duration first_;
  duration last_;
  unsigned doublings_ = 0;
};

} // namespace hippo
