#pragma once

#include <functional>
#include <string>

#include "options.hpp"

namespace hippo {

/// Logs to standard error. @returns what gives the last lines
std::function<std::string()> start_log(const trainer_options& opts);

} // namespace hippo
