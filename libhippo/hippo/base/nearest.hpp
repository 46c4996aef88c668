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

/// Joins names for a message: `a, b, c`.
std::string list_of(const std::vector<std::string>& names);

/// Says that there is no `what` of that name, which one may have been meant and
/// which there are: `unknown sequence 'cosin', did you mean 'cosine'? Allowed:
/// constant, ...`.
std::string unknown_text(const std::string& what, const std::string& name,
                         const std::vector<std::string>& known);

} // namespace hippo
