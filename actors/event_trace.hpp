#pragma once

#include <memory>
#include <optional>
#include <string>

#include "hippo/base/error.hpp"
#include "hippo/service/trace/trace_log.hpp"

namespace hippo {

/// The environment variable that names the files of trainers' traces, each with
/// its process id at its end: many processes may have the same environment.
inline constexpr const char* trainer_trace_variable = "HIPPO_TRAINER_TRACE";

/// Opens the trace that the environment asks for, if it asks for one. @returns
/// why the file cannot be written
/// @param variable names the file
/// @param suffix   of that name
std::optional<error> open_trace(std::shared_ptr<trace_log>& to,
                                const char* variable = trace_variable,
                                const std::string& suffix = {});

} // namespace hippo
