#pragma once

#include "hippo/sequence/family/argument.hpp"

namespace hippo::family {

/// `reduce_on_plateau: {initial, factor, patience, threshold, threshold_mode,
/// cooldown, min, epsilon}`: `initial`, multiplied by `factor` whenever more
/// than `patience` measurements of the study's objective in a row were no
/// better than the best before them. What all of them mean, and their defaults,
/// are those of PyTorch's ReduceLROnPlateau, of which each measurement after
/// this sequence's step 0 is one step. A reduction counts from the step at
/// which it was measured; none changes what came before.
std::vector<piece> reduce_on_plateau(const argument& in);

} // namespace hippo::family
