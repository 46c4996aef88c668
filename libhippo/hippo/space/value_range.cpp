// Compiled without contraction (see CMakeLists.txt), so that a draw is the same
// bits on every CPU.

#include "hippo/space/value_range.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "hippo/base/number.hpp"
#include "hippo/base/portable_math.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

constexpr std::array rules{
  scale_rule{range_scale::uniform, "uniform", false, false, false, true},
  scale_rule{range_scale::log_uniform, "log_uniform", false, true, false,
             false},
  scale_rule{range_scale::int_uniform, "int_uniform", true, false, false, true},
  scale_rule{range_scale::log_int_uniform, "log_int_uniform", true, true, false,
             false},
  scale_rule{range_scale::normal, "normal", false, false, true, true},
  scale_rule{range_scale::log_normal, "log_normal", false, true, true, true},
};

/// The central 99.9 % of a normal distribution, in deviations.
constexpr double central_deviations = 2 * 3.290526731491926;

/// How much of another range counts.
constexpr double central_share = 0.999;

bool is_near_whole(double x) { return std::abs(x - std::round(x)) < 1e-9; }

/// The length of a logarithmic range in the units of its exponent.
double decades(double low, double high) {
  for (auto* log : {+[](double x) { return std::log10(x); },
                    +[](double x) { return std::log2(x); }})
    if (is_near_whole(log(low)) && is_near_whole(log(high)))
      return log(high) - log(low);
  return std::log(high) - std::log(low);
}

/// Of whole numbers by their logarithm each end has as much room as others
/// have: half a number beyond it.
double log_ratio(const value_range& x) {
  return portable_log((x.high + 0.5) / (x.low - 0.5));
}

} // namespace

std::span<const scale_rule> scale_rules() { return rules; }

const scale_rule& rule_of(range_scale scale) {
  return rules.at(static_cast<std::size_t>(scale));
}

void value_range::set_points(std::uint64_t count) {
  points = count;
  if (rule_of(scale).is_whole)
    points = std::min(count, static_cast<std::uint64_t>(high - low) + 1);
}

/// Points at equal ratios; each whole number where these are denser than whole
/// numbers. So no two are one: at the first of the others they lie farther
/// apart than 1 on the average up to there, and farther from there on.
std::int64_t value_range::log_int_point(std::uint64_t index) const {
  const auto share
    = static_cast<double>(index) / static_cast<double>(points - 1);
  // Of so short a range the logarithm is a line, and more exact as one.
  const auto spread
    = high - low < low / 100
        ? low + (high - low) * share
        : low * portable_exp(portable_log(high / low) * share);
  return std::max(static_cast<std::int64_t>(low)
                    + static_cast<std::int64_t>(index),
                  std::min(static_cast<std::int64_t>(std::llround(spread)),
                           static_cast<std::int64_t>(high)));
}

json value_range::point(std::uint64_t index) const {
  assert(index < points);
  if (rule_of(scale).is_normal) // each in the middle of an equal part
    return between((static_cast<double>(index) + 0.5)
                   / static_cast<double>(points));
  if (scale == range_scale::log_int_uniform && index > 0)
    return log_int_point(index);
  if (index == 0)
    return between(0);
  return between(static_cast<double>(index) / static_cast<double>(points - 1));
}

json value_range::between(double share) const {
  switch (scale) {
    case range_scale::int_uniform:
      return static_cast<std::int64_t>(
        std::llround(low + (high - low) * share));
    case range_scale::log_int_uniform: {
      const auto place = (low - 0.5) * portable_exp(log_ratio(*this) * share);
      return static_cast<std::int64_t>(
        std::clamp(std::round(place), low, high));
    }
    case range_scale::normal:
      return stepped(mean + deviation * normal_quantile(share));
    case range_scale::log_normal:
      return stepped(portable_exp(mean + deviation * normal_quantile(share)));
    case range_scale::uniform:
    case range_scale::log_uniform:
      break;
  }
  if (share <= 0)
    return canonical(low);
  if (share >= 1)
    return canonical(high);
  if (scale == range_scale::log_uniform)
    return canonical(low * std::pow(high / low, share));
  return canonical(low + (high - low) * share);
}

/// The nearest multiple of `step`.
json value_range::stepped(double number) const {
  if (step == 0)
    return canonical(number);
  const auto result = canonical(std::round(number / step) * step);
  if (step_is_whole && std::abs(result) <= canonical_whole_max)
    return static_cast<std::int64_t>(result);
  return result;
}

double value_range::share_of(double number) const {
  const auto& rule = rule_of(scale);
  if (rule.is_logarithmic && number <= 0)
    return 0;
  if (rule.is_normal) {
    const auto place = rule.is_logarithmic ? portable_log(number) : number;
    return normal_share((place - mean) / deviation);
  }
  const auto share
    = scale == range_scale::log_int_uniform
        ? portable_log(number / (low - 0.5)) / log_ratio(*this)
      : rule.is_logarithmic ? portable_log(number / low)
                                / portable_log(high / low)
                            : (number - low) / (high - low);
  return std::clamp(share, 0.0, 1.0);
}

double value_range::scaled(double share, double factor) const {
  switch (scale) {
    case range_scale::log_uniform:
      return share + std::log(factor) / std::log(high / low);
    case range_scale::log_int_uniform:
      return share + portable_log(factor) / log_ratio(*this);
    case range_scale::normal:
      return share_of((mean + deviation * normal_quantile(share)) * factor);
    case range_scale::log_normal:
      return normal_share(normal_quantile(share)
                          + portable_log(factor) / deviation);
    case range_scale::uniform:
    case range_scale::int_uniform:
      break;
  }
  return ((low + (high - low) * share) * factor - low) / (high - low);
}

double value_range::length() const {
  const auto& rule = rule_of(scale);
  if (rule.is_normal)
    return central_deviations * deviation;
  return central_share
         * (rule.is_logarithmic ? decades(low, high) : high - low);
}

} // namespace hippo
