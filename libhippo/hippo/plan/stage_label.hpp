#pragma once

#include <set>
#include <string>

#include "hippo/sequence/configuration.hpp"

namespace hippo {

/// Says what changes in a stage: where its configuration differs from that of
/// the stage before, among the hyper-parameters that may. At most about 100
/// bytes, for which pictures have room.
/// @param before null: there is no stage before
std::string stage_label(configuration params, const configuration* before,
                        const std::set<std::string>& varied);

} // namespace hippo
