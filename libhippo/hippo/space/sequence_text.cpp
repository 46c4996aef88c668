#include "hippo/space/sequence_text.hpp"

#include <algorithm>
#include <utility>

#include "hippo/space/space_reader.hpp"

namespace hippo {

namespace {

/// Stands for the hyper-parameter in a document that holds nothing else.
const std::string value_key = "value";
constexpr int indent = 2;

std::string as_document(const std::string& text) {
  const std::string line_begin = '\n' + std::string(indent, ' ');
  auto result = value_key + ':' + line_begin;
  for (char c : text)
    if (c == '\n')
      result += line_begin;
    else
      result += c;
  return result + '\n';
}

/// Makes findings in the document findings in the text.
std::vector<diagnostic> in_text(std::vector<diagnostic> xs) {
  for (auto& x : xs) {
    if (x.path == value_key)
      x.path.clear();
    else if (x.path.starts_with(value_key + '.'))
      x.path.erase(0, value_key.size() + 1);
    if (x.line > 1) {
      --x.line;
      x.column = std::max(1, x.column - indent);
    }
  }
  return xs;
}

} // namespace

sequence_text read_sequence(const std::string& text, const std::string& name,
                            step_t max_steps) {
  study_file file; // only for what is found
  diagnostics notes{name, file};
  sequence_text result;
  if (const auto root = read_document(as_document(text), notes)) {
    const search_space space{
      read_space(*root, {.max_steps = max_steps}, nullptr, notes)};
    const auto size = notes.errors() > 0 ? 0 : space.size().value_or(0);
    if (notes.errors() == 0 && (size == 0 || size > alternatives_max))
      notes.error(root->entries[0].value,
                  size == 0 ? "has infinitely many alternatives; a range needs "
                              "`points`"
                            : "has " + std::to_string(size)
                                + " alternatives, at most "
                                + std::to_string(alternatives_max)
                                + " are shown");
    for (std::uint64_t i = 0; notes.errors() == 0 && i < size; ++i)
      result.alternatives.push_back(space.at(i).shown.at(value_key));
  }
  result.errors = in_text(std::move(file.errors));
  result.warnings = in_text(std::move(file.warnings));
  return result;
}

} // namespace hippo
