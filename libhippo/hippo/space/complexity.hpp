#pragma once

#include "hippo/space/study.hpp"

namespace hippo {

/// How much there is to search, after SHADHO (Kinnison et al., WACV 2018): the
/// product over what is to be decided.
///
/// A choice of m, or a range of m points, counts 2 - 1/m, hence 1 if there is
/// nothing to choose. A continuous range from a to b counts 2 + |b - a| of its
/// central 99.9 % (`space_leaf::length`): of a logarithmic one of the
/// exponents, to base 10 if both ends are powers of 10, else to base 2 if both
/// are powers of 2, else e. What a choice brings with an alternative counts for
/// the alternative by which the product becomes greatest.
/// @complexity O(alternatives * leaves) for each choice that brings something
double complexity_of(const search_space& space);

} // namespace hippo
