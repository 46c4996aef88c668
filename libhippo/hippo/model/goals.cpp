#include "hippo/model/goals.hpp"

#include <algorithm>
#include <cmath>

#include "hippo/base/number.hpp"
#include "hippo/model/slack.hpp"

namespace hippo {

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
  for (const auto slack : slacks_of(measured, wanted.constraints))
    result.violation += std::max(0.0, -slack);
  return result;
}

std::string violated_in(const metrics& measured, const goals& wanted) {
  const auto slacks = slacks_of(measured, wanted.constraints);
  std::string result;
  for (std::size_t i = 0; i < slacks.size(); ++i)
    if (slacks[i] < 0)
      result += (result.empty() ? "" : ", ") + to_text(wanted.constraints[i]);
  return result;
}

} // namespace hippo
