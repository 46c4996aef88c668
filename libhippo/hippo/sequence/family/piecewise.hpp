#pragma once

#include "hippo/sequence/family/argument.hpp"

namespace hippo::family {

/// `piecewise: [[begin, v], ...]`: the number or word `v` from step `begin` on.
/// The first begins at 0.
std::vector<piece> piecewise(const argument& in);

} // namespace hippo::family
