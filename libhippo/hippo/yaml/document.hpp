#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "hippo/base/name.hpp"
#include "hippo/yaml/mark.hpp"

namespace hippo {

class diagnostics;

/// The most bytes that a study file may have.
inline constexpr std::size_t document_bytes_max = 1 << 20;

/// The most values that a study file may hold, aliases spelt out.
inline constexpr std::size_t document_values_max = 50'000;

/// The most bytes of all its values, and of their paths, aliases spelt out.
inline constexpr std::size_t document_spelt_bytes_max = 4 << 20;

/// How deep values may be nested.
inline constexpr int document_depth_max = 64;

/// A value of a YAML document, with its position and path. Aliases and merge
/// keys (`<<`) are spelt out, no map holds a key twice, every text can travel
/// to trainers (`base/limits.hpp`), and every key is a name (`base/name.hpp`).
struct document {
  struct entry;
  enum class kind { nothing, leaf, list, map };

  kind type = kind::nothing;
  mark where;
  std::string path; ///< `space.lr.choice[2]`; empty: the whole document
  std::string text; ///< of a leaf
  bool quoted = false;
  std::vector<document> items;
  std::vector<entry> entries;

  /// Returns the value of a map's key, or null.
  [[nodiscard]] const document* find(const std::string& key) const;

  /// Returns what a leaf means: a number (an integer if it is spelt as one), a
  /// truth value, or a word. REQUIRES: a leaf.
  [[nodiscard]] nlohmann::ordered_json meaning() const;

  /// Says what this is for a message: `'word'` (the beginning of it, if it is
  /// long), `a list`, `nothing`.
  [[nodiscard]] std::string found() const;
};

/// A key of a map and its value.
struct document::entry {
  std::string key;
  mark where; ///< of the key
  document value;
};

/// Parses a text that holds one YAML document, a map.
/// @param what the document describes, for messages
/// @param rules by which its keys are judged
/// @returns nothing, or part of it, where the text is no such document; what is
///          wrong is noted in `notes`
std::optional<document> read_document(const std::string& text,
                                      diagnostics& notes,
                                      const std::string& what = "study",
                                      name_rules rules = name_rules::today);

/// Returns what a document says, in JSON.
nlohmann::ordered_json to_json(const document& document);

/// Notes an error if a leaf is a whole number of more than 64 bits, which no
/// code can be given as it is. REQUIRES: a leaf.
/// @returns whether it is one
bool refuse_too_large(const document& document, diagnostics& notes);

} // namespace hippo
