#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "hippo/base/error.hpp"

namespace hippo {

/// A trace ends at this size: it is written for somebody who looks at one run,
/// and a disk must not fill unseen.
inline constexpr std::uint64_t trace_bytes_max = 256 << 20;

/// The environment variable that names the file of a trace.
inline constexpr const char* trace_variable = "HIPPO_TRACE";

/// A file of lines that several threads write, up to a size.
class trace_log {
public:
  /// Makes the file, or empties it.
  /// @param note_full called once, when the trace ends before the run does; may
  ///                  be null
  static expected<std::shared_ptr<trace_log>>
  open(const std::string& path, std::uint64_t bytes_max = trace_bytes_max,
       std::function<void()> note_full = {});

  /// Returns the name of a further core: `core`, and a number if there was one
  /// of that name. Both may be told something for a while.
  std::string name_of(const std::string& core);

  /// Writes a line, or nothing once the next one would be beyond the size. What
  /// was written is in the file when the process ends, however it does.
  void write(const std::string& line);

private:
  struct closer {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
  };
  using file = std::unique_ptr<std::FILE, closer>;

  trace_log(file to, std::uint64_t bytes_max, std::function<void()> note_full);

  std::mutex mutex_; ///< of all that follows
  file file_;        ///< null: it is full, or the disk is
  std::uint64_t bytes_left_;
  std::map<std::string, unsigned> named_; ///< cores by name
  std::function<void()> note_full_;
};

} // namespace hippo
