#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <system_error>
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

/// Reads all of a field as a number.
template <class Number>
std::optional<Number> number_from(const std::string& field) {
  Number result{};
  const auto* end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, result);
  if (error != std::errc{} || stop != end)
    return std::nullopt;
  return result;
}

} // namespace hippo
