#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace hippo {

/// The coming events of a simulation, in order of virtual time; of those that
/// happens at the same time, in the order in which it was scheduled.
/// Not thread-safe: a simulation is one thread.
class virtual_timeline {
public:
  using duration = std::chrono::nanoseconds; ///< since the simulation's begin
  using action = std::function<void()>;

  /// Names what was scheduled, to take it back.
  using entry = std::pair<duration, std::uint64_t>;

  [[nodiscard]] duration now() const noexcept { return now_; }

  /// Lets `what` happen at `when`.
  /// REQUIRES: `when >= now()`
  entry schedule_at(duration when, action what);

  /// Takes back what has not happened yet; else without effect.
  void cancel(const entry& place) { entries_.erase(place); }

  /// Returns when the next thing happens, or nothing if nothing will.
  [[nodiscard]] std::optional<duration> next_time() const noexcept;

  /// Goes on to `when`, at which nothing happens by itself.
  /// REQUIRES: `now() <= when`, and no entry is before `when`
  void advance_to(duration when);

  /// Goes on to the next thing and lets it happen.
  /// REQUIRES: there is one
  void run_next();

private:
  std::map<entry, action> entries_;
  duration now_{};
  std::uint64_t scheduled_ = 0;
};

} // namespace hippo
