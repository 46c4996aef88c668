#pragma once

#include <bit>
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
void add_number(std::string& to, double value);
void add_number(std::string& to, std::uint64_t value);

/// Adds numbers to JSON: as a list, or of many 32 bits each in base64.
void add_numbers(std::string& to, const std::vector<double>& xs);

/// A column of JSON values: numbers, and words, of which each is kept once.
class cell_column {
public:
  /// Sets a row to a number; what is not finite becomes `null`. Rows before it
  /// that were never set are `null`.
  void set(std::size_t row, double number);

  /// Sets a row to anything else: JSON that is valid.
  void set(std::size_t row, std::string_view word);

  /// Adds some rows to JSON: as a list; of many rows as numbers, where these
  /// are all that there is and most differ, or else as a list of the values
  /// and one of their places in it.
  /// @param rows in the order in which they are to be
  void add_to(std::string& to, const std::vector<std::size_t>& rows) const;

  /// Returns about how much memory it takes.
  [[nodiscard]] std::size_t bytes() const;

private:
  struct cell {
    double number = __builtin_nan("");
    std::uint32_t word = 0; ///< of `words_`, from 1; 0: it is a number

    [[nodiscard]] std::uint64_t bits() const {
      return std::bit_cast<std::uint64_t>(number);
    }
    /// As their bits are: `null` is equal to itself.
    friend bool operator==(const cell& left, const cell& right) {
      return left.bits() == right.bits() && left.word == right.word;
    }
  };
  struct hash {
    std::size_t operator()(const cell& content) const;
  };

  void put(std::size_t row, const cell& content);
  [[nodiscard]] cell at(std::size_t row) const {
    return row < cells_.size() ? cells_[row] : cell{};
  }
  void add_cell(std::string& to, const cell& content) const;

  std::vector<cell> cells_; ///< by row
  std::vector<const std::string*> words_;
  std::unordered_map<std::string, std::uint32_t> numbers_of_words_;
  std::size_t word_bytes_ = 0;
};

} // namespace hippo
