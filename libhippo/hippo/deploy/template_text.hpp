#pragma once

#include <map>
#include <string>
#include <vector>

namespace hippo {

/// Returns `text` with each `{{NAME}}` replaced by what `values` has for it. A
/// line that holds nothing but a name whose value is empty is left out, and in
/// one that holds nothing but blanks and a name each line of the value is
/// indented by these blanks.
/// REQUIRES: `values` has every name that stands in `text`, and no other
std::string filled(const std::string& text,
                   const std::map<std::string, std::string>& values);

/// Returns words as one command of a shell, an option a line.
std::string lines_of(const std::vector<std::string>& words);

} // namespace hippo
