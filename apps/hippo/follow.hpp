#pragma once

#include <vector>

#include "hippo/net/client/client.hpp"

namespace hippo {

/// Shows how studies of a service go until all of them have ended: redrawn in
/// place on a terminal, a line for each trial that ends elsewhere; on stderr.
/// In the end it says how each has ended.
/// @param quiet show nothing before the end
/// @returns the exit code: `exit_failed` if a study has failed or was
///          cancelled, or the service cannot be asked
int follow(client& service, const std::vector<study_handle>& studies,
           bool quiet);

} // namespace hippo
