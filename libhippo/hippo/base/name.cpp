#include "hippo/base/name.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "hippo/base/limits.hpp"
#include "hippo/base/utf8.hpp"

namespace hippo {

namespace {

bool is_digit(char x) { return x >= '0' && x <= '9'; }

bool is_letter_or_digit(char x) {
  return (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z') || is_digit(x);
}

/// Returns the code point at `at` of a valid text of UTF-8, `length` bytes
/// long.
std::uint32_t code_point(std::string_view text, std::size_t at,
                         std::size_t length) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i]));
  };
  if (length == 1)
    return byte(0);
  auto result = byte(0) & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i)
    result = (result << 6) | (byte(i) & 0x3f);
  return result;
}

/// Unicode's White_Space without what is a control character, and the byte
/// order mark, which looks like nothing at all.
bool is_space(std::uint32_t x) {
  return x == ' ' || x == 0xa0 || x == 0x1680 || (x >= 0x2000 && x <= 0x200a)
         || x == 0x202f || x == 0x205f || x == 0x3000 || x == 0xfeff;
}

bool is_control(std::uint32_t x) {
  return x < 0x20 || (x >= 0x7f && x < 0xa0);
}

std::string spelt(std::uint32_t x) {
  char result[16];
  std::snprintf(result, sizeof result, "U+%04X", static_cast<unsigned>(x));
  return result;
}

/// Returns why a code point may be nowhere in a name; empty: it may.
std::string refused_anywhere(std::uint32_t x) {
  if (is_control(x))
    return "holds a control character (" + spelt(x) + ')';
  if (x == 0x2028 || x == 0x2029)
    return "holds a line separator (" + spelt(x) + ')';
  if (x == 0xfffe || x == 0xffff)
    return "holds " + spelt(x) + ", which is no character";
  return {};
}

} // namespace

std::optional<std::string> refused_name(std::string_view name,
                                        name_rules rules) {
  if (name.empty())
    return "is empty";
  if (auto why = refused_text(name, max_name_bytes);
      why || rules == name_rules::of_before)
    return why;
  std::uint32_t last = 0;
  for (std::size_t at = 0; at < name.size();) {
    const auto length = utf8_length(name, at);
    last = code_point(name, at, length);
    if (auto why = refused_anywhere(last); !why.empty())
      return why;
    if (at == 0 && is_space(last))
      return "begins with white space";
    at += length;
  }
  if (is_space(last))
    return "ends with white space";
  return {};
}

std::optional<std::string> refused_study_name(std::string_view name,
                                              name_rules rules) {
  const bool is_good
    = !name.empty() && name.size() <= max_study_name_bytes
      && is_letter_or_digit(name.front())
      && std::all_of(name.begin(), name.end(), [](char x) {
           return is_letter_or_digit(x) || x == '-' || x == '_' || x == '.';
         });
  if (!is_good)
    return "must be at most " + std::to_string(max_study_name_bytes)
           + " letters, digits, '-', '_' and '.', the first a letter or digit";
  if (rules == name_rules::today
      && std::all_of(name.begin(), name.end(), is_digit))
    return "must not be digits alone, which would name the study of that "
           "number";
  return {};
}

std::size_t bytes_of_names(const metrics& measured) {
  std::size_t result = 0;
  for (const auto& kvp : measured)
    result += kvp.first.size();
  return result;
}

std::optional<std::string> refused_metrics(const metrics& measured) {
  if (measured.size() > max_metrics)
    return std::to_string(measured.size()) + " metrics, of which "
           + std::to_string(max_metrics) + " are allowed";
  if (const auto bytes = bytes_of_names(measured); bytes > max_metrics_bytes)
    return std::to_string(measured.size()) + " metrics whose names have "
           + std::to_string(bytes) + " bytes, of which "
           + std::to_string(max_metrics_bytes) + " are allowed";
  for (const auto& [name, value] : measured)
    if (const auto why = refused_name(name))
      return "a metric whose name " + *why + ": '" + excerpt(to_utf8(name))
             + "'";
  return {};
}

} // namespace hippo
