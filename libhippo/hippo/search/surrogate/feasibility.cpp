#include "hippo/search/surrogate/feasibility.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hippo {

namespace {

using Eigen::Index;
using Eigen::VectorXd;

/// The greatest distance from a limit that counts, in median distances.
constexpr double distances_max = 3;

/// The farthest that slacks count from 0; 0 if none is finite.
double farthest(const std::vector<double>& slacks) {
  std::vector<double> distances;
  for (const auto x : slacks)
    if (std::isfinite(x))
      distances.push_back(std::abs(x));
  if (distances.empty())
    return 0;
  const auto middle =
    distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  // With more than half of them on the limit nothing is an outlier.
  return *middle > 0 ? distances_max * *middle
                     : *std::max_element(middle, distances.end());
}

} // namespace

std::optional<slack_values> standardized(std::vector<double> slacks) {
  const auto most = farthest(slacks);
  // Without a finite one, they are on one side or the other.
  const auto bound = most > 0 ? most : 1;
  const auto count = static_cast<double>(slacks.size());
  double mean = 0;
  for (auto& x : slacks) {
    x = std::clamp(x, -bound, bound);
    mean += x / count;
  }
  double squares = 0;
  for (const auto x : slacks)
    squares += (x - mean) * (x - mean) / count;
  const auto deviation = std::sqrt(squares);
  // Differences by rounding do not count.
  if (!(deviation > 1e-9 * bound))
    return std::nullopt;
  slack_values result{VectorXd(static_cast<Index>(slacks.size())),
                      -mean / deviation};
  for (std::size_t i = 0; i < slacks.size(); ++i)
    result.values[static_cast<Index>(i)] = (slacks[i] - mean) / deviation;
  return result;
}

void feasibility::add(const gp_kernel& kernel, gp_points points,
                      const VectorXd& values, double threshold, double noise) {
  const gp_points none{points.at.leftCols(0), points.group};
  limits_.push_back(
    {{kernel, std::move(points), values, none}, threshold, noise});
}

VectorXd feasibility::log_of(const gp_points& at) const {
  VectorXd result = VectorXd::Zero(at.size());
  for (const auto& x : limits_) {
    const auto expected = x.posterior.predict(at);
    for (Index i = 0; i < at.size(); ++i)
      result[i] +=
        log_probability_above_zero(expected.means[i] - x.threshold,
                                   std::sqrt(expected.variances[i] + x.noise));
  }
  return result;
}

} // namespace hippo
