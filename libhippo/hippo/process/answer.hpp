#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hippo/process/workload_process.hpp"
#include "process.capnp.h"

namespace hippo {

// What a workload's process answers, taken apart. The bytes are a stranger's:
// names and texts come out as they are, whoever passes them on looks at them.
// All of these throw what Cap'n Proto throws, a `std::exception`, if the bytes
// are no answer. REQUIRES: an answer of that kind.

workload_process::description
description_of(schema::ProcessAnswer::Reader answer);

metrics metrics_of(schema::ProcessAnswer::Reader answer);

/// Returns what differs between two states; nothing: it cannot tell.
std::optional<std::vector<std::string>>
differences_of(schema::ProcessAnswer::Reader answer);

/// Returns why a request has failed, with details.
std::string problem_of(schema::ProcessAnswer::Reader answer);

} // namespace hippo
