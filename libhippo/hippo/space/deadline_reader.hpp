#pragma once

#include <optional>

#include "hippo/space/study.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

/// Reads the `deadline` of a study's budget: a span from its submission on, or
/// a time. Errors are noted.
std::optional<study_deadline> read_deadline(const document& deadline,
                                            diagnostics& notes);

} // namespace hippo
