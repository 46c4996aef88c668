#pragma once

#include <chrono>

#include "service.hpp"

namespace hippo {

/// How a service on its way to its end comes to be quiescent: nothing more is
/// leased, and trainers have some time to end their present steps.
class winding_down {
public:
  /// Halts the service, which outlives this.
  explicit winding_down(service& actors);

  /// Asks the mergers. @returns whether no lease runs, or the time is up
  [[nodiscard]] bool is_over();

private:
  using clock = std::chrono::steady_clock;

  service& actors_;
  clock::time_point deadline_;
};

} // namespace hippo
