#include "hippo/base/span_text.hpp"

#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <string_view>

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

/// Reads what a time is made of, from left to right.
class time_reader {
public:
  explicit time_reader(std::string_view text) : left_(text) {}

  /// Takes a number of so many digits.
  /// @returns it; -1 if it is not there, or greater than `most`
  int number(std::size_t digits, int most) {
    int result = 0;
    const auto text = left_.substr(0, digits);
    for (const auto c : text)
      if (c < '0' || c > '9')
        return -1;
    if (text.size() < digits)
      return -1;
    std::from_chars(text.data(), text.data() + digits, result);
    left_.remove_prefix(digits);
    return result <= most ? result : -1;
  }

  /// Takes a character, if it is next.
  bool take(char c) {
    if (left_.empty() || left_.front() != c)
      return false;
    left_.remove_prefix(1);
    return true;
  }

  [[nodiscard]] bool is_over() const { return left_.empty(); }

private:
  std::string_view left_;
};

/// Reads `Z` or `+01:00`, and what follows: nothing.
/// @returns the minutes by which clocks are ahead there
std::optional<int> zone_in(time_reader& in) {
  const bool is_utc = in.take('Z');
  const bool is_ahead = !is_utc && in.take('+');
  if (is_utc)
    return in.is_over() ? std::optional{0} : std::nullopt;
  if (!is_ahead && !in.take('-'))
    return std::nullopt;
  const auto hours = in.number(2, 14);
  const auto minutes = in.take(':') ? in.number(2, 59) : -1;
  if (hours < 0 || minutes < 0 || !in.is_over())
    return std::nullopt;
  const auto result = hours * 60 + minutes;
  return is_ahead ? result : -result;
}

} // namespace

expected<double> time_from(const std::string& text) {
  namespace chrono = std::chrono;
  const auto refuse = [&] {
    return error{errc::invalid_argument,
                 "must be a time with its zone such as 2030-01-31T18:00Z, "
                 "found '" + text + "'"};
  };
  time_reader in{text};
  const auto year = in.number(4, 9999);
  const auto month = in.take('-') ? in.number(2, 12) : -1;
  const auto day = in.take('-') ? in.number(2, 31) : -1;
  const auto hour = in.take('T') ? in.number(2, 23) : -1;
  const auto minute = in.take(':') ? in.number(2, 59) : -1;
  const auto second = in.take(':') ? in.number(2, 59) : 0;
  if (year < 1970 || month < 1 || day < 1 || hour < 0 || minute < 0
      || second < 0)
    return refuse();
  const chrono::year_month_day date{
    chrono::year{year}, chrono::month{static_cast<unsigned>(month)},
    chrono::day{static_cast<unsigned>(day)}};
  const auto ahead = zone_in(in);
  if (!date.ok() || !ahead)
    return refuse();
  const auto days = chrono::sys_days{date}.time_since_epoch().count();
  return static_cast<double>(days) * 86'400 + hour * 3600.0
         + (minute - *ahead) * 60.0 + second;
}

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
