#pragma once

#include <memory>

#include "hippo/train/workload.hpp"

namespace hippo {

/// Makes the linear model whose clients have data that come in cycles of
/// blocks. Throws as `make_linear_workload`.
std::unique_ptr<workload> make_cyclic_workload(const workload_spec& spec);

} // namespace hippo
