#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hippo {

/// Returns the known name that `word` most likely misspells, or an empty
/// string if none is near (edit distance above a third of its length, or 2).
std::string nearest(std::string_view word,
                    const std::vector<std::string>& known);

/// Returns `", did you mean 'x'?"` or, with no near name, an empty string.
std::string did_you_mean(std::string_view word,
                         const std::vector<std::string>& known);

} // namespace hippo
