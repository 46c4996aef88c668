#pragma once

#include "hippo/sequence/family/argument.hpp"

namespace hippo::family {

/// `linear: {from, to, horizon}`: at step t,
/// `from + (to - from) * t / horizon`, then `to`.
std::vector<piece> linear(const argument& in);

} // namespace hippo::family
