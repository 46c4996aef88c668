#pragma once

#include "hippo/sequence/family/argument.hpp"

namespace hippo::family {

/// `join: [[begin, sequence], ...]`: each sequence from step `begin` on, which
/// is its own step 0, until the next one begins. The first begins at 0.
std::vector<piece> join(const argument& in);

} // namespace hippo::family
