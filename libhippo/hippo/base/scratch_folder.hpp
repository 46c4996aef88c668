#pragma once

#include <string>
#include <utility>

#include "hippo/base/error.hpp"

namespace hippo {

/// A new folder that only its owner can enter, in `TMPDIR`, or where nothing
/// can be made there, in another place for what does not last. It is removed,
/// with all that is in it by then, when this is destroyed.
///
/// One whose process was killed is removed when the next one is made by the
/// same user, in whatever process: whoever lives holds a lock on its folder,
/// which the system lets go of in the end.
class scratch_folder {
public:
  /// @param name what the folder's name begins with: `hippo`, or `hippo-` and
  ///             lower-case letters
  /// @returns the folder, or `errc::io_failed`
  static expected<scratch_folder> make(const std::string& name);

  scratch_folder(scratch_folder&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      lock_(std::exchange(other.lock_, -1)) {}
  scratch_folder& operator=(scratch_folder&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(lock_, other.lock_);
    return *this;
  }
  ~scratch_folder();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// The path of a file in it.
  [[nodiscard]] std::string file(const std::string& name) const {
    return path_ + '/' + name;
  }

private:
  scratch_folder(std::string path, int lock)
    : path_(std::move(path)), lock_(lock) {}

  std::string path_; ///< empty: moved from
  int lock_ = -1;    ///< the folder, opened; -1: moved from
};

} // namespace hippo
