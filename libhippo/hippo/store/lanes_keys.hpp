#pragma once

#include <string>

#include "hippo/base/error.hpp"
#include "hippo/store/sqlite.hpp"

namespace hippo {

/// Brings the workload keys of version 10 to the present form: those of images
/// had an option `lanes`. Where it was 1, it is left out, and what is in
/// `checkpoints` under the key moves with it, as in `migrate_code_keys`. What
/// was trained with more keeps its key: it has other bits, and studies with
/// such an option begin anew.
///
/// @param checkpoints the folder with a folder for each workload
expected<std::monostate> migrate_lanes_keys(sql_database& database,
                                            const std::string& checkpoints);

} // namespace hippo
