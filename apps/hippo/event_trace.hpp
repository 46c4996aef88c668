#pragma once

#include <memory>
#include <optional>

#include "hippo/base/error.hpp"
#include "hippo/service/trace/trace_log.hpp"

namespace hippo {

/// Opens the trace that the environment asks for (`trace_variable`), if it asks
/// for one. @returns why the file cannot be written
std::optional<error> open_trace(std::shared_ptr<trace_log>& to);

} // namespace hippo
