#include "hippo/report/text.hpp"

#include <algorithm>
#include <utility>

#include "hippo/base/number.hpp"

namespace hippo {

namespace {

const char* ansi(style look) {
  switch (look) {
    case style::plain:
      return "";
    case style::bold:
      return "\x1b[1m";
    case style::dim:
      return "\x1b[2m";
    case style::good:
      return "\x1b[32m";
    case style::bad:
      return "\x1b[31m";
  }
  return "";
}

std::string brief_value(const nlohmann::ordered_json& x) {
  if (x.is_number())
    return significant(x.get<double>(), 4);
  if (x.is_string())
    return x.get<std::string>();
  if (!x.is_structured())
    return x.dump();
  // A sequence is a dictionary with one key, its kind; the names of its
  // arguments are left out.
  const bool named = x.is_object() && x.size() == 1;
  std::string result = named ? x.begin().key() : std::string{};
  const auto& body = named ? *x.begin() : x;
  if (!body.is_structured())
    return result + '(' + brief_value(body) + ')';
  result += body.is_array() && !named ? '[' : '(';
  bool first = true;
  for (const auto& item : body) {
    result += first ? "" : ",";
    result += brief_value(item);
    first = false;
  }
  result += body.is_array() && !named ? ']' : ')';
  return result;
}

} // namespace

std::string plain_text(const nlohmann::ordered_json& document) {
  if (document.is_null())
    return {};
  if (document.is_string())
    return document.get<std::string>();
  if (document.is_number_float())
    return to_text(document.get<double>());
  return document.dump(-1, ' ', false,
                       nlohmann::ordered_json::error_handler_t::replace);
}

std::string brief(const nlohmann::ordered_json& params) {
  if (!params.is_object())
    return params.is_null() ? std::string{} : brief_value(params);
  std::string result;
  for (const auto& [name, value] : params.items()) {
    result += result.empty() ? "" : " ";
    result += name;
    result += '=';
    result += brief_value(value);
  }
  return result;
}

text_line& text_line::add(std::string_view text, style look) {
  parts_.push_back({printable(text), look});
  return *this;
}

std::size_t text_line::width() const {
  std::size_t result = 0;
  for (const auto& x : parts_)
    result += display_width(x.text);
  return result;
}

std::string text_line::str(std::size_t columns, bool colour) const {
  std::string plain;
  for (const auto& x : parts_)
    plain += x.text;
  const auto cut = fit(plain, columns);
  // Walks the parts again and stops where the cut line does.
  const std::string_view mark = "…";
  const bool was_cut = cut != plain;
  auto left =
    was_cut ? cut.size() - std::min(cut.size(), mark.size()) : plain.size();
  std::string result;
  for (const auto& x : parts_) {
    const auto text = x.text.substr(0, left);
    left -= text.size();
    const bool styled = colour && x.look != style::plain && !text.empty();
    result += styled ? ansi(x.look) + text + "\x1b[0m" : text;
  }
  result += was_cut && !cut.empty() ? "…\n" : "\n";
  return result;
}

} // namespace hippo
