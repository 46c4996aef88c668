#include "leaving.hpp"

#include <linux/close_range.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include <spdlog/spdlog.h>

namespace hippo {

namespace {

/// By which the process tells itself that training is stuck.
int stuck_signal() { return SIGRTMIN; }

/// Becomes the same program again: whatever hangs in this one, and what it has
/// started, ends with that, and whoever watches this process sees no end.
[[noreturn]] void start_anew(std::vector<std::string> command,
                             unsigned life) {
  spdlog::default_logger_raw()->flush();
  command.insert(command.end(), {"--life", std::to_string(life)});
  std::vector<char*> arguments;
  for (auto& x : command)
    arguments.push_back(x.data());
  arguments.push_back(nullptr);
  // The service must see that its connection has ended.
  ::close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
  ::execv("/proc/self/exe", arguments.data());
  spdlog::error("trainer: cannot start anew ({}); start it again",
                std::strerror(errno));
  leave_at_once(exit_failed);
}

/// Waits for a signal of a set. @returns it; 0: that moment has come before
int next_signal(const sigset_t& set,
                std::optional<std::chrono::system_clock::time_point> until) {
  using namespace std::chrono;
  // A clock that was set is looked at again after that span.
  constexpr nanoseconds glance = minutes{1};
  for (;;) {
    const nanoseconds left =
      until ? *until - system_clock::now() : nanoseconds{glance};
    if (left <= nanoseconds::zero())
      return 0;
    const auto span = std::min(left, glance);
    const auto whole = duration_cast<seconds>(span);
    const timespec wait{whole.count(), (span - whole).count()};
    if (const auto number = ::sigtimedwait(&set, nullptr, &wait); number > 0)
      return number;
  }
}

} // namespace

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
  ::sigaddset(&set_, stuck_signal());
  ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
}

leave_reason leave_signals::wait(
  std::optional<std::chrono::system_clock::time_point> until) {
  const auto number = next_signal(set_, until);
  is_leaving_ = true;
  auto again = set_;
  ::sigdelset(&again, SIGHUP);
  ::sigdelset(&again, stuck_signal());
  ::pthread_sigmask(SIG_UNBLOCK, &again, nullptr);
  if (number == 0)
    return leave_reason::time_up;
  return number == stuck_signal() ? leave_reason::stuck : leave_reason::asked;
}

void leave_signals::tell_stuck() {
  is_leaving_ = true;
  ::kill(::getpid(), stuck_signal());
}

void leave_when_asked(leave_signals& signals, caf::actor_system& system,
                      const trainer_list& trainers,
                      const trainer_options& opts) {
  const auto grace_seconds = opts.grace_seconds;
  const auto why =
    signals.wait(opts.until ? std::optional{leaving_time(opts)} : std::nullopt);
  if (why == leave_reason::stuck)
    spdlog::error("trainer: training that was cancelled does not return; "
                  "starting anew, within {} s", grace_seconds);
  else
    spdlog::info("trainer: leaving{}; ends after the present step, within {} s",
                 why == leave_reason::time_up ? " at its time limit" : "",
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
  if (why == leave_reason::stuck)
    start_anew(opts.command, opts.life + 1);
  leave_at_once(left > 0 ? exit_failed : opts.leave_code);
}

} // namespace hippo
