#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "hippo/process/workload_process.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// Starts a process and makes a workload of it: calls go to the process, states
/// come and go as files of a temporary folder.
///
/// A call fails with an exception if the process does; when it has ended with
/// that, it is started again by the next `init` or `load`.
/// @throws std::runtime_error if it cannot be started or refuses
std::unique_ptr<workload>
make_process_workload(process_options options, std::uint64_t seed,
                      std::map<std::string, scalar> args);

} // namespace hippo
