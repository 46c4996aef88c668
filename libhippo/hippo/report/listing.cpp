#include "hippo/report/listing.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <yaml-cpp/yaml.h>

#include "hippo/base/nearest.hpp"
#include "hippo/report/csv_row.hpp"
#include "hippo/report/text.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t gap_columns = 2;
/// A column is cut no further than this; one of text, to keep others in the
/// table, no further than that.
constexpr std::size_t cut_columns_min = 4;
constexpr std::size_t text_columns_min = 16;

std::optional<double> number_in(std::string_view text) {
  double result = 0;
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, result);
  if (read.ec != std::errc{} || read.ptr != end)
    return std::nullopt;
  return result;
}

/// Returns a negative number, 0 or a positive one for `a` before, equal to or
/// behind `b`. REQUIRES: neither is null
int compare(const json& a, const json& b) {
  if (a.is_number() && b.is_number()) {
    const auto x = a.get<double>();
    const auto y = b.get<double>();
    return x < y ? -1 : x > y ? 1 : 0;
  }
  return plain_text(a).compare(plain_text(b));
}

expected<std::size_t> find_column(const listing& x, const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < x.columns.size(); ++i) {
    if (x.columns[i].name == name)
      return i;
    names.push_back(x.columns[i].name);
  }
  for (std::size_t i = 0; i < x.columns.size(); ++i)
    if (!name.empty() && x.columns[i].former == name)
      return i;
  std::string known;
  for (const auto& y : names)
    known += (known.empty() ? "" : ", ") + y;
  return error{errc::invalid_argument,
               "there is no column '" + name + "'" + did_you_mean(name, names)
                 + "; there are: " + known};
}

/// One condition on rows.
struct filter {
  std::size_t column = 0;
  std::string_view relation;
  json value;

  [[nodiscard]] bool passes(const std::vector<json>& row) const {
    const auto& x = row[column];
    if (x.is_null())
      return relation == "!=";
    // What is no number is compared as text.
    const auto order = compare(x, value);
    if (relation == "=")
      return order == 0;
    if (relation == "!=")
      return order != 0;
    if (relation == "<")
      return order < 0;
    if (relation == "<=")
      return order <= 0;
    return relation == ">" ? order > 0 : order >= 0;
  }
};

bool has_column(const listing& x, std::string_view name) {
  return std::any_of(x.columns.begin(), x.columns.end(),
                     [&](const auto& y) { return y.name == name; });
}

/// Returns where the relation of a filter stands: behind the longest name of a
/// column that it begins with, since a name may hold what looks like one.
std::size_t relation_in(const listing& x, std::string_view text) {
  const auto first = text.find_first_of("!=<>");
  auto result = first;
  for (auto at = first; at != text.npos;
       at = text.find_first_of("!=<>", at + 1))
    if (has_column(x, text.substr(0, at)))
      result = at;
  return result;
}

expected<filter> read_filter(const listing& x, const std::string& text) {
  // The longer ones first, since they begin with a shorter one.
  constexpr std::array<std::string_view, 6> relations{"!=", "<=", ">=",
                                                      "=",  "<",  ">"};
  const auto at = relation_in(x, text);
  std::string_view relation;
  if (at != text.npos)
    for (const auto y : relations)
      if (relation.empty() && text.compare(at, y.size(), y) == 0)
        relation = y;
  if (relation.empty())
    return error{errc::invalid_argument,
                 "'" + text
                   + "' is no filter: give COLUMN=VALUE, or != < <= > >= for "
                     "the ="};
  const auto column = find_column(x, text.substr(0, at));
  if (!column)
    return column.failure();
  const auto value = text.substr(at + relation.size());
  if (const auto number = number_in(value))
    return filter{*column, relation, *number};
  return filter{*column, relation, value};
}

