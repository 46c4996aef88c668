#pragma once

#include <string>

#include "hippo/base/error.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// Adds to the text of a study file the code that it brings, from the folder
/// that the file lies in, and the versions of what its interpreter has. Text
/// that brings none, or has it already, stays as it is.
/// @param file path of the study file
/// @returns the text, or `errc::invalid_study` if the interpreter is of no use,
///          the code is too large, or symbolic links lead out of the folder to
///          a file of it; a file that is missing is left for
///          `read_study` to tell
expected<std::string> pack_study(std::string text, const std::string& file);

/// Remembers, for this user on this machine, that `hippo check` has found the
/// workload of a study exact, for hyper-parameters that change, or do not, as
/// they do there.
void mark_exact(const study_spec& spec);

/// Whether it has. What comes with Hippo is exact.
bool is_known_exact(const study_spec& spec);

} // namespace hippo
