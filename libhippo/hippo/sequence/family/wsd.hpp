#pragma once

#include "hippo/sequence/family/argument.hpp"

namespace hippo::family {

/// `wsd: {peak, warmup, from, stable, decay, shape, end}`: a line from `from`
/// (0 unless given) to `peak` over `warmup` steps (0 unless given), then
/// `peak`, then down to `end` (0 unless given), where the trial ends, or the
/// sequence that follows this one begins. Either `stable` says how long it
/// stays at `peak`, or `decay` for how long it falls. `shape` says along which
/// curve, p being the share of the way: `1-sqrt` (default), `1 - sqrt(p)`;
/// `linear`, `1 - p`; `cosine`, `(1 + cos(pi * p)) / 2`; `exponential`, by the
/// same ratio at every step.
std::vector<piece> wsd(const argument& in);

} // namespace hippo::family
