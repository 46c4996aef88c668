#pragma once

#include "hippo/sequence/family/argument.hpp"

namespace hippo::family {

/// `polynomial: {initial, end, horizon, power}`: at step t,
/// `end + (initial - end) * (1 - t / horizon)^power`, then `end` (0 unless
/// given). Power 1 is a line.
std::vector<piece> polynomial(const argument& in);

} // namespace hippo::family
