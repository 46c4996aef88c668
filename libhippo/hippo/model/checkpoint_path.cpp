#include "hippo/model/checkpoint_path.hpp"

#include <array>
#include <cstdio>

namespace hippo {

bool is_in_object_store(std::string_view folder) noexcept {
  return folder.starts_with("s3+http://") || folder.starts_with("s3+https://");
}

std::string stored_name(std::string_view folder, const checkpoint& x) {
  if (!is_in_object_store(folder))
    return x.file;
  std::array<char, 17> digest{};
  std::snprintf(digest.data(), digest.size(), "%016llx",
                static_cast<unsigned long long>(x.digest));
  return x.file + '.' + digest.data();
}

std::string checkpoint_path(const std::string& folder, const checkpoint& x) {
  return folder + '/' + stored_name(folder, x);
}

} // namespace hippo
