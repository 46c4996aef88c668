#include "hippo/core/utf8.hpp"

namespace hippo {

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const auto first = byte(0);
  if (first < 0x80)
    return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  // Overlong forms, halves of surrogate pairs and what is above U+10FFFF.
  const auto second = byte(1);
  const bool bad =
    first < 0xc2 || first > 0xf4 || (first == 0xe0 && second < 0xa0)
    || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90)
    || (first == 0xf4 && second > 0x8f);
  return bad ? 0 : length;
}

std::string to_utf8(std::string_view bytes) {
  std::string result;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto length = utf8_length(bytes, at);
    if (length == 0 || bytes[at] == '\0')
      result += '?';
    else
      result += bytes.substr(at, length);
    at += length == 0 ? 1 : length;
  }
  return result;
}

} // namespace hippo
