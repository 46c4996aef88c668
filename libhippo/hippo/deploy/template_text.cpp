#include "hippo/deploy/template_text.hpp"

#include <cassert>
#include <cstddef>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

namespace hippo {

namespace {

constexpr std::string_view opening = "{{";
constexpr std::string_view closing = "}}";

/// The blanks before a name that a line consists of; else nothing.
std::optional<std::size_t> indent_of_name(const std::string& line) {
  const auto begin = line.find_first_not_of(' ');
  const auto end = line.find(closing);
  if (begin == std::string::npos || end == std::string::npos
      || line.compare(begin, opening.size(), opening) != 0
      || end + closing.size() != line.size())
    return {};
  return begin;
}

std::string indented(const std::string& text, std::size_t by) {
  std::string result;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);)
    result += (line.empty() ? "" : std::string(by, ' ')) + line + '\n';
  return result;
}

} // namespace

std::string filled(const std::string& text,
                   const std::map<std::string, std::string>& values) {
  std::string result;
  std::set<std::string> used;
  const auto value_of = [&](const std::string& name) {
    assert(values.contains(name));
    used.insert(name);
    return values.at(name);
  };
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    if (const auto indent = indent_of_name(line)) {
      const auto begin = *indent + opening.size();
      const auto end = line.size() - closing.size();
      result += indented(value_of(line.substr(begin, end - begin)), *indent);
      continue;
    }
    std::size_t at = 0;
    while ((at = line.find(opening, at)) != std::string::npos) {
      const auto begin = at + opening.size();
      const auto end = line.find(closing, begin);
      assert(end != std::string::npos);
      const auto value = value_of(line.substr(begin, end - begin));
      line.replace(at, end + closing.size() - at, value);
      at += value.size();
    }
    result += line + '\n';
  }
  assert(used.size() == values.size());
  return result;
}

std::string lines_of(const std::vector<std::string>& words) {
  std::string result;
  for (const auto& word : words) {
    if (!result.empty())
      result += word.starts_with("--") ? " \\\n" : " ";
    // An IPv6 address in its brackets is a pattern.
    result += word.find('[') == std::string::npos ? word : '\'' + word + '\'';
  }
  return result;
}

} // namespace hippo
