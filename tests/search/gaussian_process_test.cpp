#include "hippo/search/surrogate/gaussian_process.hpp"

#include <cmath>
#include <numbers>
#include <random>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <gtest/gtest.h>

namespace hippo {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Random points of three coordinates in two groups.
gp_points random_points(Index count, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::normal_distribution<double> normal;
  gp_points result{MatrixXd(3, count), {0, 1, 1}};
  for (Index j = 0; j < count; ++j)
    for (Index i = 0; i < 3; ++i)
      result.at(i, j) = normal(random);
  return result;
}

gp_kernel some_kernel() {
  gp_kernel result{2};
  result.lengths << 0.7, 2.5;
  result.signal = 1.7;
  result.noise = 0.03;
  return result;
}

/// The covariance of two points, as it is written in books.
double covariance(const gp_kernel& kernel, const gp_points& x, Index i,
                  const gp_points& y, Index j) {
  double square = 0;
  for (Index k = 0; k < 3; ++k) {
    const auto off = (x.at(k, i) - y.at(k, j)) / kernel.lengths[k == 0 ? 0 : 1];
    square += off * off;
  }
  const auto r = std::sqrt(square);
  return kernel.signal * (1 + std::sqrt(5.0) * r + 5 * square / 3)
         * std::exp(-std::sqrt(5.0) * r);
}

VectorXd values_at(const gp_points& x) {
  VectorXd result(x.size());
  for (Index i = 0; i < x.size(); ++i)
    result[i] = std::sin(2 * x.at(0, i)) + 0.2 * x.at(1, i);
  return result;
}

TEST(GaussianProcess, EqualsABruteForceInverse) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto kernel = some_kernel();
    const auto known = random_points(25, seed);
    const auto asked = random_points(10, 100 + seed);
    const auto values = values_at(known);
    MatrixXd own(25, 25);
    for (Index i = 0; i < 25; ++i)
      for (Index j = 0; j < 25; ++j)
        own(i, j) = covariance(kernel, known, i, known, j)
                    + (i == j ? kernel.noise : 0);
    const MatrixXd inverse = own.inverse();
    const gp_posterior posterior{kernel, known, values, random_points(0, 0)};
    const auto means = posterior.means(asked);
    const auto found = posterior.predict(asked);
    for (Index j = 0; j < 10; ++j) {
      VectorXd cross(25);
      for (Index i = 0; i < 25; ++i)
        cross[i] = covariance(kernel, known, i, asked, j);
      EXPECT_NEAR(means[j], cross.dot(inverse * values), 1e-8);
      EXPECT_NEAR(found.means[j], cross.dot(inverse * values), 1e-8);
      EXPECT_NEAR(found.variances[j],
                  kernel.signal - cross.dot(inverse * cross), 1e-8);
    }
  }
}

TEST(GaussianProcess, WhatIsPendingCountsAtItsMean) {
  const auto kernel = some_kernel();
  const auto known = random_points(12, 1), pending = random_points(5, 2),
             asked = random_points(8, 3);
  const auto values = values_at(known);
  const gp_posterior before{kernel, known, values, random_points(0, 0)};
  const gp_posterior now{kernel, known, values, pending};
  // As if each pending point had turned out as expected.
  gp_points all{MatrixXd(3, 17), known.group};
  all.at << known.at, pending.at;
  VectorXd told(17);
  told << values, before.means(pending);
  const gp_posterior later{kernel, all, told, random_points(0, 0)};
  const auto now_asked = now.predict(asked);
  const auto a = now_asked.means, b = later.means(asked),
             c = before.means(asked);
  const auto x = now_asked.variances, y = later.predict(asked).variances,
             z = before.predict(asked).variances;
  for (Index i = 0; i < 8; ++i) {
    EXPECT_NEAR(a[i], b[i], 1e-8);
    EXPECT_NEAR(a[i], c[i], 1e-12);
    EXPECT_NEAR(x[i], y[i], 1e-8);
    EXPECT_LT(x[i], z[i]);
  }
}

TEST(GaussianProcess, TheGradientIsThatOfTheLoss) {
  const auto points = random_points(15, 4);
  const auto values = values_at(points);
  std::mt19937_64 random{5};
  std::normal_distribution<double> normal;
  for (int round = 0; round < 10; ++round) {
    VectorXd at(4);
    for (Index i = 0; i < 4; ++i)
      at[i] = normal(random) - (i == 3 ? 3 : 0);
    VectorXd gradient, other;
    fit_loss(points, values, at, gradient);
    for (Index i = 0; i < 4; ++i) {
      constexpr double step = 1e-5;
      auto up = at, down = at;
      up[i] += step;
      down[i] -= step;
      const auto slope = (fit_loss(points, values, up, other)
                          - fit_loss(points, values, down, other))
                         / (2 * step);
      EXPECT_NEAR(gradient[i], slope, 1e-4 * (1 + std::abs(slope))) << i;
    }
  }
}

/// The loss at a kernel, and the norm of its gradient.
std::pair<double, double> loss_at(const gp_kernel& kernel,
                                  const gp_points& points,
                                  const VectorXd& values) {
  VectorXd gradient, parameters(4);
  parameters << std::log(kernel.lengths[0]), std::log(kernel.lengths[1]),
    std::log(kernel.signal), std::log(kernel.noise - 1e-6);
  const auto loss = fit_loss(points, values, parameters, gradient);
  return {loss, gradient.norm()};
}

