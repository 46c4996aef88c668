#include "trial_table.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "hippo/base/csv.hpp"
#include "hippo/base/nearest.hpp"
#include "hippo/yaml/diagnostic.hpp"
#include "hippo/yaml/document.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

/// Results that are sent together.
constexpr std::size_t results_per_part = 1000;

constexpr std::size_t file_bytes_max = std::size_t{16} << 20;

bool is_csv(const std::string& path) {
  return path.ends_with(".csv") || path.ends_with(".CSV");
}

expected<std::string> read_file(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  if (!in)
    return error{errc::io_failed, path + ": " + std::strerror(errno)};
  if (text.size() > file_bytes_max)
    return error{errc::invalid_argument,
                 path + ": is larger than "
                   + std::to_string(file_bytes_max >> 20) + " MiB"};
  return text;
}

/// Returns the meaning of a cell as that of a value in a study file; lists and
/// maps are JSON.
json meaning_of(const std::string& cell) {
  if (cell.starts_with('{') || cell.starts_with('['))
    if (auto value = json::parse(cell, nullptr, false); !value.is_discarded())
      return value;
  findings found;
  diagnostics notes{"", found};
  const auto read = read_document("x: " + cell, notes);
  const auto* value = read ? read->find("x") : nullptr;
  return value != nullptr && value->type == document::kind::leaf
             && found.errors.empty()
           ? value->meaning()
           : json(cell);
}

/// Reads the rows of a table, each as a map from columns to cells.
expected<std::vector<json>> rows_of(const std::string& path,
                                    const std::string& text) {
  const auto lines = csv_lines(text);
  const auto wrong = [&](int line, const std::string& why) {
    return error{errc::invalid_argument,
                 path + ":" + std::to_string(line) + ": " + why};
  };
  if (lines.size() < 2)
    return wrong(1, "must have a line with the names of its columns and one "
                    "for each trial");
  const auto& names = lines.front().fields;
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size())
    return wrong(1, "has two columns of one name");
  std::vector<json> result;
  for (auto line = std::next(lines.begin()); line != lines.end(); ++line) {
    if (line->fields.size() != names.size())
      return wrong(line->number, "has " + std::to_string(line->fields.size())
                                   + " fields, and the first line "
                                   + std::to_string(names.size()));
    auto& row = result.emplace_back(json::object());
    for (std::size_t i = 0; i < names.size(); ++i)
      if (!line->fields[i].empty())
        row[names[i]] = meaning_of(line->fields[i]);
  }
  return result;
}

constexpr std::string_view params_prefix = "params.";

/// Returns a row as `study_handle::tell_past` takes it.
json result_of(const json& row, const std::set<std::string>& metric_names) {
  json result{{"params", json::object()}, {"metrics", json::object()}};
  for (const auto& [name, cell] : row.items())
    if (name == "step")
      result["step"] = cell;
    else if (metric_names.contains(name) && cell.is_number())
      result["metrics"][name] = cell;
    else if (name.starts_with(params_prefix))
      result["params"][name.substr(params_prefix.size())] = cell;
  return result;
}

} // namespace

expected<std::string> read_trial_table(const std::string& path,
                                       const std::string& list) {
  auto text = read_file(path);
  if (!text || !is_csv(path))
    return text;
  auto rows = rows_of(path, *text);
  if (!rows)
    return rows.failure();
  return json{{list, std::move(*rows)}}.dump();
}

expected<past_table>
read_past_table(const std::string& path,
                const std::set<std::string>& metric_names) {
  auto text = read_file(path);
  if (!text)
    return text.failure();
  if (!is_csv(path))
    return past_table{{std::move(*text)}, 0, 0};
  const auto rows = rows_of(path, *text);
  if (!rows)
    return rows.failure();
  past_table result;
  auto part = json::array();
  const auto end_part = [&] {
    if (!part.empty())
      result.parts.push_back(
        json{{"results", std::exchange(part, json::array())}}.dump());
  };
  for (const auto& row : *rows) {
    auto past = result_of(row, metric_names);
    if (past["metrics"].size() < metric_names.size()) {
      ++result.left_out;
      continue;
    }
    part.push_back(std::move(past));
    if (++result.results % results_per_part == 0)
      end_part();
  }
  end_part();
  if (result.results == 0)
    return error{errc::invalid_argument,
                 path + ": no line has a number for each of "
                   + list_of({metric_names.begin(), metric_names.end()})};
  return result;
}

} // namespace hippo
