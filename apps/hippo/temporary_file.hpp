#pragma once

#include <string>
#include <string_view>

#include "hippo/base/whole_file.hpp"
#include "private_folder.hpp"

namespace hippo {

/// A file that is gone when its user is done.
class temporary_file {
public:
  /// @param name by which messages know it
  explicit temporary_file(const std::string& name)
    : path_(folder_.failure() ? name : folder_.path() + '/' + name) {}

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// @returns whether all of it is there now
  [[nodiscard]] bool write(std::string_view bytes) const {
    whole_file_options how;
    how.synced = false;
    return !folder_.failure() && !write_whole(path_, bytes, how);
  }

private:
  private_folder folder_;
  std::string path_;
};

} // namespace hippo
