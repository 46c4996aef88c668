#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "hippo/base/error.hpp"

namespace hippo {

/// A file with keys is at most so long; a longer one is something else.
inline constexpr std::size_t private_file_bytes_max = 64 * 1024;

/// Writes a file that only its owner can read (0600), whole or not at all.
/// @returns `errc::in_use` if there is such a file and it is not to be
///          replaced, or `errc::io_failed`
std::optional<error> write_private_file(const std::string& path,
                                        const std::string& bytes,
                                        bool replace);

/// Reads a file that only its owner can read.
/// @returns `errc::not_allowed` if others can, saying what to do about it;
///          `errc::invalid_argument` if it is missing, no file or too long;
///          `errc::io_failed`
expected<std::string> read_private_file(const std::string& path);

/// Makes a folder that only its owner can enter (0700), if there is none.
std::optional<error> make_private_folder(const std::string& path);

/// @returns `errc::not_allowed` if others than its owner can enter the folder;
///          `errc::invalid_argument` if there is no such folder
std::optional<error> check_private_folder(const std::string& path);

} // namespace hippo
