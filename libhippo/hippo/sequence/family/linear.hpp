#pragma once

#include "hippo/sequence/family/argument.hpp"

namespace hippo::family {

/// `linear: {from, to, horizon}`: at step t,
/// `from + (to - from) * t / horizon`, then `to`.
std::vector<piece> linear(const argument& in);

/// The pieces of a curve over the steps `[0, horizon)`, without what comes
/// after it: none without length, a constant if its ends are equal, its values
/// if it has at most 2 steps.
/// @param kind `polynomial` (a straight line) or `cosine`
std::vector<piece> curve(form_kind kind, double from, double to,
                         step_t horizon);

} // namespace hippo::family
