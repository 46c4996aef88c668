#pragma once

#include <cstdint>

namespace hippo {

/// A workload whose data are prepared while it trains, and which knows how long
/// it has waited for them.
class data_wait {
public:
  virtual ~data_wait() = default;

  /// Returns the time that the last `workload::train` has waited for data, in
  /// nanoseconds.
  [[nodiscard]] virtual std::uint64_t waited_ns() const noexcept = 0;
};

} // namespace hippo
