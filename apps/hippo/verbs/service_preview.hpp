#pragma once

#include <string>
#include <vector>

namespace hippo {

/// Prints what a service says that each study would train there.
/// @param address of the service, HOST:PORT
/// @param files of the studies
/// @returns the exit code
int preview_by_service(const std::string& address,
                       const std::vector<std::string>& files, bool json);

} // namespace hippo
