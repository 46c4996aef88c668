#pragma once

#include <vector>

#include "hippo/sequence/sequence.hpp"

namespace hippo::family {

/// The pieces of a curve over the steps `[0, length)`, without what comes after
/// it: none without length, a constant if its ends are equal.
/// @param shape `polynomial`, `cosine`, `rex` or `square_root`: goes from
///              `a[0]` to `a[1]`; `a[2]` is set here
std::vector<piece> curve(form shape, step_t length);

/// The same for a straight line.
std::vector<piece> ramp(double from, double to, step_t length);

/// Half a cosine.
std::vector<piece> half_cosine(double from, double to, step_t length);

/// Moves pieces by `by` steps.
std::vector<piece> shifted(std::vector<piece> pieces, step_t by);

/// Adds `more` to `pieces`, `by` steps later.
void append(std::vector<piece>& pieces, std::vector<piece> more, step_t by);

} // namespace hippo::family
