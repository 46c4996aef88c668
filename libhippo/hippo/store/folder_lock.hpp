#pragma once

#include <string>

#include "hippo/base/error.hpp"

namespace hippo {

/// Holds a folder for this process as long as it lives: an exclusive `flock` on
/// the folder itself, and one on the file `lock` in it, which names the holder.
/// The operating system drops the locks with their holder, so none can be
/// stale; the file stays, and nobody else gets in if it is removed.
class folder_lock {
public:
  /// @returns the lock, `errc::in_use` naming the process that holds it, or
  ///          `errc::io_failed`
  static expected<folder_lock> take(const std::string& folder);

  folder_lock(folder_lock&& other) noexcept;
  folder_lock& operator=(folder_lock&& other) noexcept;
  ~folder_lock();

private:
  folder_lock(int folder, int file) : folder_(folder), file_(file) {}

  int folder_ = -1; ///< none where folders have no locks
  int file_ = -1;
};

} // namespace hippo
