#pragma once

#include <chrono>

#include "hippo/search/think/thinking_pool.hpp"
#include "service.hpp"

namespace hippo {

/// How long trainers may take to end their present steps, unless somebody says
/// otherwise: as long as they give themselves.
inline constexpr double grace_seconds_usual = 30;

/// Ends the jobs of a service that has ended: all is stored that was decided,
/// and nobody waits for the rest. What does not hear of it within seconds ends
/// with the program, here.
/// @param code that the program exits with
/// @returns `code`
int end_thinking(thinking_pool& where, int code);

/// How a service on its way to its end comes to be quiescent: nothing more is
/// leased, and trainers have some time to end their present steps and to save
/// what they have trained.
class graceful_shutdown {
public:
  /// Halts the service, which outlives this.
  graceful_shutdown(service& actors, double grace_seconds);

  /// Asks the mergers. @returns whether no lease runs, or the time is up
  [[nodiscard]] bool is_over();

  /// Whether the time was up before all was saved.
  [[nodiscard]] bool was_cut_off() const noexcept { return cut_off_; }

private:
  using clock = std::chrono::steady_clock;

  service& actors_;
  clock::time_point deadline_;
  bool cut_off_ = false;
};

} // namespace hippo
