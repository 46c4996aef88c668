#pragma once

#include "hippo/sequence/family/argument.hpp"

namespace hippo::family {

/// `rex: {initial, end, horizon, beta}`: at step t, with `p = t / horizon`,
/// `end + (initial - end) * (1 - p) / (1 - beta * p)`, then `end` (0 unless
/// given); `beta` is 1/2 unless given. Beta 0 is a line. The reflected
/// exponential of Chen et al., "REX: Revisiting Budgeted Training with an
/// Improved Schedule", MLSys 2022.
std::vector<piece> rex(const argument& in);

} // namespace hippo::family
