#include "hippo/train/torch/data/csv_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "hippo/base/csv.hpp"
#include "hippo/train/torch/data/checked_files.hpp"

namespace hippo {

namespace {

constexpr std::uint64_t csv_bytes_max = std::uint64_t{256} << 20;

[[noreturn]] void refuse(const std::string& path, int line,
                         const std::string& why) {
  throw std::invalid_argument(path + ':' + std::to_string(line) + ": " + why);
}

/// Returns a field's number. Throws `std::invalid_argument` if it has none.
/// @param column of the field, from 0
float number_in(const std::string& field, const std::string& path, int line,
                const std::string& name) {
  const auto number = number_from<float>(field);
  if (!number || !std::isfinite(*number))
    refuse(path, line,
           "column '" + name + "': must be a finite number, found '" + field
             + "'");
  return *number;
}

} // namespace

csv_table read_csv(const std::string& path, const std::string& target,
                   const std::string& sha256) {
  if (path.empty())
    throw std::invalid_argument("data.file: must name a CSV file");
  auto lines = csv_lines(
    read_checked({path}, "data.file", sha256, csv_bytes_max).front());
  if (lines.size() < 2)
    refuse(path, 1, "must have a line of names and one line for each row");
  const auto header = std::move(lines.front().fields);
  const auto found = std::ranges::find(header, target);
  if (found == header.end())
    refuse(path, lines.front().number,
           "data.target: has no column '" + target + "'");
  if (header.size() < 2)
    refuse(path, lines.front().number,
           "must have columns beside '" + target + "'");
  csv_table result{path, {}, {}, target, {}, {}};
  for (auto name = header.begin(); name != header.end(); ++name)
    if (name != found)
      result.names.push_back(*name);
  for (std::size_t row = 1; row < lines.size(); ++row) {
    auto& line = lines[row];
    if (line.fields.size() != header.size())
      refuse(path, line.number,
             "has " + std::to_string(line.fields.size())
               + " fields, the first line has "
               + std::to_string(header.size()));
    for (std::size_t i = 0; i < header.size(); ++i) {
      auto& field = line.fields[i];
      if (field.empty())
        refuse(path, line.number,
               "column '" + header[i]
                 + "': is empty; give it a value or leave the row out");
      if (header.begin() + static_cast<std::ptrdiff_t>(i) == found)
        result.targets.push_back(std::move(field));
      else
        result.features.push_back(
          number_in(field, path, line.number, header[i]));
    }
    result.lines.push_back(line.number);
  }
  return result;
}

float target_number(const csv_table& table, std::size_t row) {
  return number_in(table.targets[row], table.path, table.lines[row],
                   table.target_name);
}

} // namespace hippo
