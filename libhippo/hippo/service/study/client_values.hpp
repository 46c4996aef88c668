#pragma once

#include <string>

#include "hippo/base/name.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// Adds to the values that a client gives those of which the space leaves no
/// choice, and those that are made of others. Values that are wrong stay as
/// they are, to be refused.
std::string with_constants(const std::string& values, const study_spec& study,
                           const workload_descriptor& workload,
                           name_rules rules);

} // namespace hippo
