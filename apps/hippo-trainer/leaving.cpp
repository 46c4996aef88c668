#include "leaving.hpp"

#include <signal.h>

#include <chrono>
#include <cstdlib>

#include <spdlog/spdlog.h>

#include "options.hpp"

namespace hippo {

void leave_at_once(int code) {
  // No more than that: other threads still write to the log.
  spdlog::default_logger_raw()->flush();
  std::_Exit(code);
}

leave_signals::leave_signals() {
  ::sigemptyset(&set_);
  ::sigaddset(&set_, SIGTERM);
  ::sigaddset(&set_, SIGINT);
  struct sigaction before {};
  ::sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN)
    ::sigaddset(&set_, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
}

void leave_signals::wait() {
  int number = 0;
  ::sigwait(&set_, &number);
  auto again = set_;
  ::sigdelset(&again, SIGHUP);
  ::pthread_sigmask(SIG_UNBLOCK, &again, nullptr);
}

void leave_when_asked(leave_signals& signals, caf::actor_system& system,
                      const trainer_list& trainers, double grace_seconds) {
  signals.wait();
  spdlog::info("trainer: leaving; ends after the present step, within {} s",
               grace_seconds);
  caf::scoped_actor self{system};
  for (const auto& x : trainers) {
    self->monitor(x);
    self->send(x, leave_atom::value);
  }
  using clock = std::chrono::steady_clock;
  const auto deadline
    = clock::now() + std::chrono::duration_cast<clock::duration>(
        std::chrono::duration<double>(grace_seconds));
  auto left = trainers.size();
  while (left > 0 && clock::now() < deadline)
    self->receive([&](const caf::down_msg&) { --left; },
                  caf::after(deadline - clock::now()) >> [] {});
  if (left > 0)
    spdlog::warn("trainer: left without the present step: it takes too long");
  else
    spdlog::info("trainer: has left");
  leave_at_once(left > 0 ? exit_failed : exit_done);
}

} // namespace hippo
