#include "hippo/space/old_spellings.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace hippo {

namespace {

using kind = document::kind;

document::entry* find_entry(document& map, const std::string& key) {
  const auto i =
    std::find_if(map.entries.begin(), map.entries.end(),
                 [&](const auto& entry) { return entry.key == key; });
  return i == map.entries.end() ? nullptr : &*i;
}

/// Removes the entry of a key.
document::entry take(document& map, const std::string& key) {
  auto* entry = find_entry(map, key);
  auto result = std::move(*entry);
  map.entries.erase(map.entries.begin() + (entry - map.entries.data()));
  return result;
}

/// Gives a value, and all values in it, the path of another key.
void move_path(document& value, std::size_t old_length,
               const std::string& path) {
  value.path.replace(0, old_length, path);
  for (auto& item : value.items)
    move_path(item, old_length, path);
  for (auto& entry : value.entries)
    move_path(entry.value, old_length, path);
}

/// Returns a text as an extended regular expression that matches it, or nothing
/// if a shell's single quotes cannot hold it.
std::optional<std::string> as_pattern(const std::string& text) {
  std::string result;
  for (const auto letter : text) {
    if (letter == '\'' || letter == '\n' || letter == '/' || letter == '&')
      return std::nullopt;
    if (std::string_view{"\\.[]{}()*+?^$|"}.find(letter)
        != std::string_view::npos)
      result += '\\';
    result += letter;
  }
  return result;
}

class key_renamer {
public:
  key_renamer(document& study, diagnostics& notes)
    : study_(study), notes_(notes) {}

  void run() {
    rename_steps();
    rename_every();
    rename_concurrent();
  }

private:
  void rename_steps() {
    auto* steps = find_entry(study_, "steps");
    if (steps == nullptr || refuse_both(study_, "max_steps", study_, "steps"))
      return;
    auto* max = steps->value.type == kind::map ? find_entry(steps->value, "max")
                                               : nullptr;
    if (max == nullptr) {
      warn(*steps, "steps", "max_steps", "s/^steps:/max_steps:/");
      rename(*steps, "max_steps");
      return;
    }
    for (const auto& entry : steps->value.entries)
      if (entry.key != "max")
        notes_.unknown_key(entry, "key", {"max"});
    warn(*steps, "steps.max", "max_steps", steps_command(*steps, *max));
    auto value = std::move(max->value);
    steps->value = std::move(value);
    rename(*steps, "max_steps");
  }

  /// Returns the commands of sed, after the line of `steps`, that rename
  /// `steps.max`; empty: one line of sed cannot.
  static std::string steps_command(const document::entry& steps,
                                   const document::entry& max) {
    if (max.where.line == steps.where.line)
      return R"(s/steps: *\{ *max: *(.*[^ ]) *\}/max_steps: \1/)";
    if (steps.value.where.line != max.where.line)
      return {}; // braces over several lines
    return "s/^steps://; " + std::to_string(max.where.line)
           + "s/^ *max:/max_steps:/";
  }

  void rename_every() {
    auto* objective = find_entry(study_, "objective");
    if (objective == nullptr)
      return;
    auto& value = objective->value;
    if (value.type == kind::map)
      rename_every_of(value);
    for (auto& goal : value.items)
      if (goal.type == kind::map)
        rename_every_of(goal);
    if (!every_)
      return;
    every_->value.path = every_->key = "eval_every";
    study_.entries.push_back(std::move(*every_));
  }

  void rename_every_of(document& goal) {
    if (goal.find("every") == nullptr
        || refuse_both(study_, "eval_every", goal, "every"))
      return;
    auto taken = take(goal, "every");
    if (!every_) {
      warn(taken, "every", "eval_every, a key beside 'objective'",
           every_command(taken.value));
      every_ = std::move(taken);
    } else if (taken.value.text != every_->value.text) {
      notes_.error(taken.value, "must be " + every_->value.text
                                  + " as for the metric before it, since all "
                                    "are measured together, found "
                                  + taken.value.found());
    }
  }

  /// As `steps_command`, for `every`. The new key is the last line.
  [[nodiscard]] std::string every_command(const document& every) const {
    const auto text = as_pattern(every.text);
    const auto& first = study_.entries.front();
    const auto has_braces = study_.where.line != first.where.line
                            || study_.where.column != first.where.column;
    if (!text || every.type != kind::leaf || every.quoted || has_braces)
      return {};
    return "s/, *every: *" + *text + "\\b|\\bevery: *" + *text
           + " *,? *//; $a eval_every: " + every.text;
  }

  void rename_concurrent() {
    auto* algorithm = find_entry(study_, "algorithm");
    if (algorithm == nullptr || algorithm->value.type != kind::map)
      return;
    for (auto& named : algorithm->value.entries) {
      auto& options = named.value;
      auto* old = find_entry(options, "concurrent");
      if (old == nullptr
          || refuse_both(options, "max_concurrent", options, "concurrent"))
        continue;
      warn(*old, "concurrent", "max_concurrent",
           R"(s/\bconcurrent:/max_concurrent:/)");
      rename(*old, "max_concurrent");
    }
  }

  /// Whether a file has both names of a key, which is an error; the old one is
  /// then removed.
  bool refuse_both(const document& map, const std::string& now,
                   document& old_map, const std::string& before) {
    const auto* other = map.find(now);
    if (other == nullptr)
      return false;
    const auto line = other->where.line; // it moves if the maps are one
    const auto old = take(old_map, before);
    notes_.error(old.where, old.value.path,
                 "is the old name of " + now + ", which line "
                   + std::to_string(line) + " gives too: remove '" + before
                   + "' here");
    return true;
  }

  /// Warns of an old name.
  /// @param command of sed, after the number of the name's line
  void warn(const document::entry& old, const std::string& before,
            const std::string& now, const std::string& command) {
    notes_.warn(old.where, old.value.path,
                "'" + before + "' is now " + now
                  + "; the next release refuses the old name. "
                  + (command.empty() ? "Rename it"
                                     : "Replace it: sed -E -i '"
                                         + std::to_string(old.where.line)
                                         + command + "' " + notes_.file()));
  }

  static void rename(document::entry& entry, const std::string& now) {
    const auto& path = entry.value.path;
    const auto dot = path.rfind('.');
    // `steps.max` moves up to the root.
    const auto parent = now == "max_steps" || dot == path.npos
                          ? std::string{}
                          : path.substr(0, dot + 1);
    entry.key = now;
    move_path(entry.value, path.size(), parent + now);
  }

  document& study_;
  diagnostics& notes_;
  std::optional<document::entry> every_; ///< the first that was found
};

} // namespace

void rename_old_keys(document& study, diagnostics& notes) {
  key_renamer{study, notes}.run();
}

} // namespace hippo
