#pragma once

#include <string>

#include "hippo/core/error.hpp"

namespace hippo {

/// Holds a folder for this process as long as it lives: an exclusive `flock` on
/// the file `lock`, which names the holder. The operating system drops the lock
/// with its holder, so none can be stale; the file stays.
class folder_lock {
public:
  /// @returns the lock, `errc::in_use` naming the process that holds it, or
  ///          `errc::io_failed`
  static expected<folder_lock> take(const std::string& folder);

  folder_lock(folder_lock&& other) noexcept;
  folder_lock& operator=(folder_lock&& other) noexcept;
  ~folder_lock();

private:
  explicit folder_lock(int file) : file_(file) {}

  int file_ = -1;
};

} // namespace hippo
