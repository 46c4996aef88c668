#pragma once

#include <cstdlib>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include "hippo/core/error.hpp"

namespace hippo {

/// A new folder that only its owner can enter, and that is gone in the end.
class private_folder {
public:
  private_folder()
    : path_((std::filesystem::temp_directory_path() / "hippo-XXXXXX")
              .string()) {
    if (::mkdtemp(path_.data()) == nullptr)
      failure_ = error{errc::io_failed, "cannot make the folder " + path_ + ": "
                                          + std::strerror(errno)};
  }
  ~private_folder() {
    std::error_code ignored;
    if (!failure_)
      std::filesystem::remove_all(path_, ignored);
  }
  private_folder(const private_folder&) = delete;
  private_folder& operator=(const private_folder&) = delete;

  /// Why it could not be made; nothing: it is there.
  [[nodiscard]] const std::optional<error>& failure() const noexcept {
    return failure_;
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
  std::string path_;
  std::optional<error> failure_;
};

} // namespace hippo
