#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hippo {

/// Returns the bytes of files whose content is a part of a workload key, by its
/// option `data.sha256`: the digest of all, one after another.
/// Throws `missing_data_error` for a file that cannot be read, and
/// `std::invalid_argument` if they are larger or have another digest.
/// @param option that names the files
/// @param bytes_max of all together
std::vector<std::string> read_checked(const std::vector<std::string>& paths,
                                      const std::string& option,
                                      const std::string& sha256,
                                      std::uint64_t bytes_max);

} // namespace hippo
