#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "hippo/core/temporary_folder.hpp"

namespace hippo {

/// A new folder that only its owner can enter, and that is gone in the end.
class private_folder {
public:
  private_folder() {
    if (auto made = make_temporary_folder("hippo"))
      path_ = std::move(*made);
    else
      failure_ = made.failure();
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
