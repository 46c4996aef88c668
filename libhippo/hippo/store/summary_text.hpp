#pragma once

#include <string>

#include "hippo/base/error.hpp"
#include "hippo/base/types.hpp"

namespace hippo {

/// Returns what several seeds have measured, summed up (`summarize`), as a JSON
/// object by metric; NaN is null.
std::string summary_text(const metrics& summary);

/// Reads what `summary_text` wrote, or fails with `malformed_message`.
expected<metrics> read_summary(const std::string& text);

} // namespace hippo
