#include "hippo/search/surrogate/feasibility.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace hippo {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr auto infinity = std::numeric_limits<double>::infinity();

/// Points of two coordinates, each a group.
gp_points random_points(Index count, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::normal_distribution<double> normal;
  gp_points result{Eigen::MatrixXd(2, count), {0, 1}};
  for (Index i = 0; i < count; ++i)
    result.at.col(i) << normal(random), normal(random);
  return result;
}

gp_kernel some_kernel(double length) {
  gp_kernel result{2};
  result.lengths << length, 2;
  result.signal = 1.3;
  result.noise = 0.02;
  return result;
}

// -- slacks -------------------------------------------------------------------

TEST(Slacks, HaveAMeanOfZeroAndUnitVariance) {
  const std::vector<double> slacks{-2, 1, 0.5, 3, -1};
  const auto x = standardized(slacks);
  ASSERT_TRUE(x);
  EXPECT_NEAR(x->values.sum(), 0, 1e-12);
  EXPECT_NEAR(x->values.squaredNorm() / 5, 1, 1e-12);
  // Values lie as far above the threshold as the slacks say.
  for (std::size_t i = 0; i < slacks.size(); ++i)
    EXPECT_NEAR((x->values[static_cast<Index>(i)] - x->threshold) / slacks[i],
                (x->values[0] - x->threshold) / slacks[0], 1e-12);
}

TEST(Slacks, DoNotDependOnTheirUnit) {
  const auto x = standardized({-2, 1, 0.5, 3, -1, 400});
  const auto y = standardized({-2e9, 1e9, 0.5e9, 3e9, -1e9, 400e9});
  ASSERT_TRUE(x && y);
  EXPECT_NEAR((x->values - y->values).norm(), 0, 1e-9);
  EXPECT_NEAR(x->threshold, y->threshold, 1e-9);
}

TEST(Slacks, AnOutlierHidesNothing) {
  for (const auto far : {1e12, infinity})
    for (const auto sign : {-1, 1}) {
      const auto x = standardized({-1, 1, -1, 1, sign * far});
      ASSERT_TRUE(x);
      EXPECT_GT(x->values[1] - x->threshold, 0.3);
      EXPECT_LT(x->values[0] - x->threshold, -0.3);
      EXPECT_GT(sign * (x->values[4] - x->threshold), 0.3);
    }
}

TEST(Slacks, OfBothSidesWithoutAFiniteOne) {
  const auto x = standardized({infinity, -infinity});
  ASSERT_TRUE(x);
  EXPECT_GT(x->values[0], x->threshold);
  EXPECT_LT(x->values[1], x->threshold);
}

TEST(Slacks, ThatAreEqualTellNothing) {
  for (const auto slack : {0.0, 0.1, -7.3, infinity, -infinity})
    EXPECT_FALSE(standardized(std::vector<double>(7, slack))) << slack;
  EXPECT_FALSE(standardized({}));
  EXPECT_TRUE(standardized({0, 0, 0, 0, 2}));
}

// -- probabilities ------------------------------------------------------------

TEST(Feasibility, IsTheProductOfTheProbabilitiesOfLimits) {
  const auto points = random_points(20, 1), asked = random_points(15, 2);
  feasibility found;
  EXPECT_TRUE(found.is_sure());
  EXPECT_EQ(found.log_of(asked), VectorXd::Zero(15));
  VectorXd expected = VectorXd::Zero(15);
  for (const auto threshold : {-0.4, 0.9}) {
    const auto kernel = some_kernel(1 + threshold);
    const VectorXd values = (points.at.row(0) * threshold).array().sin();
    const auto noise = threshold > 0 ? kernel.noise : 0;
    found.add(kernel, points, values, threshold, noise);
    const gp_posterior process{kernel, points, values, random_points(0, 0)};
    const auto x = process.predict(asked);
    for (Index i = 0; i < 15; ++i) {
      const auto z =
        (x.means[i] - threshold) / std::sqrt(x.variances[i] + noise);
      expected[i] += std::log(std::erfc(-z / std::sqrt(2.0)) / 2);
    }
  }
  EXPECT_FALSE(found.is_sure());
  EXPECT_LT((found.log_of(asked) - expected).cwiseAbs().maxCoeff(), 1e-9);
}

} // namespace
} // namespace hippo
