#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "hippo/core/whole_file.hpp"

namespace hippo {

/// A file that is gone when its user is done.
class temporary_file {
public:
  explicit temporary_file(const std::string& name)
    : path_((std::filesystem::temp_directory_path()
             / (name + '-' + std::to_string(::getpid())))
              .string()) {}
  ~temporary_file() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// @returns whether all of it is there now
  [[nodiscard]] bool write(std::string_view bytes) const {
    whole_file_options how;
    how.synced = false;
    return !write_whole(path_, bytes, how);
  }

private:
  std::string path_;
};

} // namespace hippo
