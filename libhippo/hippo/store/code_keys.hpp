#pragma once

#include <string>

#include "hippo/base/error.hpp"
#include "hippo/store/sqlite.hpp"

namespace hippo {

/// Brings the workload keys of version 3 to the present form: code files stood
/// there with an XXH3 of 64 bits, and may have been unpacked without standing
/// there at all. What is in `checkpoints` under a key moves with it, before the
/// transaction ends: if that fails, checkpoints are missing to an older
/// program, and trained again.
///
/// A key keeps its old form, and its results with it, where nobody can know
/// which code they are of: no study has all of its files, two studies have
/// different ones of one digest, or a study has trained under it with files
/// that it does not name. Studies with such code begin anew.
///
/// @param checkpoints the folder with a folder for each workload
expected<std::monostate> migrate_code_keys(sql_database& database,
                                           const std::string& checkpoints);

} // namespace hippo
