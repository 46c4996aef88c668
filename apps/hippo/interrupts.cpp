#include "interrupts.hpp"

#include <unistd.h>

#include "outcome.hpp"

namespace hippo {

namespace {

volatile std::sig_atomic_t interrupts = 0;

void on_interrupt(int) {
  interrupts = interrupts + 1;
  if (interrupts > 1)
    ::_exit(exit_interrupted);
}

} // namespace

interrupt_guard::interrupt_guard() {
  interrupts = 0;
  struct sigaction act {};
  act.sa_handler = on_interrupt;
  ::sigemptyset(&act.sa_mask);
  ::sigaction(SIGINT, &act, &old_int_);
  ::sigaction(SIGTERM, &act, &old_term_);
}

interrupt_guard::~interrupt_guard() {
  ::sigaction(SIGINT, &old_int_, nullptr);
  ::sigaction(SIGTERM, &old_term_, nullptr);
}

int interrupt_guard::count() noexcept { return interrupts; }

} // namespace hippo
