#pragma once

#include <cstdint>

namespace hippo {

/// The severity of a line for the log.
enum class log_level : std::uint8_t { info, warning, error };

} // namespace hippo
