#include "hippo/model/checkpoint_path.hpp"

#include <array>
#include <cstdio>

namespace hippo {

bool is_in_object_store(std::string_view folder) noexcept {
  return folder.starts_with("s3+http://") || folder.starts_with("s3+https://");
}

std::string stored_name(std::string_view folder, const checkpoint& checkpoint) {
  if (!is_in_object_store(folder))
    return checkpoint.file;
  std::array<char, 17> digest{};
  std::snprintf(digest.data(), digest.size(), "%016llx",
                static_cast<unsigned long long>(checkpoint.digest));
  return checkpoint.file + '.' + digest.data();
}

std::string checkpoint_path(const std::string& folder,
                            const checkpoint& checkpoint) {
  return folder + '/' + stored_name(folder, checkpoint);
}

} // namespace hippo
