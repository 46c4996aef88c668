#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace hippo {

/// The task of a call of a workload, which decides how long the call usually
/// takes.
enum class call_kind : std::uint8_t {
  starting,  ///< making the workload, and waiting until it can train
  loading,   ///< bringing it into a state
  training,  ///< some steps
  measuring, ///< a state
  saving,    ///< a state, or telling of it
};

/// How long calls of a workload may take once their lease is to end.
struct call_limits {
  using duration = std::chrono::nanoseconds;

  /// A call whose lease was cancelled has this long to return: from SIGTERM to
  /// SIGKILL where a process of its own trains, else until this process ends.
  duration grace = std::chrono::seconds{10};
  /// A process that trains is given this long before SIGTERM, `grace` at most:
  /// the calls of most end by themselves.
  duration first = std::chrono::seconds{1};
  /// A lease that is to end after its present step is cancelled once the call
  /// has taken so many times what calls like it took, this long at least.
  double usual_factor = 10;
  duration usual_min = std::chrono::minutes{10};
  /// The same where no call like it has returned yet.
  duration unknown_max = std::chrono::hours{6};
};

/// Follows the calls of a workload's lane, and says when one that is to return
/// must be ended.
///
///     running --cancelled--> late --> terminated --> killed --> given up
///
/// A pure state machine: time comes with events, and what is to be done is
/// returned. What cannot be ended from outside goes from late to given up. A
/// call that returns ends all of that, at any time.
///
/// @invariant nothing is done about a call before its lease was cancelled, or
///            should have ended by what is known of calls like it
class call_watch {
public:
  using duration = call_limits::duration;

  /// The measure against the call that runs.
  enum class effect : std::uint8_t {
    nothing,
    terminate, ///< `stop_force::terminate`
    kill,      ///< `stop_force::kill`
    give_up,   ///< this process has to end
  };

  explicit call_watch(call_limits limits = {}) : limits_(limits) {}

  /// A lease begins. @param is_new whether its workload is another one than
  /// before: nothing is known of that
  /// REQUIRES: no call runs.
  void start_lease(bool is_new);

  /// A call begins. @param units of which its time is a multiple: steps
  /// REQUIRES: none runs; `units > 0`.
  void begin(call_kind what, std::uint64_t units, duration now);

  /// It has returned. REQUIRES: one runs.
  void end(duration now);

  /// The lease is to end after its present step.
  void wind_down(duration now);

  /// The lease is to end at once.
  void cancel(duration now);

  /// Some time has passed.
  /// @param can_stop whether what trains can be ended from outside
  effect tick(duration now, bool can_stop);

  /// When `tick` is to be called the next time; nothing: not before another
  /// event.
  [[nodiscard]] std::optional<duration> due(bool can_stop) const;

  /// For how long the call that runs has been awaited since its lease was
  /// cancelled; 0: no call is.
  [[nodiscard]] duration overdue(duration now) const;

  /// Whether the lease was cancelled, or is to end after its present step.
  [[nodiscard]] bool is_to_end() const { return cancelled_ || ending_since_; }

private:
  struct call {
    call_kind what{};
    std::uint64_t units = 1;
    duration begun{};
    effect done = effect::nothing; ///< about it, last
    duration done_at{};
  };

  /// How long a call takes by what is known; nothing: nothing is.
  [[nodiscard]] std::optional<duration> usual(const call& request) const;
  /// Since when the call is awaited. REQUIRES: cancelled, and a call runs.
  [[nodiscard]] duration awaited_since() const;

  call_limits limits_;
  /// Of a unit, the longest; 0: none has returned.
  std::array<duration, 5> longest_{};
  std::optional<call> call_;
  std::optional<duration> cancelled_;
  std::optional<duration> ending_since_;
};

/// A call watch for several threads, by the clock of this machine.
class watched_calls {
public:
  explicit watched_calls(call_limits limits = {}) : watch_(limits) {}

  void start_lease(bool is_new);
  void wind_down();
  void cancel();
  call_watch::effect tick(bool can_stop);
  [[nodiscard]] bool is_to_end() const;
  /// How long until `tick` is due, not less than 0; nothing: as `due` above.
  [[nodiscard]] std::optional<call_watch::duration> due_in(bool can_stop) const;
  [[nodiscard]] call_watch::duration overdue() const;

  /// A call, from its begin to its end.
  class scope {
  public:
    scope(watched_calls& calls, call_kind what, std::uint64_t units = 1);
    ~scope() { end(); }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

    /// It has returned, though the scope goes on.
    void end();

  private:
    watched_calls* calls_; ///< null: it has ended
  };

private:
  mutable std::mutex mutex_;
  call_watch watch_;
};

} // namespace hippo
