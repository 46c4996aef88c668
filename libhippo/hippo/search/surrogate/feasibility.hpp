#pragma once

#include <optional>
#include <vector>

#include "hippo/search/surrogate/gaussian_process.hpp"

namespace hippo {

/// Slacks as a process takes them: of mean 0 and of unit variance.
struct slack_values {
  Eigen::VectorXd values;
  double threshold = 0; ///< the value of no slack
};

/// Returns the values of slacks, which are above 0 where a limit is kept, by as
/// much as they say. Those that are farther from 0 than three times the median
/// distance count as so far, so that no outlier hides where the limit lies.
/// Nothing: all slacks are equal, which tells nothing.
/// REQUIRES: none is NaN.
std::optional<slack_values> standardized(std::vector<double> slacks);

/// The probability that points keep limits, each of which is learned by a
/// process of its own (Gardner et al., *Bayesian Optimization with Inequality
/// Constraints*, ICML 2014): a point keeps a limit if the number that the
/// process is of is above a threshold. Limits count as independent of each
/// other.
///
/// As of `gp_kernel`, every CPU gives the same bits.
class feasibility {
public:
  /// Adds a limit.
  /// @param values of the points, of about unit variance
  /// @param noise a variance that the number has beyond that of the process
  /// @complexity O(points^3)
  void add(const gp_kernel& kernel, gp_points points,
           const Eigen::VectorXd& values, double threshold, double noise = 0);

  /// Whether every point is feasible, as there is no limit.
  [[nodiscard]] bool is_sure() const noexcept { return limits_.empty(); }

  /// Returns the logarithm of the probability of each point, 0 without limits.
  /// @complexity O(points^2) for each limit and each of `at`
  [[nodiscard]] Eigen::VectorXd log_of(const gp_points& at) const;

private:
  struct limit {
    gp_posterior posterior;
    double threshold = 0;
    double noise = 0;
  };

  std::vector<limit> limits_;
};

} // namespace hippo