/// Orders rows as `COLUMN[:asc|:desc]` says.
std::optional<error> sort(const listing& x, const std::string& wanted,
                          std::vector<const std::vector<json>*>& rows) {
  const auto colon
    = has_column(x, wanted) ? wanted.npos : wanted.rfind(':');
  const auto way = colon == wanted.npos ? "asc" : wanted.substr(colon + 1);
  if (way != "asc" && way != "desc")
    return error{errc::invalid_argument,
                 "'" + wanted
                   + "' is no order: give COLUMN, COLUMN:asc or COLUMN:desc"};
  const auto column = find_column(x, wanted.substr(0, colon));
  if (!column)
    return column.failure();
  const bool down = way == "desc";
  std::stable_sort(rows.begin(), rows.end(),
                   [i = *column, down](const auto* a, const auto* b) {
                     const auto& left = (*a)[i];
                     const auto& right = (*b)[i];
                     if (left.is_null() || right.is_null())
                       return !left.is_null() && right.is_null();
                     const auto order = compare(left, right);
                     return down ? order > 0 : order < 0;
                   });
  return std::nullopt;
}

bool is_on_the_right(cell_look look) {
  return look == cell_look::number || look == cell_look::duration;
}

using chosen_rows = std::vector<const std::vector<json>*>;

/// A column of a table, as it is shown.
struct table_column {
  const listing_column* what;
  std::vector<std::string> cells; ///< the first is its name
  std::size_t width;

  [[nodiscard]] bool is_text() const {
    return !what->whole && !is_on_the_right(what->look);
  }
};

std::size_t width_of(const std::vector<table_column>& xs,
                     std::size_t text_max = SIZE_MAX) {
  std::size_t result = 0;
  for (const auto& x : xs)
    result += (result == 0 ? 0 : gap_columns)
              + (x.is_text() ? std::min(x.width, text_max) : x.width);
  return result;
}

/// Leaves columns out until the rest has room, if its texts are cut.
void leave_out(std::vector<table_column>& xs, std::size_t width) {
  while (width_of(xs, text_columns_min) > width) {
    const auto most = std::ranges::max_element(
      xs, {}, [](const auto& x) { return x.what->spare; });
    if (most->what->spare == 0)
      return;
    xs.erase(most);
  }
}

/// Cuts the widest of some columns until all have room, or those are narrow.
template <class Which>
void cut(std::vector<table_column>& xs, std::size_t width, Which&& which) {
  for (auto used = width_of(xs); used > width; --used) {
    table_column* widest = nullptr;
    for (auto& x : xs)
      if (which(x) && x.width > cut_columns_min
          && (widest == nullptr || x.width > widest->width))
        widest = &x;
    if (widest == nullptr)
      return;
    --widest->width;
  }
}

std::string render_table(const listing& x,
                         const std::vector<std::size_t>& columns,
                         const chosen_rows& rows, std::size_t width,
                         bool may_leave_out) {
  std::vector<table_column> shown;
  for (const auto i : columns) {
    table_column column{&x.columns[i], {x.columns[i].name}, 0};
    for (const auto* row : rows)
      column.cells.push_back(show_cell((*row)[i], column.what->look));
    for (const auto& cell : column.cells)
      column.width = std::max(column.width, display_width(cell));
    shown.push_back(std::move(column));
  }
  if (may_leave_out)
    leave_out(shown, width);
  cut(shown, width, [](const auto& y) { return y.is_text(); });
  cut(shown, width, [](const auto& y) { return !y.what->whole; });
  // Lines are cut, but for what is whole.
  const auto last = std::find_if(shown.rbegin(), shown.rend(),
                                 [](const auto& y) { return y.what->whole; });
  const std::vector<table_column> kept{shown.begin(), last.base()};
  if (!kept.empty() && width_of(kept) >= width) {
    width = width_of(kept);
    shown = kept;
  }
  std::string result;
  for (std::size_t j = 0; j <= rows.size(); ++j) {
    std::string text;
    for (const auto& column : shown) {
      text += text.empty() ? "" : std::string(gap_columns, ' ');
      text += is_on_the_right(column.what->look)
                ? pad_left(column.cells[j], column.width)
                : pad_right(column.cells[j], column.width);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    result += fit(text, width) + '\n';
  }
  return result;
}

json as_objects(const listing& x, const std::vector<std::size_t>& columns,
                const chosen_rows& rows) {
  auto result = json::array();
  for (const auto* row : rows) {
    auto object = json::object();
    for (const auto i : columns)
      object[x.columns[i].name] = (*row)[i];
    result.push_back(std::move(object));
  }
  return result;
}

/// Emits a word: in quotes, if some reader of YAML, 1.1 or 1.2, would take
/// it for something else.
void emit_word(YAML::Emitter& out, const std::string& x) {
  static const std::set<std::string> taken{
    "",  "null", "true", "false", "yes", "no",       "on", "off",
    "y", "n",    "nan",  "inf",   "~",   "infinity", "<<", "="};
  std::string small;
  for (const auto c : x)
    small += 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const bool is_plain = !taken.contains(small)
                        && std::string_view{"0123456789+-."}.find(x[0])
                             == std::string_view::npos;
  out << (is_plain ? YAML::Auto : YAML::DoubleQuoted) << x;
}

void emit(YAML::Emitter& out, const json& x) {
  if (x.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [name, value] : x.items()) {
      out << YAML::Key;
      emit_word(out, name);
      out << YAML::Value;
      emit(out, value);
    }
    out << YAML::EndMap;
  } else if (x.is_array()) {
    out << YAML::BeginSeq;
    for (const auto& value : x)
      emit(out, value);
    out << YAML::EndSeq;
  } else if (x.is_string()) {
    emit_word(out, x.get<std::string>());
  } else if (x.is_null()
             || (x.is_number_float() && !std::isfinite(x.get<double>()))) {
    out << YAML::Null;
  } else {
    out << x.dump(); // 1.0 has a point
  }
}

