#pragma once

#include <string>

#include "hippo/base/error.hpp"

namespace hippo {

/// The descriptor that is a keeper's line to its trainer (keeper.cpp).
inline constexpr int keeper_line = 4;

/// Returns a path by which this program's children can start the keeper. It
/// lies in memory, so there is nothing to install or to find.
/// @returns the path, or `errc::io_failed`
expected<std::string> keeper_program();

} // namespace hippo
