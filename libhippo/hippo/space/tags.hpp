#pragma once

#include <string>
#include <vector>

#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

/// Reads the `tags` of a study file, a list of texts.
/// @returns them sorted, without repetitions; errors are noted
std::vector<std::string> read_tags(const document& list, diagnostics& notes);

} // namespace hippo
