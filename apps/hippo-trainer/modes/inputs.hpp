#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/space/study.hpp"
#include "hippo/train/process/made_workload.hpp"
#include "hippo/train/workload.hpp"
#include "options.hpp"

namespace hippo {

/// Reads a study, perhaps with its code, as `hippo` has checked it already.
expected<study_spec> read_checked(const std::string& path,
                                  const workload_registry& registry);

/// Says why so many members cannot train a workload together.
std::optional<error> check_members_of(const workload_spec& workload,
                                      const std::vector<unsigned>& members);

/// Makes a study's workload for members.
/// @param devices of each, not empty
/// @param threads of each, on a CPU
expected<made_workload>
make_for_members(trainer_options opts, const study_spec& study,
                 const std::vector<std::string>& devices, unsigned threads);

/// Reads what is to be trained for its weights, a lease that `hippo best` has
/// written.
expected<lease> read_recipe(const std::string& path);

} // namespace hippo
