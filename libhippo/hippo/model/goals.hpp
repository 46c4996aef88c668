#pragma once

#include <string>
#include <vector>

#include "hippo/base/types.hpp"

namespace hippo {

/// The most metrics that a study may have as goals: what is exact here takes
/// time that grows by their number as a power.
inline constexpr std::size_t goals_max = 4;

/// The most constraints of a study.
inline constexpr std::size_t constraints_max = 16;

/// A metric that a study maximises or minimises.
struct metric_goal {
  std::string metric;
  hippo::direction direction = direction::maximize;
  friend bool operator==(const metric_goal&, const metric_goal&) = default;
};

/// A study's limit for a metric: to be at most, or at least, a number.
struct metric_constraint {
  std::string metric;
  bool is_at_most = true;
  double limit = 0;
  friend bool operator==(const metric_constraint&, const metric_constraint&)
    = default;
};

/// Renders `ms <= 5`.
std::string to_text(const metric_constraint& constraint);

/// All that a study wants of its metrics.
struct goals {
  std::vector<metric_goal> metrics; ///< not empty; the first one leads
  std::vector<metric_constraint> constraints;

  /// Whether one number tells how good a trial is.
  [[nodiscard]] bool is_one() const noexcept {
    return metrics.size() == 1 && constraints.empty();
  }
  friend bool operator==(const goals&, const goals&) = default;
};

/// Values of the goals, turned such that less is better.
using losses = std::vector<double>;

/// The worth of a measurement where one number does not tell it.
struct outcome {
  losses values;        ///< one for each goal
  double violation = 0; ///< by how much it breaks constraints, added up
  bool is_nan = false;  ///< a goal is missing or not finite: it is the worst

  [[nodiscard]] bool is_feasible() const noexcept {
    return !is_nan && violation == 0;
  }
};

/// Says what a measurement is worth. A constraint on a metric that is missing
/// or no number is broken without bound.
outcome outcome_of(const metrics& measured, const goals& wanted);

/// Returns the constraints that a measurement breaks: `ms <= 5, mb <= 90`.
std::string violated_in(const metrics& measured, const goals& wanted);

/// Returns a loss as its metric has it.
inline double value_of(double loss, direction way) noexcept {
  return way == direction::minimize ? loss : -loss;
}

} // namespace hippo