TEST(GaussianProcess, TheFitTellsWhatMattersFromWhatDoesNot) {
  const auto points = random_points(60, 6);
  VectorXd values(60);
  for (Index i = 0; i < 60; ++i)
    values[i] = std::sin(2 * points.at(0, i)); // of the first group alone
  const auto fitted = fit_kernel(points, values, gp_kernel{2});
  EXPECT_GT(fitted.lengths[1], 3 * fitted.lengths[0]);
  EXPECT_LT(fitted.noise, 1e-3);
  EXPECT_LT(loss_at(fitted, points, values).first,
            loss_at(gp_kernel{2}, points, values).first - 10);
}

/// Calls `check(points, values, kernel)` for functions that are drawn from
/// Gaussian processes, rough and smooth, exact and noisy.
template <typename Check>
void for_drawn_functions(Check check) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random{seed};
    std::normal_distribution<double> normal;
    gp_kernel kernel{2};
    kernel.lengths << std::exp(0.7 * normal(random)),
      std::exp(0.7 * normal(random));
    kernel.noise = 1e-6 + std::exp(-8 + 3 * normal(random));
    const auto points = random_points(20 + 10 * (seed % 3), 1000 + seed);
    MatrixXd own = kernel.covariance(points, points);
    own.diagonal().array() += kernel.noise;
    VectorXd draws(points.size());
    for (Index i = 0; i < draws.size(); ++i)
      draws[i] = normal(random);
    const VectorXd values = Eigen::LLT<MatrixXd>{own}.matrixL() * draws;
    check(points, values, kernel);
  }
}

TEST(GaussianProcess, AFitEndsWhereTheLossIsFlat) {
  for_drawn_functions([](const gp_points& points, const VectorXd& values,
                         const gp_kernel&) {
    const auto fitted = fit_kernel(points, values, gp_kernel{2});
    EXPECT_LT(loss_at(fitted, points, values).second, 0.5);
  });
}

TEST(GaussianProcess, AFitIsAsLikelyAsTheKernelThatMadeTheValues) {
  for_drawn_functions([](const gp_points& points, const VectorXd& values,
                         const gp_kernel& kernel) {
    const auto fitted = fit_kernel(points, values, gp_kernel{2});
    EXPECT_LT(loss_at(fitted, points, values).first,
              loss_at(kernel, points, values).first + 0.5);
  });
}

TEST(GaussianProcess, AFitOfEqualPointsIsNoFault) {
  const gp_points points{MatrixXd::Zero(3, 5), {0, 1, 1}};
  const auto fitted = fit_kernel(points, VectorXd::Zero(5), gp_kernel{2});
  const gp_posterior posterior{fitted, points, VectorXd::Zero(5),
                               random_points(0, 0)};
  EXPECT_NEAR(posterior.means(points)[0], 0, 1e-12);
  EXPECT_GT(posterior.predict(points).variances[0], 0);
}

// -- expected improvement -----------------------------------------------------

/// The integral of (x - best) * density over x > best, by Simpson's rule.
double integrated_log_improvement(double mean, double deviation, double best) {
  const auto z = (mean - best) / deviation;
  // In standard deviations above `best`, over the density at its begin, so that
  // nothing vanishes: density(t - z) = density(-z) * exp(t z - t^2 / 2).
  constexpr int halves = 200'000;
  const auto end = std::max(0.0, z) + 12;
  const auto width = end / (2 * halves);
  double sum = 0;
  for (int i = 0; i <= 2 * halves; ++i) {
    const auto t = i * width;
    const auto weight = i == 0 || i == 2 * halves ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight * t * std::exp(t * z - t * t / 2);
  }
  return std::log(sum * width / 3) - z * z / 2
         - std::log(2 * std::numbers::pi) / 2 + std::log(deviation);
}

TEST(ExpectedImprovement, EqualsTheIntegral) {
  for (const auto z : {-300.0, -40.0, -8.0, -3.0, -1.01, -1.0, -0.99, -0.2, 0.0,
                       0.7, 3.0, 9.0})
    for (const auto deviation : {0.01, 1.0, 5.0}) {
      const auto expected
        = integrated_log_improvement(2 + z * deviation, deviation, 2);
      EXPECT_NEAR(log_expected_improvement(2 + z * deviation, deviation, 2),
                  expected, 1e-6 * (1 + std::abs(expected)))
        << z;
    }
}

TEST(ExpectedImprovement, RisesWithTheMeanHoweverFarBelow) {
  auto before = log_expected_improvement(-1e6, 1, 0);
  EXPECT_TRUE(std::isfinite(before));
  for (const auto mean : {-1e5, -1e3, -50.0, -2.0, -1.0 - 1e-9, -1.0 + 1e-9,
                          0.0, 5.0, 1e4}) {
    const auto now = log_expected_improvement(mean, 1, 0);
    EXPECT_GT(now, before) << mean;
    before = now;
  }
}

// -- probability above zero ---------------------------------------------------

TEST(ProbabilityAboveZero, IsThatOfTheNormalDistribution) {
  for (const auto z : {-30.0, -8.0, -3.0, -1.01, -1.0, -0.99, 0.0, 0.7, 5.0})
    for (const auto deviation : {0.01, 1.0, 5.0}) {
      const auto expected = std::log(std::erfc(-z / std::sqrt(2.0)) / 2);
      EXPECT_NEAR(log_probability_above_zero(z * deviation, deviation),
                  expected, 1e-9 * (1 + std::abs(expected)))
        << z;
    }
}

TEST(ProbabilityAboveZero, RisesWithTheMeanHoweverFarBelow) {
  auto before = log_probability_above_zero(-1e6, 1);
  EXPECT_TRUE(std::isfinite(before));
  for (const auto mean :
       {-1e5, -1e3, -50.0, -2.0, -1.0 - 1e-9, -1.0 + 1e-9, 0.0, 5.0}) {
    const auto now = log_probability_above_zero(mean, 1);
    EXPECT_GT(now, before) << mean;
    before = now;
  }
}

} // namespace
} // namespace hippo
