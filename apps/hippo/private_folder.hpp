#pragma once

#include <optional>
#include <string>
#include <utility>

#include "hippo/base/scratch_folder.hpp"

namespace hippo {

/// A scratch folder as a member, which may be missing.
class private_folder {
public:
  private_folder() {
    if (auto made = scratch_folder::make("hippo"))
      folder_ = std::move(*made);
    else
      failure_ = made.failure();
  }

  /// Why it could not be made; nothing: it is there.
  [[nodiscard]] const std::optional<error>& failure() const noexcept {
    return failure_;
  }
  /// REQUIRES: it is there.
  [[nodiscard]] const std::string& path() const noexcept {
    return folder_->path();
  }

private:
  std::optional<scratch_folder> folder_;
  std::optional<error> failure_;
};

} // namespace hippo
