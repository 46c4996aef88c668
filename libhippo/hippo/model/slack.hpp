#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "hippo/base/types.hpp"
#include "hippo/model/goals.hpp"

namespace hippo {

/// Returns the value of a metric, NaN if it is missing.
inline double value_in(const metrics& measured, const std::string& name) {
  const auto found = measured.find(name);
  return found == measured.end() ? std::nan("") : found->second;
}

/// Returns how much is left to the limit of each constraint, below 0 where it
/// is broken. No NaN: a metric that is missing or no number is without bound
/// beyond its limit.
inline std::vector<double> slacks_of(const metrics& measured,
                                     const std::vector<metric_constraint>& of) {
  std::vector<double> result;
  result.reserve(of.size());
  for (const auto& x : of) {
    const auto value = value_in(measured, x.metric);
    const auto slack = x.is_at_most ? x.limit - value : value - x.limit;
    result.push_back(
      std::isnan(slack) ? -std::numeric_limits<double>::infinity() : slack);
  }
  return result;
}

} // namespace hippo
