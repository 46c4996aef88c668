#include "hippo/report/stage_text.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "hippo/report/text.hpp"

namespace hippo {

namespace {

/// Returns where `sought` stands first outside of quotes, or the end.
std::size_t find_unquoted(std::string_view text, char sought) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!quoted && text[i] == sought)
      return i;
    if (text[i] == '"')
      quoted = !quoted;
    else if (text[i] == '\\' && quoted)
      ++i;
  }
  return text.size();
}

} // namespace

config_entries parse_config(std::string_view config) {
  config_entries result;
  while (!config.empty()) {
    const auto end = find_unquoted(config, ';');
    const auto entry = config.substr(0, end);
    config.remove_prefix(std::min(end + 1, config.size()));
    if (const auto equals = find_unquoted(entry, '='); equals < entry.size())
      result.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return result;
}

std::string short_form(std::string_view form) {
  if (const auto phase = form.rfind(")@"); phase != form.npos)
    form = form.substr(0, phase + 1);
  std::string result;
  bool in_word = false; // a digit within a word begins no number: `adam2`
  while (!form.empty()) {
    const char c = form.front();
    double number = 0;
    const auto end =
      std::from_chars(form.data(), form.data() + form.size(), number);
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) || c == '-';
    if (!in_word && digit && end.ec == std::errc{}) {
      result += significant(number, 4);
      form.remove_prefix(static_cast<std::size_t>(end.ptr - form.data()));
      in_word = true;
      continue;
    }
    in_word = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    result += c;
    form.remove_prefix(1);
  }
  return result;
}

std::vector<std::string> changes(const config_entries& other,
                                 const config_entries& entries) {
  std::vector<std::string> result;
  for (const auto& [name, form] : entries) {
    const auto found = other.find(name);
    if (found == other.end() || found->second != form)
      result.push_back(name + ' ' + short_form(form));
  }
  return result;
}

} // namespace hippo
