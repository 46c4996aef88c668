#include "hippo/yaml/document.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "hippo/base/limits.hpp"
#include "hippo/base/utf8.hpp"
#include "hippo/yaml/diagnostic.hpp"

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
  // Words are no numbers, though from_chars takes `inf` and `nan` for some.
  if (text.find_first_not_of("+-.0123456789eE") != std::string::npos)
    return {};
  if (begin != end && *begin == '+' && ++begin != end && *begin == '-')
    return {};
  T value{};
  const auto [stop, code] = std::from_chars(begin, end, value);
  if (code != std::errc{} || stop != end)
    return {};
  return value;
}

/// Returns where in `text` byte `offset` stands. REQUIRES: UTF-8 up to there.
mark mark_at(std::string_view text, std::size_t offset) {
  mark result{1, 1};
  for (std::size_t at = 0; at < offset; at += utf8_length(text, at))
    if (text[at] == '\n')
      result = {result.line + 1, 1};
    else
      ++result.column;
  return result;
}

/// Returns a tab in the margin of the line in which YAML cannot be read any
/// more, or of the line before it.
std::optional<mark> tab_before(std::string_view text, const YAML::Mark& end) {
  std::optional<mark> result;
  int line = 1;
  for (std::size_t at = 0; at < text.size() && line <= end.line + 1; ++line) {
    const auto stop = std::min(text.find('\n', at), text.size());
    const auto margin
      = text.substr(at, std::min(text.find_first_not_of(" \t", at), stop) - at);
    const auto is_blank = at + margin.size() == stop;
    if (const auto tab = margin.find('\t');
        line >= end.line && !is_blank && tab != margin.npos)
      result = mark{line, static_cast<int>(tab) + 1};
    at = stop + 1;
  }
  return result;
}

/// What a text of YAML holds, in order: a tree would cost ten times as much,
/// before anybody could count what is in it.
struct yaml_event {
  enum class kind { nothing, leaf, alias, list, map, end };

  kind type = kind::nothing;
  mark where;
  std::string text;      ///< of a leaf
  bool quoted = false;   ///< likewise
  YAML::anchor_t of = 0; ///< of an alias: what it stands for
};

/// Thrown to leave the parser.
struct found_wrong {
  mark where;
  std::string message;
};

/// Keeps the events of one document, within the limits of a study file.
class event_list : public YAML::EventHandler {
public:
  std::vector<yaml_event> events;
  std::map<YAML::anchor_t, std::size_t> anchors; ///< to the event's index

  /// @param what the document describes, for messages
  explicit event_list(const std::string& what) : what_(&what) {}

  void OnDocumentStart(const YAML::Mark&) override { ++documents_; }

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& at, YAML::anchor_t anchor) override {
    add({yaml_event::kind::nothing, mark_of(at), {}, false, 0}, anchor);
  }

  void OnAlias(const YAML::Mark& at, YAML::anchor_t anchor) override {
    add({yaml_event::kind::alias, mark_of(at), {}, false, anchor}, 0);
  }

  void OnScalar(const YAML::Mark& at, const std::string& tag,
                YAML::anchor_t anchor, const std::string& text) override {
    add({yaml_event::kind::leaf, mark_of(at), text, tag == "!", 0}, anchor);
  }

  void OnSequenceStart(const YAML::Mark& at, const std::string&,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(yaml_event::kind::list, at, anchor);
  }

  void OnSequenceEnd() override { end(); }

  void OnMapStart(const YAML::Mark& at, const std::string&,
                  YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    begin(yaml_event::kind::map, at, anchor);
  }

  void OnMapEnd() override { end(); }

private:
  /// Of values, keys and ends.
  static constexpr std::size_t events_max = 3 * document_values_max;

  void add(yaml_event x, YAML::anchor_t anchor) {
    if (documents_ > 1)
      throw found_wrong{x.where, "holds more than one document, a " + *what_
                                   + " is one"};
    if (events.size() == events_max)
      throw found_wrong{x.where, "the file holds more than "
                                   + std::to_string(document_values_max)
                                   + " values"};
    if (anchor != 0)
      anchors[anchor] = events.size();
    events.push_back(std::move(x));
  }

  void begin(yaml_event::kind type, const YAML::Mark& at,
             YAML::anchor_t anchor) {
    add({type, mark_of(at), {}, false, 0}, anchor);
    if (++depth_ > document_depth_max + 1)
      throw found_wrong{mark_of(at), "is nested more than "
                                       + std::to_string(document_depth_max)
                                       + " levels deep"};
  }

  void end() {
    --depth_;
    add({yaml_event::kind::end, {}, {}, false, 0}, 0);
  }

  const std::string* what_;
  int documents_ = 0;
  int depth_ = 0;
};

