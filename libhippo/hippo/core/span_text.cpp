#include "hippo/core/span_text.hpp"

#include <charconv>
#include <cmath>
#include <optional>

namespace hippo {

namespace {

/// Longer than anything that goes on.
constexpr double span_max = 1e9;

std::optional<double> seconds_of_unit(char unit) {
  switch (unit) {
    case 's': return 1;
    case 'm': return 60;
    case 'h': return 3600;
    case 'd': return 86'400;
    default: return std::nullopt;
  }
}

} // namespace

expected<double> span_from(const std::string& text) {
  const auto refuse = [&] {
    return error{errc::invalid_argument,
                 "must be a span above 0 such as 6h, 90m or 1h30m, found '"
                   + text + "'"};
  };
  double result = 0;
  const auto* at = text.data();
  const auto* const end = at + text.size();
  for (bool first = true; first || at != end; first = false) {
    double number = 0;
    const auto [stop, code] = std::from_chars(at, end, number);
    if (code != std::errc{} || !(number >= 0))
      return refuse();
    at = stop;
    if (at == end && first) {
      result = number;
      break;
    }
    const auto unit = at == end ? std::nullopt : seconds_of_unit(*at);
    if (!unit)
      return refuse();
    result += number * *unit;
    ++at;
  }
  if (!(result > 0 && result <= span_max))
    return refuse();
  return result;
}

} // namespace hippo
