#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"

namespace hippo {

/// A program that runs beside this one. Ending this object ends the program.
class child_process {
public:
  /// Starts `command[0]` with the rest as arguments, its output appended to
  /// `log`. It is in a process group of its own, so that Ctrl-C on a terminal
  /// reaches this program alone.
  static expected<child_process> start(const std::vector<std::string>& command,
                                       const std::string& log);

  child_process(child_process&& other) noexcept;
  child_process& operator=(child_process&& other) noexcept;

  /// Kills the program, if it still runs, and waits for it.
  ~child_process();

  [[nodiscard]] pid_t id() const noexcept { return pid_; }

  /// Returns how it ended (`exit code 1`, `signal 9 (Killed)`), or nothing
  /// while it runs.
  std::optional<std::string> ended();

  /// Waits for its end, and kills it after `patience`.
  void wait(std::chrono::milliseconds patience);

  /// Returns the last `lines` lines of its log.
  [[nodiscard]] std::string last_words(std::size_t lines) const;

private:
  child_process(pid_t pid, std::string log);

  pid_t pid_ = -1; ///< -1: moved from, or ended and waited for
  std::string log_;
  std::optional<std::string> ended_;
};

/// What a program that ran to its end has printed.
struct program_output {
  int exit_code = -1; ///< -1: it was ended by a signal
  std::string out;
  std::string err;
};

/// Runs a program to its end.
/// @returns what it printed, or `errc::io_failed` if it could not be started
expected<program_output> run_program(const std::vector<std::string>& command);

/// Returns the path of the hippo-trainer that is installed beside this program:
/// of hippo-trainer-plain, which trains no built-in workload, where there is no
/// other.
std::string sibling_trainer();

} // namespace hippo
