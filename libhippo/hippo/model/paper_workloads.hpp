#pragma once

#include <vector>

#include "hippo/model/workload_descriptor.hpp"

namespace hippo {

/// Returns the part of `built_in_workloads()` that comes from papers
/// (docs/papers.md): linear models on several machines, networks on graphs,
/// click models.
std::vector<workload_descriptor> paper_workloads();

} // namespace hippo
