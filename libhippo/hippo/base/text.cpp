#include "hippo/base/text.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

namespace hippo {

namespace {

constexpr char32_t replacement = 0xFFFD;

void append(std::string& out, char32_t c) {
  const auto byte = [&out](char32_t x) { out += static_cast<char>(x); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0 | (c >> 6));
    byte(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    byte(0xE0 | (c >> 12));
    byte(0x80 | ((c >> 6) & 0x3F));
    byte(0x80 | (c & 0x3F));
  } else {
    byte(0xF0 | (c >> 18));
    byte(0x80 | ((c >> 12) & 0x3F));
    byte(0x80 | ((c >> 6) & 0x3F));
    byte(0x80 | (c & 0x3F));
  }
}

using range = std::pair<char32_t, char32_t>;

/// Combining and invisible characters.
constexpr std::array zero_width{range{0x0300, 0x036F}, range{0x200B, 0x200F},
                                range{0x20D0, 0x20FF}, range{0xFE00, 0xFE0F},
                                range{0xFEFF, 0xFEFF}};

/// East Asian wide characters and emoji.
constexpr std::array double_width{
  range{0x1100, 0x115F},   range{0x2E80, 0xA4CF},   range{0xAC00, 0xD7A3},
  range{0xF900, 0xFAFF},   range{0xFE30, 0xFE6F},   range{0xFF00, 0xFF60},
  range{0xFFE0, 0xFFE6},   range{0x1F300, 0x1F64F}, range{0x1F680, 0x1F6FF},
  range{0x1F900, 0x1FAFF}, range{0x20000, 0x3FFFD}};

template <class Ranges>
bool within(const Ranges& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(), [c](const range& x) {
    return x.first <= c && c <= x.second;
  });
}

std::size_t width_of(char32_t c) {
  if (within(zero_width, c))
    return 0;
  return within(double_width, c) ? 2 : 1;
}

} // namespace

char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [text](std::size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  const unsigned lead = byte(at);
  ++at;
  if (lead < 0x80)
    return lead;
  const std::size_t more = lead >= 0xF0 && lead < 0xF5   ? 3
                           : lead >= 0xE0 && lead < 0xF0 ? 2
                           : lead >= 0xC2 && lead < 0xE0 ? 1
                                                         : 0;
  if (more == 0 || at + more > text.size())
    return replacement;
  char32_t c = lead & (0x3FU >> more);
  for (std::size_t i = 0; i < more; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U)
      return replacement;
    c = (c << 6) | (byte(at + i) & 0x3FU);
  }
  const bool overlong = (more == 2 && c < 0x800) || (more == 3 && c < 0x10000);
  if (overlong || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
    return replacement;
  at += more;
  return c;
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto c = next_code_point(text, at);
    const bool control =
      c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xFFFE || c == 0xFFFF;
    append(result, control ? U' ' : c);
  }
  return result;
}

std::size_t display_width(std::string_view text) {
  std::size_t result = 0;
  for (std::size_t at = 0; at < text.size();)
    result += width_of(next_code_point(text, at));
  return result;
}

std::string fit(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns)
    return std::string{text};
  if (columns == 0)
    return {};
  std::size_t used = 0;
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size(); end = at) {
    used += width_of(next_code_point(text, at));
    if (used > columns - 1)
      break;
  }
  return std::string{text.substr(0, end)} + "…";
}

std::string pad_right(std::string_view text, std::size_t columns) {
  auto result = fit(text, columns);
  result.append(columns - display_width(result), ' ');
  return result;
}

std::string pad_left(std::string_view text, std::size_t columns) {
  const auto cut = fit(text, columns);
  return std::string(columns - display_width(cut), ' ') + cut;
}

std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
  assert(columns > 1);
  std::vector<std::string> result;
  while (!text.empty()) {
    std::size_t end = 0;   // of what fits
    std::size_t space = 0; // the last one in there
    for (std::size_t at = 0; at < text.size(); end = at) {
      if (text[at] == ' ')
        space = at;
      static_cast<void>(next_code_point(text, at));
      if (display_width(text.substr(0, at)) > columns)
        break;
      if (at == text.size())
        space = 0;
    }
    const auto cut = space > 0 ? space : end;
    result.emplace_back(text.substr(0, cut));
    text.remove_prefix(cut);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return result;
}

std::string cut_lines(const std::string& text, std::size_t lines_max) {
  const auto lines = static_cast<std::size_t>(
    std::count(text.begin(), text.end(), '\n'));
  if (lines <= lines_max)
    return text;
  std::size_t end = 0;
  for (std::size_t i = 0; i + 1 < lines_max; ++i)
    end = text.find('\n', end) + 1;
  return text.substr(0, end) + "and "
         + std::to_string(lines + 1 - lines_max) + " more\n";
}

std::string fixed(double value, int digits) {
  std::array<char, 400> buf{};
  const auto end = std::to_chars(buf.data(), buf.data() + buf.size(), value,
                                 std::chars_format::fixed, digits);
  return {buf.data(), end.ptr};
}

std::string significant(double value, int digits) {
  std::array<char, 400> buf{};
  const bool whole = std::abs(value) < 1e15 && std::nearbyint(value) == value;
  const auto end = whole
                     ? std::to_chars(buf.data(), buf.data() + buf.size(),
                                     value + 0.0, std::chars_format::fixed)
                     : std::to_chars(buf.data(), buf.data() + buf.size(), value,
                                     std::chars_format::general, digits);
  return {buf.data(), end.ptr};
}

std::string percent(double part, double whole) {
  return fixed(whole > 0 ? 100 * part / whole : 0, 0) + " %";
}

std::string counted(std::uint64_t count, std::string_view things) {
  return std::to_string(count).append(" ").append(things).append(
    count == 1 ? "" : "s");
}

std::string duration_text(double seconds) {
  struct unit {
    std::uint64_t seconds;
    const char* name;
  };
  static constexpr unit units[] = {
    {86400, " d"}, {3600, " h"}, {60, " min"}, {1, " s"}};
  if (!std::isfinite(seconds) || seconds < 0 || seconds >= 1e15)
    return "0 s";
  if (seconds < .1)
    return significant(seconds, 2) + " s";
  if (seconds < 9.95)
    return significant(std::round(seconds * 10) / 10, 2) + " s";
  if (seconds < 59.5)
    return fixed(seconds, 0) + " s";
  const auto largest = [](std::uint64_t x) {
    return std::ranges::find_if(units,
                                [x](const unit& y) { return x >= y.seconds; });
  };
  auto left = static_cast<std::uint64_t>(std::llround(seconds));
  // Rounding may complete a larger unit: 59 min 59.7 s is 1 h.
  const auto step = std::next(largest(left))->seconds;
  left = (left + step / 2) / step * step;
  const auto unit = largest(left);
  const auto next = std::next(unit);
  auto result = std::to_string(left / unit->seconds) + unit->name;
  if (const auto rest = left % unit->seconds / next->seconds; rest > 0)
    result += ' ' + std::to_string(rest) + next->name;
  return result;
}

} // namespace hippo
