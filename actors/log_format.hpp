#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <spdlog/spdlog.h>

#include "hippo/base/log_level.hpp"

namespace hippo {

/// Returns a severity as the log has it.
inline spdlog::level::level_enum severity_of(log_level level) {
  return level == log_level::info      ? spdlog::level::info
         : level == log_level::warning ? spdlog::level::warn
                                       : spdlog::level::err;
}

/// Returns the lines of a trainer's log that explain why a lease failed: those
/// written since it began, without those about leases, which say again what
/// failed, or are of other studies.
///
/// @param tail the last lines of the log
/// @param before the last lines when the lease began
std::string lines_of_lease(std::string_view tail, std::string_view before);

/// A log file of a service has at most so many bytes; then it becomes
/// `NAME.1.log`, what was that `NAME.2.log`, and so on.
inline constexpr std::size_t log_file_bytes_max = 10 << 20;

/// How many files there are at most beside the one that is written.
inline constexpr std::size_t old_log_files_max = 5;

/// Returns the file that `file` becomes when it is full.
std::string old_log_of(const std::string& file);

/// Returns a sink for `file`, which ends in `.log`, and those that were full.
/// @throws spdlog::spdlog_ex if it cannot be written
spdlog::sink_ptr make_log_files(const std::string& file,
                                std::size_t bytes_max = log_file_bytes_max);

/// Keeps a log that another program appends to small: once it has more than
/// `bytes_max`, all of it becomes `old_log_of(file)`, whatever that was, and it
/// begins anew. What is written at that moment may be lost. Does nothing if a
/// file cannot be read or written.
void keep_small(const std::string& file,
                std::size_t bytes_max = log_file_bytes_max) noexcept;

/// The log of a program, by the words of its command line.
struct log_options {
  /// `text`: `2026-01-31 12:00:00.000 info pool: trainer 1 is ...`; `json`:
  /// `{"time":"2026-01-31T12:00:00.000Z","level":"info","message":...}`
  std::string format = "text";
  /// `error`, `warning`, `info` or `debug`. Each has the lines of those before
  /// it; requests of clients are at `debug`.
  std::string level = "info";
};

/// Makes `sink` take all of the program's log from now on.
void log_to(spdlog::sink_ptr sink, const std::string& name,
            const log_options& options);

} // namespace hippo
