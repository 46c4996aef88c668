#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hippo {

enum class option_type { whole, real, word };

/// The greatest whole number that every double up to it can tell apart: the
/// upper bound of options that have none of their own.
inline constexpr double whole_max = 9'007'199'254'740'992;

/// The most trials that a study may have.
inline constexpr std::uint64_t max_trials = 10'000'000;

/// An option of an algorithm or a sampler, as its file declares it. Readers,
/// error messages, `hippo algorithms` and the table in docs/algorithms.md
/// follow from it.
struct option {
  static constexpr std::size_t words_max = 12;

  std::string_view name;
  option_type type = option_type::whole;
  /// The smallest number and the greatest one.
  double low = 0;
  double high = whole_max;
  /// The greatest number where the study decides it, as people read it; its
  /// reader is given the number.
  std::string_view high_text{};
  /// All values of a word; the words that may stand in place of a number.
  std::array<std::string_view, words_max> words{};
  /// The value of a study that gives none: a number or a word.
  std::variant<double, std::string_view> fallback = 0.0;
  /// The same where the study decides it, as people read it; its reader is
  /// given the value.
  std::string_view fallback_text{};
  std::string_view meaning;         ///< a sentence without its full stop
  std::string_view since = "0.1.0"; ///< the version that has it first
};

using option_table = std::span<const option>;

/// Returns the words of an option without the empty places.
std::vector<std::string> words_of(const option& option);

/// Returns the names of options, in their order.
std::vector<std::string> names_of(option_table xs);

/// Returns the option of that name; null: the table has none.
const option* find_option(option_table xs, std::string_view name);

inline bool declares(option_table xs, std::string_view name) {
  return find_option(xs, name) != nullptr;
}

/// Joins words for a message: `a, b or c`.
std::string either_of(const std::vector<std::string>& words);

/// Says which values an option takes: `a whole number from 1 to 10`.
std::string values_text(const option& option);

/// Says the value of a study that gives none.
std::string fallback_text(const option& option);

/// Says `a whole number from 1 to 10`, or `of at least 1` up to `whole_max`.
std::string whole_text(std::uint64_t low, std::uint64_t high);

} // namespace hippo
