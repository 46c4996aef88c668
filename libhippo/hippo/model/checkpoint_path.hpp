#pragma once

#include <string>
#include <string_view>

#include "hippo/model/lease.hpp"

namespace hippo {

/// Whether what a lease names as its folder lies in an object store:
/// `s3+https://REGION@HOST/BUCKET/...`, see `object_location`.
[[nodiscard]] bool is_in_object_store(std::string_view folder) noexcept;

/// Returns the name of a checkpoint in its folder: `file`. In an object store
/// the digest is a part of it, so that one name never has two contents, and
/// that to write it again changes nothing.
[[nodiscard]] std::string stored_name(std::string_view folder,
                                      const checkpoint& checkpoint);

/// Returns where a checkpoint of a folder lies.
[[nodiscard]] std::string checkpoint_path(const std::string& folder,
                                          const checkpoint& checkpoint);

} // namespace hippo
