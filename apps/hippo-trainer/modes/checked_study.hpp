#pragma once

#include <string>

#include "hippo/core/error.hpp"
#include "hippo/space/study.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// Reads a study, perhaps with its code, as `hippo` has checked it already.
expected<study_spec> read_checked(const std::string& path,
                                  const workload_registry& registry);

} // namespace hippo
