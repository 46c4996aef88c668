#include "hippo/service/trace/trace_json.hpp"

#include <array>

namespace hippo::trace {

void writer::put_double(double value) {
  if (std::isnan(value)) {
    text_ += "\"nan\"";
  } else if (std::isinf(value)) {
    text_ += value > 0 ? "\"inf\"" : "\"-inf\"";
  } else if (value == 0) {
    text_ += std::signbit(value) ? "-0.0" : "0";
  } else {
    std::array<char, 32> room{};
    const auto end =
      std::to_chars(room.data(), room.data() + room.size(), value).ptr;
    text_.append(room.data(), end);
  }
}

void writer::put_string(const std::string& text) {
  constexpr auto digits = "0123456789abcdef";
  text_ += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e) {
      text_ += "\\u00";
      text_ += digits[byte >> 4];
      text_ += digits[byte & 15];
    } else {
      if (c == '"' || c == '\\')
        text_ += '\\';
      text_ += c;
    }
  }
  text_ += '"';
}

double reader::get_double() const {
  if (!from_.is_string())
    return from_.get<double>();
  const auto& word = from_.get_ref<const std::string&>();
  using limits = std::numeric_limits<double>;
  if (word == "nan")
    return limits::quiet_NaN();
  if (word == "inf" || word == "-inf")
    return word == "inf" ? limits::infinity() : -limits::infinity();
  throw malformed{"'" + word + "' is no number"};
}

/// Characters above 127 are two bytes of UTF-8 by now.
std::string reader::get_string() const {
  const auto& text = from_.get_ref<const std::string&>();
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      result += text[i];
      continue;
    }
    if ((byte != 0xc2 && byte != 0xc3) || i + 1 == text.size())
      throw malformed{"a string has a character above 255"};
    const auto low = static_cast<unsigned char>(text[++i]);
    result += static_cast<char>((byte & 3) << 6 | (low & 0x3f));
  }
  return result;
}

} // namespace hippo::trace
