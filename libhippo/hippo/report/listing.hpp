#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/base/error.hpp"

namespace hippo {

/// How a column's values are shown in a table; other formats hold them whole.
enum class cell_look {
  text,
  number,   ///< 6 significant digits, on the right
  duration, ///< seconds, with their units, on the right
  brief,    ///< parameters, in short
};

/// A column of a listing.
struct listing_column {
  std::string name;
  cell_look look = cell_look::text;
  bool shown = true; ///< false: only where it is asked for by name
  /// Where a table has not enough room, columns are left out from the highest
  /// rank down, unless they are asked for by name; 0: never.
  int spare = 0;
  bool whole = false; ///< it is never cut
  /// It is in JSON, YAML and CSV also where tables do not show it.
  bool in_data = false;
  std::string former{}; ///< its name of before, for one release more
};

/// A listing: a row for each thing, a value for each column, null where
/// there is none.
struct listing {
  std::vector<listing_column> columns;
  std::vector<std::vector<nlohmann::ordered_json>> rows;
};

enum class listing_format { table, json, yaml, csv };

/// Returns a value as it is shown in a table, `-` for null: on one line, with
/// no control characters.
std::string show_cell(const nlohmann::ordered_json& document, cell_look look);

/// Returns a value as YAML, ended by a newline.
std::string to_yaml(const nlohmann::ordered_json& document);

/// Returns a value as JSON, two-space indented, ended by a newline.
std::string to_pretty_json(const nlohmann::ordered_json& document);

/// The columns of a listing that are shown, and their form.
struct listing_view {
  listing_format format = listing_format::table;
  std::string sort;                 ///< `COLUMN[:asc|:desc]`; empty: as it is
  std::vector<std::string> filters; ///< `COLUMN=VALUE`, or != < <= > >=
  std::vector<std::string> columns; ///< in this order; empty: those shown
  std::size_t limit = 0;            ///< rows at most; 0: all
  std::size_t width = 80;           ///< of a table, in terminal columns
};

/// Returns a listing as text, ended by a newline.
///
/// Filters come first, then the order, then the limit. Numbers are compared as
/// numbers and all else as text; equal rows keep their order; rows with no
/// value come last and pass no filter but `!=`.
///
/// Of a table that is wider than `width`, spare columns are left out. If that
/// is not enough, the widest columns of text are cut, then the widest of all.
/// It is wider only if its whole columns are. JSON is an array of objects, YAML
/// the same; CSV is RFC 4180 with a header line, and lists and objects as JSON
/// in its cells.
/// @returns `errc::invalid_argument` naming an unknown column and the nearest
///          one, or what is wrong with a filter or an order
expected<std::string> render(const listing& listing, const listing_view& view);

} // namespace hippo
