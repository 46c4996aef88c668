#pragma once

#include <string>

namespace hippo {

/// Returns the first line of a text: the log has one for each event.
inline std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

} // namespace hippo
