#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hippo {

/// A CSV file whose columns are numbers, but for one, the target, which may be
/// anything.
struct csv_table {
  std::string path;
  std::vector<std::string> names; ///< of the features, in the file's order
  std::vector<float> features;    ///< rows x names
  std::string target_name;
  std::vector<std::string> targets; ///< of each row
  std::vector<int> lines;           ///< of each row, from 1

  [[nodiscard]] std::size_t rows() const { return targets.size(); }
};

/// Reads a CSV file of RFC 4180 whose first line has the names of the columns.
/// @param target a column's name
/// @param sha256 the digest that the file must have
/// Throws `missing_data_error` if the file cannot be read, and
/// `std::invalid_argument` if it has another digest, no such column or no
/// other one, or is larger than 256 MiB; or if a line has another number of
/// fields than the first one, a field is empty, or a feature is no finite
/// number of a float's range: then with line and column.
csv_table read_csv(const std::string& path, const std::string& target,
                   const std::string& sha256);

/// Returns the number in the target of a row. Throws `std::invalid_argument`
/// with line and column if there is none.
float target_number(const csv_table& table, std::size_t row);

} // namespace hippo
