#pragma once

#include <csignal>
#include <vector>

#include "trainer.hpp"

namespace hippo {

using trainer_list = std::vector<training_actor>;

/// Ends the process without waiting for what it does: a step may be under way.
[[noreturn]] void leave_at_once(int code);

/// SIGTERM, SIGINT and SIGHUP, taken by the thread that waits for them and by
/// no other. SIGHUP stays ignored where it was (`nohup`). Make it before any
/// thread.
class leave_signals {
public:
  leave_signals();

  /// Waits for the first one. The next SIGTERM or SIGINT ends the process at
  /// once; SIGHUP may come several times for one end of a terminal.
  void wait();

private:
  sigset_t set_{};
};

/// Waits for a signal, then ends the process in good order: trainers save after
/// their present steps, hand the rest back and take leave.
/// @param grace_seconds the limit of all that
[[noreturn]] void leave_when_asked(leave_signals& signals,
                                   caf::actor_system& system,
                                   const trainer_list& trainers,
                                   double grace_seconds);

} // namespace hippo
