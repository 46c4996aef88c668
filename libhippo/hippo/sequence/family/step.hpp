#pragma once

#include "hippo/sequence/family/argument.hpp"

namespace hippo::family {

/// `step: {initial, size, gamma}`: `initial`, multiplied by `gamma` after every
/// `size` steps.
std::vector<piece> step(const argument& in);

} // namespace hippo::family
