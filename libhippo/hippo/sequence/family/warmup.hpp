#pragma once

#include "hippo/sequence/family/argument.hpp"

namespace hippo::family {

/// `warmup: {steps, from, to, then}`: a linear ramp from `from` to `to` over
/// `steps`, then the sequence `then` (constant `to` unless given), whose step 0
/// is step `steps` of this one and which starts from `to` unless it says so.
std::vector<piece> warmup(const argument& in);

} // namespace hippo::family
