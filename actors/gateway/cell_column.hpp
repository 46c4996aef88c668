#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hippo {

/// Columns of more rows than this are coded where that is shorter:
/// docs/http.md#columns.
inline constexpr std::size_t plain_rows_max = 1000;

/// Adds a number to JSON, in as few digits as tell it from all others; `null`
/// for what JSON does not know.
void add_number(std::string& to, double x);
void add_number(std::string& to, std::uint64_t x);

/// Adds numbers to JSON: as a list, or of many 32 bits each in base64.
void add_numbers(std::string& to, const std::vector<double>& xs);

/// A column of JSON values, of which each is kept once.
class cell_column {
public:
  /// Sets a row, of JSON that is valid. Rows before it that were never set are
  /// `null`.
  void set(std::size_t row, std::string_view json);

  /// Adds some rows to JSON: as a list; of many rows as numbers, where these
  /// are all that there is and most differ, or else as a list of the values
  /// and one of their places in it.
  /// @param rows in the order in which they are to be
  void add_to(std::string& to, const std::vector<std::size_t>& rows) const;

  /// Returns about how much memory it takes.
  [[nodiscard]] std::size_t bytes() const;

private:
  [[nodiscard]] std::uint32_t at(std::size_t row) const {
    return row < at_.size() ? at_[row] : 0;
  }

  std::vector<std::uint32_t> at_; ///< place of each row's value in `values_`
  std::vector<const std::string*> values_{&null_};
  std::vector<double> numbers_{not_a_number};
  std::unordered_map<std::string, std::uint32_t> places_;
  std::size_t words_ = 0; ///< values that are neither numbers nor null
  std::size_t value_bytes_ = 0;

  static constexpr double not_a_number = __builtin_nan("");
  static const std::string null_;
};

} // namespace hippo