/// Makes a document of events. Aliases are spelt out, so it is here that what
/// they come to is counted.
class converter {
public:
  converter(const event_list& list, diagnostics& notes, name_rules rules)
    : list_(&list), notes_(&notes), rules_(rules) {}

  document convert() {
    std::size_t at = 0;
    return convert(at, "", 0);
  }

private:
  using kind = yaml_event::kind;

  [[nodiscard]] const yaml_event& event(std::size_t at) const {
    return list_->events[at];
  }

  /// Where what an alias stands for begins; else `at` itself.
  [[nodiscard]] std::size_t target(std::size_t at) const {
    const auto& x = event(at);
    return x.type == kind::alias ? list_->anchors.at(x.of) : at;
  }

  /// Converts the value at `at`, and moves `at` behind it.
  document convert(std::size_t& at, std::string path, int depth) {
    if (event(at).type == kind::alias) {
      auto there = target(at++);
      return convert(there, std::move(path), depth);
    }
    const auto& x = event(at++);
    document result;
    result.where = x.where;
    result.path = std::move(path);
    if (!count(result, x, depth))
      return result;
    switch (x.type) {
      case kind::leaf:
        result.type = document::kind::leaf;
        if (const auto why = refused_text(x.text, max_text_bytes))
          refuse(result.where, result.path, *why);
        else
          result.text = x.text;
        result.quoted = x.quoted;
        break;
      case kind::list:
        result.type = document::kind::list;
        while (!full_ && event(at).type != kind::end)
          result.items.push_back(convert(
            at,
            result.path + '[' + std::to_string(result.items.size()) + ']',
            depth + 1));
        ++at;
        break;
      case kind::map:
        result.type = document::kind::map;
        convert_entries(at, result, depth);
        break;
      default:
        break;
    }
    return result;
  }

  /// A merge key of a map: the entries of other maps that come in its place.
  struct merge {
    std::size_t from; ///< its value's event
    std::size_t place; ///< among the map's own entries
    mark where;
  };

  void convert_entries(std::size_t& at, document& result, int depth) {
    std::set<std::string, std::less<>> seen;
    std::vector<merge> merges;
    for (; !full_ && event(at).type != kind::end;) {
      const auto& key = event(target(at));
      if (key.type != kind::leaf) {
        notes_->error(key.where, result.path, "a key must be a word");
        skip(at);
        skip(at);
        continue;
      }
      ++at;
      if (const auto why = refused_name(key.text, rules_)) {
        refuse(key.where, result.path, "a key " + *why);
        skip(at);
        continue;
      }
      if (key.text == "<<" && !key.quoted) {
        merges.push_back({at, result.entries.size(), key.where});
        skip(at);
        continue;
      }
      auto path = result.path.empty() ? key.text
                                      : result.path + '.' + key.text;
      if (!seen.insert(key.text).second) {
        notes_->error(key.where, path,
                      "the key '" + key.text + "' is there twice");
        skip(at);
        continue;
      }
      auto value = convert(at, std::move(path), depth + 1);
      if (value.type == document::kind::nothing)
        value.where = key.where; // else where the next thing stands
      result.entries.push_back({key.text, key.where, std::move(value)});
    }
    ++at;
    if (merges.size() > 1)
      notes_->error(merges[1].where, result.path,
                    "the merge key '<<' is there twice: give it a list of "
                    "maps");
    else if (!merges.empty())
      add_merged(merges[0], result, seen, depth);
  }

  /// Adds what a merge key brings, as YAML 1.1 has it: the entries of a map, or
  /// of several in a list, whose keys neither the map itself nor an earlier one
  /// of the list has.
  void add_merged(const merge& x, document& to,
                  std::set<std::string, std::less<>>& seen, int depth) {
    auto from = x.from;
    auto brought = convert(from, to.path, depth + 1); // it may merge itself
    auto* maps = &brought;
    std::size_t count = 1;
    if (brought.type == document::kind::list) {
      maps = brought.items.data();
      count = brought.items.size();
      for (auto& item : brought.items)
        respell(item, item.path.size(), to.path);
    }
    std::vector<document::entry> added;
    for (std::size_t i = 0; i < count; ++i)
      if (maps[i].type == document::kind::map) {
        for (auto& entry : maps[i].entries)
          if (seen.insert(entry.key).second)
            added.push_back(std::move(entry));
      } else if (!full_) {
        notes_->error(x.where, to.path,
                      "the merge key '<<' takes a map or a list of maps (write "
                      "\"<<\" for a name), found "
                        + maps[i].found());
      }
    to.entries.insert(to.entries.begin() + static_cast<std::ptrdiff_t>(x.place),
                      std::make_move_iterator(added.begin()),
                      std::make_move_iterator(added.end()));
  }

