#pragma once

#include "hippo/sequence/family/argument.hpp"

namespace hippo::family {

/// `inverse_sqrt: {peak, warmup}`: a line from 0 to `peak` over `warmup` steps
/// (0 unless given), then `peak * sqrt(warmup / t)` at step t. Without a
/// warm-up it falls as after one of 10,000 steps: `peak / sqrt(1 + t / 10000)`.
std::vector<piece> inverse_sqrt(const argument& in);

} // namespace hippo::family
