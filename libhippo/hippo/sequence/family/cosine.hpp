#pragma once

#include "hippo/sequence/family/argument.hpp"

namespace hippo::family {

/// `cosine: {initial, end, horizon}`: at step t,
/// `end + (initial - end) * (1 + cos(pi * t / horizon)) / 2`, then `end` (0
/// unless given).
std::vector<piece> cosine(const argument& in);

} // namespace hippo::family
