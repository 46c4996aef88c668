#pragma once

#include <vector>

#include "hippo/sequence/sequence.hpp"

namespace hippo {

/// Writes a sequence so that, as far as possible, its forms depend on nothing
/// but its values, and those up to a step on nothing but the values up to it:
/// then sequences have as many forms in common as values.
///
/// From the first step on, the form that rules goes on for as long as it gives
/// the values that the given pieces have. Where it does not:
/// - a plateau begins;
/// - a curve begins if it has ruled the two steps before, too, else its value
///   at this step is a plateau: two values lie on curves of every kind, the
///   third tells which it is;
/// - a line has ruled the steps before if it goes through the values there, and
///   has its origin at the first of the two if it can (see `moved_line()`).
///
/// @param pieces as `sequence` wants them
/// @complexity O(pieces * log(steps)) evaluations of a form, and up to 1,000
///             for two neighbouring curves: they are not compared any further
std::vector<piece> canonical_form(std::vector<piece> pieces);

} // namespace hippo