std::string render_csv(const listing& x,
                       const std::vector<std::size_t>& columns,
                       const chosen_rows& rows) {
  std::vector<std::string> fields;
  for (const auto i : columns)
    fields.push_back(x.columns[i].name);
  auto result = csv_row(fields);
  for (const auto* row : rows) {
    fields.clear();
    for (const auto i : columns)
      fields.push_back(plain_text((*row)[i]));
    result += csv_row(fields);
  }
  return result;
}

} // namespace

std::string to_yaml(const json& x) {
  YAML::Emitter out;
  emit(out, x);
  return std::string{out.c_str()} + '\n';
}

std::string to_pretty_json(const json& x) {
  return x.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

std::string show_cell(const json& x, cell_look look) {
  if (x.is_null())
    return "-";
  if (look == cell_look::number && x.is_number_float())
    return significant(x.get<double>(), 6);
  if (look == cell_look::duration && x.is_number())
    return duration_text(x.get<double>());
  return printable(look == cell_look::brief ? brief(x) : plain_text(x));
}

expected<std::string> render(const listing& listing, const listing_view& view) {
  std::vector<filter> filters;
  for (const auto& text : view.filters) {
    auto y = read_filter(listing, text);
    if (!y)
      return y.failure();
    filters.push_back(std::move(*y));
  }
  std::vector<std::size_t> columns;
  for (const auto& name : view.columns) {
    const auto i = find_column(listing, name);
    if (!i)
      return i.failure();
    columns.push_back(*i);
  }
  const bool is_data = view.format != listing_format::table;
  if (columns.empty())
    for (std::size_t i = 0; i < listing.columns.size(); ++i)
      if (listing.columns[i].shown || (is_data && listing.columns[i].in_data))
        columns.push_back(i);
  chosen_rows rows;
  for (const auto& row : listing.rows)
    if (std::all_of(filters.begin(), filters.end(),
                    [&row](const filter& y) { return y.passes(row); }))
      rows.push_back(&row);
  if (!view.sort.empty())
    if (const auto why = sort(listing, view.sort, rows))
      return *why;
  if (view.limit > 0 && rows.size() > view.limit)
    rows.resize(view.limit);
  switch (view.format) {
    case listing_format::json:
      return to_pretty_json(as_objects(listing, columns, rows));
    case listing_format::yaml:
      return to_yaml(as_objects(listing, columns, rows));
    case listing_format::csv:
      return render_csv(listing, columns, rows);
    case listing_format::table:
      break;
  }
  return render_table(listing, columns, rows, view.width, view.columns.empty());
}

} // namespace hippo
