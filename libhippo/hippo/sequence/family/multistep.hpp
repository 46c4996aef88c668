#pragma once

#include "hippo/sequence/family/argument.hpp"

namespace hippo::family {

/// `multistep: {initial, milestones, gamma}`: `initial`, multiplied by `gamma`
/// at each milestone: `initial * gamma^n` after n of them.
std::vector<piece> multistep(const argument& in);

} // namespace hippo::family
