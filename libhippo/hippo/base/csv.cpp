#include "hippo/base/csv.hpp"

#include <utility>

namespace hippo {

std::vector<csv_line> csv_lines(const std::string& text) {
  std::vector<csv_line> result;
  csv_line line{1, {""}};
  int number = 1;
  bool quoted = false;
  const auto end_line = [&] {
    if (line.fields.size() > 1 || !line.fields.front().empty())
      result.push_back(std::move(line));
    line = {number, {""}};
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    number += c == '\n';
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"')
      line.fields.back() += text[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (quoted)
      line.fields.back() += c;
    else if (c == ',')
      line.fields.emplace_back();
    else if (c == '\n')
      end_line();
    else if (c != '\r')
      line.fields.back() += c;
  }
  end_line();
  return result;
}

} // namespace hippo
