#include "hippo/core/temporary_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

namespace hippo {

expected<std::string> make_temporary_folder(const std::string& name) {
  std::error_code ignored;
  std::optional<error> why; // of the first place
  for (const auto& place :
       {std::filesystem::temp_directory_path(ignored),
        std::filesystem::path{"/tmp"}, std::filesystem::path{"/dev/shm"}}) {
    auto result = (place / (name + "-XXXXXX")).string();
    if (!place.empty() && ::mkdtemp(result.data()) != nullptr)
      return result;
    if (!why)
      why = error{errc::io_failed, "cannot make a folder in " + place.string()
                                     + ": " + std::strerror(errno)
                                     + " (TMPDIR names another place)"};
  }
  return *why;
}

} // namespace hippo