  /// Puts `path` in place of the first `length` bytes of all paths.
  static void respell(document& x, std::size_t length,
                      const std::string& path) {
    x.path.replace(0, length, path);
    if (path.empty() && x.path.starts_with('.'))
      x.path.erase(0, 1);
    for (auto& item : x.items)
      respell(item, length, path);
    for (auto& entry : x.entries)
      respell(entry.value, length, path);
  }

  /// Moves `at` behind a value.
  void skip(std::size_t& at) const {
    int depth = 0;
    do {
      const auto type = event(at++).type;
      if (type == kind::list || type == kind::map)
        ++depth;
      else if (type == kind::end)
        --depth;
    } while (depth > 0);
  }

  /// Counts a value. @returns false after noting that it is too much
  bool count(const document& x, const yaml_event& from, int depth) {
    if (full_)
      return false;
    bytes_ += x.path.size() + from.text.size();
    full_ = true;
    if (depth > document_depth_max)
      notes_->error(x, "is nested more than "
                         + std::to_string(document_depth_max)
                         + " levels deep");
    else if (++values_ > document_values_max)
      notes_->error(x, "the file holds more than "
                         + std::to_string(document_values_max) + " values");
    else if (bytes_ > document_spelt_bytes_max)
      notes_->error(x.where, "",
                    "the file is larger than "
                      + std::to_string(document_spelt_bytes_max >> 20)
                      + " MiB where every value stands with its path and in "
                        "place of its aliases");
    else
      full_ = false;
    return !full_;
  }

  void refuse(const mark& at, const std::string& path, std::string why) {
    if (why.ends_with("UTF-8"))
      why += " once its escapes are read: write the characters themselves";
    notes_->error(at, path, std::move(why));
  }

  const event_list* list_;
  diagnostics* notes_;
  name_rules rules_;
  std::size_t values_ = 0;
  std::size_t bytes_ = 0;
  bool full_ = false;
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
  if (auto number = whole<std::uint64_t>(text))
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

bool refuse_too_large(const document& document, diagnostics& notes) {
  if (document.quoted || !document.meaning().is_number_float()
      || document.text.find_first_not_of("+-0123456789") != std::string::npos)
    return false;
  notes.error(document,
              "is a whole number of more than 64 bits: write it with a "
              "point, or in quotes, found "
                + document.found());
  return true;
}

nlohmann::ordered_json to_json(const document& document) {
  nlohmann::ordered_json result;
  switch (document.type) {
    case document::kind::nothing:
      break;
    case document::kind::leaf:
      return document.meaning();
    case document::kind::list:
      result = nlohmann::ordered_json::array();
      for (const auto& item : document.items)
        result.push_back(to_json(item));
      break;
    case document::kind::map:
      result = nlohmann::ordered_json::object();
      for (const auto& entry : document.entries)
        result[entry.key] = to_json(entry.value);
      break;
  }
  return result;
}

std::string document::found() const {
  switch (type) {
    case kind::nothing:
      return "nothing";
    case kind::leaf:
      return "'" + excerpt(text) + "'";
    case kind::list:
      return items.empty() ? "an empty list" : "a list";
    case kind::map:
      return entries.empty() ? "an empty map" : "a map";
  }
  return {};
}

std::optional<document> read_document(const std::string& text,
                                      diagnostics& notes,
                                      const std::string& what,
                                      name_rules rules) {
  if (text.size() > document_bytes_max) {
    notes.error(mark{}, "", "is larger than 1 MiB");
    return {};
  }
  const auto good = std::min(utf8_prefix(text), text.find('\0'));
  if (good < text.size()) {
    notes.error(mark_at(text, good), "",
                text[good] == '\0' ? "holds a zero byte"
                                   : "is not valid UTF-8");
    return {};
  }
  try {
    std::istringstream in{text};
    YAML::Parser parser{in};
    event_list list{what};
    while (parser.HandleNextDocument(list)) {
    }
    if (list.events.empty() || list.events[0].type != yaml_event::kind::map) {
      notes.error(mark{}, "", "must be a map that describes a " + what);
      return {};
    }
    return converter{list, notes, rules}.convert();
  } catch (const found_wrong& x) {
    notes.error(x.where, "", x.message);
  } catch (const YAML::Exception& e) {
    if (const auto tab = tab_before(text, e.mark))
      notes.error(*tab, "",
                  "a tab is no indentation in YAML: use spaces");
    else
      notes.error(mark_of(e.mark), "", "is not valid YAML: " + e.msg);
  }
  return {};
}

} // namespace hippo
