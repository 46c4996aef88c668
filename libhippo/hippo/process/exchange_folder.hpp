#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace hippo {

/// A temporary folder for states that come and go; removed in the end.
class exchange_folder {
public:
  exchange_folder()
    : path_((std::filesystem::temp_directory_path() / "hippo-states-XXXXXX")
              .string()) {
    if (::mkdtemp(path_.data()) == nullptr)
      throw std::runtime_error("cannot make the folder " + path_);
  }
  ~exchange_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  exchange_folder(const exchange_folder&) = delete;
  exchange_folder& operator=(const exchange_folder&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const {
    return path_ + '/' + name;
  }

private:
  std::string path_;
};

} // namespace hippo
