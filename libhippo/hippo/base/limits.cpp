#include "hippo/base/limits.hpp"

#include "hippo/base/utf8.hpp"

namespace hippo {

std::optional<std::string> refused_text(std::string_view text,
                                        std::size_t bytes_max) {
  if (text.size() > bytes_max)
    return "is too long (more than " + std::to_string(bytes_max) + " bytes)";
  if (text.find('\0') != text.npos)
    return "holds a zero byte";
  if (utf8_prefix(text) != text.size())
    return "is not valid UTF-8";
  return {};
}

} // namespace hippo
