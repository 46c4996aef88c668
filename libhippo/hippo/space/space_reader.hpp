#pragma once

#include <memory>

#include "hippo/space/diagnostic.hpp"
#include "hippo/space/space_node.hpp"

namespace hippo {

/// Reads the `space` of a study file and checks every value that a trial may
/// get.
/// @param workload says which hyper-parameters there are and what they may be;
///                 null: unknown, only the sequences themselves are checked
/// @returns the space, or null after noting an error
std::shared_ptr<const space_node>
read_space(const document& x, step_t max_steps,
           const workload_descriptor* workload, diagnostics& notes);

} // namespace hippo
