#pragma once

#include <string>

#include "hippo/base/error.hpp"

namespace hippo {

/// Draws 32 hexadecimal digits, which nobody can guess.
std::string random_token();

/// Leaves a token in `folder`: a small hidden file, `.hippo-<random>`, in place
/// of any that was there. Who finds it under the folder's name sees the same
/// folder, not one on another machine that has the same name.
/// @returns what to ask `sees_folder` for, or `errc::io_failed`
expected<std::string> leave_folder_token(const std::string& folder);

/// Whether `folder`, as seen from here, is the one where `token` was left.
/// @param token may come from a peer: anything that is no token is not found
bool sees_folder(const std::string& folder, const std::string& token);

} // namespace hippo
