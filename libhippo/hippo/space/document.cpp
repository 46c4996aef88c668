#include "hippo/space/document.hpp"

#include <charconv>
#include <cstdint>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "hippo/core/utf8.hpp"
#include "hippo/space/diagnostic.hpp"

namespace hippo {

namespace {

mark mark_of(const YAML::Mark& x) {
  return x.is_null() ? mark{} : mark{x.line + 1, x.column + 1};
}

/// Reads all of `text` as a `T`.
template <class T>
std::optional<T> whole(const std::string& text) {
  const auto* begin = text.data();
  const auto* end = begin + text.size();
  if (begin != end && *begin == '+')
    ++begin;
  T value{};
  const auto [stop, code] = std::from_chars(begin, end, value);
  if (code != std::errc{} || stop != end)
    return {};
  return value;
}

/// Returns where `text` stops being UTF-8, or nothing if it never does.
std::optional<mark> not_utf8(std::string_view text) {
  mark now{1, 1};
  for (std::size_t at = 0; at < text.size();) {
    const auto length = utf8_length(text, at);
    if (length == 0)
      return now;
    if (text[at] == '\n')
      now = {now.line + 1, 1};
    else
      ++now.column;
    at += length;
  }
  return {};
}

class converter {
public:
  explicit converter(diagnostics& notes) : notes_(&notes) {}

  document convert(const YAML::Node& x, std::string path, int depth) {
    document result;
    result.where = mark_of(x.Mark());
    result.path = std::move(path);
    if (++values_ > document_values_max) {
      if (values_ == document_values_max + 1)
        notes_->error(result, "the file holds more than "
                                + std::to_string(document_values_max)
                                + " values");
      return result;
    }
    if (depth > document_depth_max) {
      notes_->error(result, "is nested more than "
                              + std::to_string(document_depth_max)
                              + " levels deep");
      return result;
    }
    if (x.IsScalar()) {
      result.type = document::kind::leaf;
      result.text = x.Scalar();
      result.quoted = x.Tag() == "!";
    } else if (x.IsSequence()) {
      result.type = document::kind::list;
      for (std::size_t i = 0; i < x.size() && !full(); ++i)
        result.items.push_back(convert(
          x[i], result.path + '[' + std::to_string(i) + ']', depth + 1));
    } else if (x.IsMap()) {
      convert_map(x, result, depth);
    }
    return result;
  }

private:
  void convert_map(const YAML::Node& x, document& result, int depth) {
    result.type = document::kind::map;
    std::set<std::string> seen;
    for (const auto& pair : x) {
      if (full())
        return;
      const auto where = mark_of(pair.first.Mark());
      if (!pair.first.IsScalar()) {
        notes_->error(where, result.path, "a key must be a word");
        continue;
      }
      const auto& key = pair.first.Scalar();
      auto path = result.path.empty() ? key : result.path + '.' + key;
      if (!seen.insert(key).second) {
        notes_->error(where, path, "the key '" + key + "' is there twice");
        continue;
      }
      auto value = convert(pair.second, std::move(path), depth + 1);
      if (value.type == document::kind::nothing)
        value.where = where; // else it would be where the next thing stands
      result.entries.push_back({key, where, std::move(value)});
    }
  }

  [[nodiscard]] bool full() const { return values_ > document_values_max; }

  diagnostics* notes_;
  std::size_t values_ = 0;
};

} // namespace

const document* document::find(const std::string& key) const {
  for (const auto& x : entries)
    if (x.key == key)
      return &x.value;
  return nullptr;
}

nlohmann::ordered_json document::meaning() const {
  if (quoted)
    return text;
  if (auto number = whole<std::int64_t>(text))
    return *number;
  if (auto number = whole<double>(text))
    return *number;
  const auto infinity = std::numeric_limits<double>::infinity();
  if (text == ".inf" || text == "+.inf")
    return infinity;
  if (text == "-.inf")
    return -infinity;
  if (text == ".nan")
    return std::numeric_limits<double>::quiet_NaN();
  if (text == "true" || text == "false")
    return text == "true";
  return text;
}

std::string document::found() const {
  switch (type) {
    case kind::nothing:
      return "nothing";
    case kind::leaf:
      return "'" + text + "'";
    case kind::list:
      return items.empty() ? "an empty list" : "a list";
    case kind::map:
      return entries.empty() ? "an empty map" : "a map";
  }
  return {};
}

std::optional<document> read_document(const std::string& text,
                                      diagnostics& notes,
                                      const std::string& what) {
  if (text.size() > document_bytes_max) {
    notes.error(mark{}, "", "is larger than 1 MiB");
    return {};
  }
  if (const auto where = not_utf8(text)) {
    notes.error(*where, "", "is not valid UTF-8");
    return {};
  }
  try {
    const auto all = YAML::LoadAll(text);
    if (all.size() > 1) {
      notes.error(mark_of(all[1].Mark()), "",
                  "holds more than one document, a " + what + " is one");
      return {};
    }
    if (all.empty() || !all[0].IsMap()) {
      notes.error(mark{}, "", "must be a map that describes a " + what);
      return {};
    }
    return converter{notes}.convert(all[0], "", 0);
  } catch (const YAML::Exception& e) {
    notes.error(mark_of(e.mark), "", "is not valid YAML: " + e.msg);
    return {};
  }
}

} // namespace hippo
