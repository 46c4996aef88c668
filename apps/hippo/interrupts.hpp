#pragma once

#include <csignal>

namespace hippo {

/// Counts Ctrl-C and SIGTERM while it lives. The second one ends the process at
/// once, with `exit_interrupted`: the store has all, and trainers on this
/// machine end with it. One at a time.
class interrupt_guard {
public:
  interrupt_guard();
  ~interrupt_guard();
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;

  /// How many there were.
  [[nodiscard]] static int count() noexcept;

private:
  struct sigaction old_int_ {};
  struct sigaction old_term_ {};
};

} // namespace hippo
