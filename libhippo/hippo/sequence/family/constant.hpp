#pragma once

#include "hippo/sequence/family/argument.hpp"

namespace hippo::family {

/// `constant: v`: the number or word `v` at every step.
std::vector<piece> constant(const argument& in);

} // namespace hippo::family
