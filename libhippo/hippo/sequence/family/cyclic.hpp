#pragma once

#include "hippo/sequence/family/argument.hpp"

namespace hippo::family {

/// `cyclic: {low, high, up, down, mode, gamma}`: from `low` to `high` in `up`
/// steps and back in `down` (as many unless given), again and again (Smith,
/// arXiv 1506.01186). `mode`: `triangular` (default); `triangular2`, which
/// halves the height after each cycle; `exp_range`, which multiplies it by
/// `gamma` at every step. Each half cycle is a piece of its own.
std::vector<piece> cyclic(const argument& in);

} // namespace hippo::family
