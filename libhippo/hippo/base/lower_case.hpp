#pragma once

#include <algorithm>
#include <cctype>
#include <string>

namespace hippo {

/// Returns a text of ASCII in lower case.
inline std::string in_lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return text;
}

} // namespace hippo
