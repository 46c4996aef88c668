#pragma once

#include <string>

#include "hippo/core/error.hpp"

namespace hippo {

/// Makes a new folder that only its owner can enter, and that the caller
/// removes: in `TMPDIR`, or where nothing can be made there, in another place
/// for what does not last.
/// @param name what its name begins with
/// @returns its path, or `errc::io_failed`
expected<std::string> make_temporary_folder(const std::string& name);

} // namespace hippo
