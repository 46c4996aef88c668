#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

namespace hippo {

/// The largest whole number that keeps all its digits in canonical form.
inline constexpr double canonical_whole_max = 999'999'999'999;

/// How a range lays out its values.
enum class range_scale {
  uniform,
  log_uniform,
  int_uniform,
  log_int_uniform,
  normal,
  log_normal,
};

/// The properties of a scale, for the reader of ranges, their checks and their
/// display.
struct scale_rule {
  range_scale scale;
  std::string_view name; ///< its key in a study file
  bool is_whole;         ///< whether its values are whole numbers
  bool is_logarithmic;   ///< whether it is even in the logarithm of the value
  bool is_normal;        ///< told by mean and deviation, else by both ends
  bool takes_step;       ///< whether `step` may stand beside it
};

/// All scales, in the order of `range_scale`.
std::span<const scale_rule> scale_rules();
const scale_rule& rule_of(range_scale scale);

/// The values from `low` to `high`, both ends among them.
struct value_range {
  range_scale scale = range_scale::uniform;
  double low = 0;
  double high = 1;
  std::uint64_t points = 0; ///< 0: continuous

  // Of a normal scale; of `log_normal` the first two are of the logarithm. Its
  // ends lie `deviations_max` deviations from the mean.
  double mean = 0;
  double deviation = 1;
  double step = 0; ///< values are multiples of it; 0: of nothing
  bool step_is_whole = false;

  /// Lays out `count` points, or as many as there are whole numbers.
  void set_points(std::uint64_t count);

  /// Returns point `index`. REQUIRES: `index < points`
  [[nodiscard]] nlohmann::ordered_json point(std::uint64_t index) const;

  /// Returns what lies at `share` of the way from 0 (low) to 1 (high), each
  /// part of the way being as likely.
  [[nodiscard]] nlohmann::ordered_json between(double share) const;

  /// Returns where a number lies on that way; of one beyond an end the end.
  [[nodiscard]] double share_of(double number) const;

  /// Returns where `factor` times the number at `share` lies, which may be
  /// beyond 0 or 1. REQUIRES: `factor > 0`
  [[nodiscard]] double scaled(double share, double factor) const;

  /// Returns the length of the range, by its logarithm if it is logarithmic: to
  /// base 10 if both ends are powers of 10, else to base 2 if both are powers
  /// of 2, else e. Of a normal one that of its central 99.9 %.
  [[nodiscard]] double length() const;

private:
  [[nodiscard]] std::int64_t log_int_point(std::uint64_t index) const;
  [[nodiscard]] nlohmann::ordered_json stepped(double number) const;
};

} // namespace hippo
