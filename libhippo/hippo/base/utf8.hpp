#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hippo {

/// Returns the length of the UTF-8 character at `at`, or 0 if there is none.
std::size_t utf8_length(std::string_view text, std::size_t at);

/// Returns how many bytes of a text are UTF-8 before the first that is not; all
/// of them, if there is none.
std::size_t utf8_prefix(std::string_view text);

/// Returns bytes as UTF-8 text: those that are none, and zero bytes, become
/// question marks.
std::string to_utf8(std::string_view bytes);

/// Returns the beginning of a text that is long, for a message.
std::string excerpt(const std::string& text);

} // namespace hippo
