#pragma once

#include <cstdint>

namespace hippo {

/// A workload that knows which part of its training time is no time of steps:
/// code that a study brings may make its model when it is asked for a step.
class setup_time {
public:
  virtual ~setup_time() = default;

  /// Returns what the last `workload::train` spent beside its steps, in
  /// nanoseconds.
  [[nodiscard]] virtual std::uint64_t setup_ns() const noexcept = 0;
};

} // namespace hippo
