#pragma once

#include <chrono>
#include <string>

#include "hippo/base/content_source.hpp"

namespace hippo {

/// A state that a workload process has captured and writes to a file while it
/// goes on (`capture` in schemas/process.capnp).
class captured_file {
public:
  /// Makes the empty file for the process.
  /// @param silence_max how long the file may stay as it is before it is whole
  /// @throws std::runtime_error if it cannot be made
  captured_file(std::string path, std::chrono::milliseconds silence_max);
  /// Removes it.
  ~captured_file();
  captured_file(const captured_file&) = delete;
  captured_file& operator=(const captured_file&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Waits until it is whole, and opens it. Any thread may call it.
  /// @param bytes_max as of `open_exchanged`
  /// @throws std::runtime_error if it never will be, with the process's reason,
  ///         or is not what `open_exchanged` takes
  /// REQUIRES: the process has answered.
  [[nodiscard]] file_source wait(std::uint64_t bytes_max) const;

private:
  const std::string path_;
  const std::chrono::milliseconds silence_max_;
  int lock_ = -1; ///< a descriptor of the file
};

} // namespace hippo
