#pragma once

#include <array>
#include <csignal>

namespace hippo {

/// Receives requests to end the process while it lives: Ctrl-C, SIGTERM, or
/// SIGHUP (the terminal was closed). A second Ctrl-C or SIGTERM ends the
/// process at once with `exit_interrupted`: the store holds all results, and
/// trainers on this machine end with the process. One guard at a time.
///
/// A signal that comes twice within `repetition` counts once, as some send it
/// to a process and to its group. SIGHUP stays ignored where it was (`nohup`).
class interrupt_guard {
public:
  /// In milliseconds.
  static constexpr long repetition = 50;

  interrupt_guard();
  ~interrupt_guard();
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;

  /// Whether it was asked to end.
  [[nodiscard]] static bool is_asked() noexcept;

private:
  static constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};

  std::array<struct sigaction, signals.size()> before_{};
};

} // namespace hippo
