#pragma once

#include <string>

#include "hippo/base/error.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/space/study.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// Reads a study, perhaps with its code, as `hippo` has checked it already.
expected<study_spec> read_checked(const std::string& path,
                                  const workload_registry& registry);

/// Reads what is to be trained for its weights, a lease that `hippo best` has
/// written.
expected<lease> read_recipe(const std::string& path);

} // namespace hippo
