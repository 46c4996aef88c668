#include "hippo/base/utf8.hpp"

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

std::size_t utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto length = utf8_length(text, at);
    if (length == 0)
      break;
    at += length;
  }
  return at;
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

std::string excerpt(const std::string& text) {
  constexpr std::size_t shown_bytes_max = 100;
  if (text.size() <= shown_bytes_max)
    return text;
  auto end = shown_bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  return text.substr(0, end) + "...";
}

} // namespace hippo
