#pragma once

#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/model/records.hpp"

namespace hippo {

/// Measured times as JSON, as `Service.timings` of schemas/service.capnp has
/// them.
std::string timings_json(const std::vector<workload_timings>& xs);

/// @returns what `timings_json` has written, or `errc::malformed_message`
expected<std::vector<workload_timings>>
timings_from_json(const std::string& text);

} // namespace hippo
