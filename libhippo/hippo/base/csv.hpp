#pragma once

#include <string>
#include <vector>

namespace hippo {

/// A line of a table, and its place.
struct csv_line {
  int number = 0; ///< of its first line in the text, from 1
  std::vector<std::string> fields;
};

/// Takes a text of RFC 4180 apart; lines may also end without CR. Empty lines
/// are left out.
std::vector<csv_line> csv_lines(const std::string& text);

} // namespace hippo
