#include "hippo/model/goals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hippo/base/number.hpp"

namespace hippo {

namespace {

constexpr auto not_measured = std::numeric_limits<double>::quiet_NaN();

double value_in(const metrics& measured, const std::string& name) {
  const auto i = measured.find(name);
  return i == measured.end() ? not_measured : i->second;
}

} // namespace

std::string to_text(const metric_constraint& constraint) {
  return constraint.metric + (constraint.is_at_most ? " <= " : " >= ")
         + to_text(constraint.limit);
}

outcome outcome_of(const metrics& measured, const goals& wanted) {
  outcome result;
  for (const auto& goal : wanted.metrics) {
    const auto value = value_in(measured, goal.metric);
    result.is_nan = result.is_nan || !std::isfinite(value);
    result.values.push_back(goal.direction == direction::minimize ? value
                                                                  : -value);
  }
  for (const auto& x : wanted.constraints) {
    const auto value = value_in(measured, x.metric);
    const auto beyond = x.is_at_most ? value - x.limit : x.limit - value;
    result.violation += std::isnan(beyond)
                          ? std::numeric_limits<double>::infinity()
                          : std::max(0.0, beyond);
  }
  return result;
}

} // namespace hippo
