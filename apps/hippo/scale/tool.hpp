#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "child_process.hpp"
#include "hippo/base/error.hpp"

namespace hippo {

/// Runs a program to its end, which reads `input`.
/// @returns what it printed; `errc::missing_data` if there is no such program;
///          or `errc::io_failed` if it has not ended in time, and was killed
expected<program_output> run_tool(const std::vector<std::string>& command,
                                  const std::string& input,
                                  std::chrono::seconds limit);

/// A program that answers a line with a line.
class line_program {
public:
  explicit line_program(std::vector<std::string> command)
    : command_(std::move(command)) {}
  line_program(const line_program&) = delete;
  line_program& operator=(const line_program&) = delete;
  /// Ends it: its input ends, and after a second it is killed.
  ~line_program();

  /// Starts it if it does not run.
  /// @param line without its end
  /// @returns the answer without its end; or `errc::io_failed` if it has ended,
  ///          or has not answered in time, and was killed
  expected<std::string> ask(const std::string& line,
                            std::chrono::seconds limit);

private:
  std::optional<error> start();
  void stop(std::chrono::milliseconds patience);
  error broken(const std::string& why);

  std::vector<std::string> command_;
  pid_t pid_ = -1; ///< -1: it does not run
  int to_ = -1;
  int from_ = -1;
  std::string read_; ///< of the next answer
};

} // namespace hippo
