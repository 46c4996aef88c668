#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace hippo {

/// A folder that lives as long as this object.
struct temporary_folder {
  explicit temporary_folder(const std::filesystem::path& within =
                              std::filesystem::temp_directory_path())
    : path(within / "hippo_XXXXXX") {
    if (::mkdtemp(path.data()) == nullptr)
      throw std::runtime_error("cannot make a temporary folder");
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder() { std::filesystem::remove_all(path); }

  /// The names of what is in it, sorted.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& x : std::filesystem::directory_iterator{path})
      result.push_back(x.path().filename());
    std::sort(result.begin(), result.end());
    return result;
  }

  std::string path;
};

} // namespace hippo
