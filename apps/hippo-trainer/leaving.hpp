#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"
#include "trainer.hpp"

namespace hippo {

using trainer_list = std::vector<training_actor>;

/// Ends the process without waiting for what it does: a step may be under way.
[[noreturn]] void leave_at_once(int code);

/// Why a process is to end.
enum class leave_reason : std::uint8_t {
  asked,   ///< by a signal
  time_up, ///< its time limit ends
  stuck,   ///< training does not return, and ends with nothing else
};

/// SIGTERM, SIGINT and SIGHUP, taken by the thread that waits for them and by
/// no other. SIGHUP stays ignored where it was (`nohup`). Make it before any
/// thread.
class leave_signals {
public:
  leave_signals();

  /// Waits for the first reason. The next SIGTERM or SIGINT ends the process at
  /// once; SIGHUP may come several times for one end of a terminal.
  /// @param until the moment at which its time is up; nothing: never
  leave_reason wait(std::optional<std::chrono::system_clock::time_point> until);

  /// Says that training is stuck. Any thread may.
  void tell_stuck();

  /// Whether there has been a reason: who waits for it ends this process.
  [[nodiscard]] bool is_leaving() const { return is_leaving_; }

private:
  sigset_t set_{};
  std::atomic<bool> is_leaving_{false};
};

/// Waits for a reason, then ends what this process does in good order: trainers
/// save after their present steps, hand the rest back and take leave. One that
/// was stuck starts anew then, as the same process.
[[noreturn]] void leave_when_asked(leave_signals& signals,
                                   caf::actor_system& system,
                                   const trainer_list& trainers,
                                   const trainer_options& opts);

} // namespace hippo
