#include "interrupts.hpp"

#include <time.h>
#include <unistd.h>

#include <atomic>

#include "outcome.hpp"

namespace hippo {

namespace {

// Without locks, as a handler needs it.
std::atomic<bool> asked = false;
std::atomic<bool> insisted = false; ///< by signals that may end it at once
std::atomic<long> first_ms = 0;     ///< when the first of these came
static_assert(std::atomic<bool>::is_always_lock_free
              && std::atomic<long>::is_always_lock_free);

long now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

void on_interrupt(int number) {
  asked = true;
  if (number == SIGHUP)
    return; // nobody insists by it: a shell passes it on, too
  if (!insisted) {
    first_ms = now_ms();
    insisted = true;
  } else if (now_ms() - first_ms > interrupt_guard::repetition) {
    ::_exit(exit_interrupted);
  }
}

} // namespace

interrupt_guard::interrupt_guard() {
  asked = insisted = false;
  struct sigaction act {};
  act.sa_handler = on_interrupt;
  ::sigemptyset(&act.sa_mask);
  for (std::size_t i = 0; i < signals.size(); ++i) {
    ::sigaction(signals[i], &act, &before_[i]);
    if (signals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN)
      ::sigaction(signals[i], &before_[i], nullptr);
  }
}

interrupt_guard::~interrupt_guard() {
  for (std::size_t i = 0; i < signals.size(); ++i)
    ::sigaction(signals[i], &before_[i], nullptr);
}

bool interrupt_guard::is_asked() noexcept { return asked; }

} // namespace hippo
