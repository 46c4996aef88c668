#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hippo {

/// The most columns of a printed line.
inline constexpr std::size_t printed_columns_max = 80;

/// Reads the code point at `text[at]` and moves `at` behind it. A byte that is
/// no UTF-8 gives U+FFFD and counts as one.
/// REQUIRES: `at < text.size()`
char32_t next_code_point(std::string_view text, std::size_t& at);

/// Returns valid UTF-8 on one line: control characters (line ends and escape
/// sequences too) become spaces, bytes that are no UTF-8 become U+FFFD.
std::string printable(std::string_view text);

/// Returns how many columns `text` takes on a terminal: wide characters take
/// two, combining ones none.
std::size_t display_width(std::string_view text);

/// Cuts `text` to at most `columns`, the last of them `…` if it was cut.
std::string fit(std::string_view text, std::size_t columns);

/// Cuts or pads `text` to exactly `columns`, the spaces on its right.
std::string pad_right(std::string_view text, std::size_t columns);

/// Cuts or pads `text` to exactly `columns`, the spaces on its left.
std::string pad_left(std::string_view text, std::size_t columns);

/// Breaks one line of text into lines of at most `columns`, between words where
/// it can.
/// REQUIRES: `columns > 1`
std::vector<std::string> wrap(std::string_view text, std::size_t columns);

/// Cuts a text to so many lines, the last of them saying how many are left out.
/// REQUIRES: `lines_max > 0`
std::string cut_lines(const std::string& text, std::size_t lines_max);

/// Returns `value` with `digits` digits after the point.
std::string fixed(double value, int digits);

/// Returns `value` with at most `digits` significant digits.
std::string significant(double value, int digits);

/// Returns part / whole as `56 %`; `0 %` if `whole` is not positive.
std::string percent(double part, double whole);

/// Returns a number of things: `1 trial`, `27 trials`.
/// @param things their name in the singular; the plural adds an s
std::string counted(std::uint64_t count, std::string_view things);

/// Returns a span for people, in its two largest units as the page does:
/// `3.4 s`, `48 s`, `4 h 38 min`; `0 s` of what is no span.
std::string duration_text(double seconds);

} // namespace hippo
