#pragma once

#include "hippo/sequence/family/argument.hpp"

namespace hippo::family {

/// `cosine: {initial, end, horizon}`: at step t,
/// `end + (initial - end) * (1 + cos(pi * t / horizon)) / 2`, then `end` (0
/// unless given).
std::vector<piece> cosine(const argument& in);

/// `cosine_restarts: {initial, end, period, multiplier}`: a `cosine` of
/// `period` steps from `initial` to `end` (0 unless given), again and again,
/// each `multiplier` (a whole number, 1 unless given) times as long as the one
/// before (SGDR, Loshchilov and Hutter, arXiv 1608.03983). Each cycle is a
/// piece of its own.
std::vector<piece> cosine_restarts(const argument& in);

} // namespace hippo::family
