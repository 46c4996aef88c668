#include "hippo/search/surrogate/gaussian_process.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include <Eigen/Cholesky>

#include "hippo/base/portable_math.hpp"
#include "hippo/search/surrogate/descent.hpp"

namespace hippo {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// The second descent begins with so much less noise, in logarithms: that a
/// function is rough, and that it is smooth and its values are noisy, are hills
/// of the likelihood with a valley between them.
constexpr double less_noise = 5;

/// Of the logarithms: what is likeliest, and the standard deviation. A length
/// grows with the root of the groups, so that the distance of two points that
/// differ in all of them does not (Hvarfner et al., *Vanilla Bayesian
/// Optimization Performs Great in High Dimensions*, ICML 2024).
struct normal_prior {
  double mean = 0;
  double deviation = 1;
};

normal_prior length_prior(Index groups) {
  return {portable_log(2.0) + 0.5 * portable_log(static_cast<double>(groups)),
          1};
}

constexpr normal_prior signal_prior{0, 0.5};
constexpr normal_prior noise_prior{-6, 2};

/// The coordinates over the lengths of their groups.
MatrixXd scaled(const gp_points& x, const VectorXd& lengths) {
  auto result = x.at;
  for (Index i = 0; i < result.rows(); ++i)
    result.row(i) /= lengths[x.group[static_cast<std::size_t>(i)]];
  return result;
}

/// The distances of columns of `x` from those of `y`.
MatrixXd distances(const MatrixXd& x, const MatrixXd& y) {
  MatrixXd result = -2 * x.transpose() * y;
  result.colwise() += x.colwise().squaredNorm().transpose();
  result.rowwise() += y.colwise().squaredNorm();
  result = result.array().max(0).sqrt();
  return result;
}

/// Puts a function of each number in its place, by Eigen's own exponential. Of
/// an odd count Eigen leaves the last one to the library, whose exponential is
/// not the same on every CPU: here that is one of a pair, too.
/// @param change what is done to an array
template <class Function>
void transform(MatrixXd& xs, const Function& change) {
  if (xs.size() == 0)
    return;
  auto& last = xs.data()[xs.size() - 1];
  Eigen::Array2d pair = Eigen::Array2d::Constant(last);
  change(pair);
  auto all = xs.array();
  change(all);
  last = pair[0];
}

/// The Matern 5/2 kernel at scaled distances, which it takes the place of: a
/// matrix that is made anew costs as much as what is computed of it.
void to_matern(MatrixXd& distances, double signal) {
  const double root = std::sqrt(5.0);
  transform(distances, [=](auto& r) {
    r = signal * (1 + root * r + (5.0 / 3) * r.square()) * (-root * r).exp();
  });
}

/// Adds the density of a number's logarithm to a loss and its derivative.
void add_prior(const normal_prior& prior, double x, double& loss,
               double& slope) {
  const auto off = (x - prior.mean) / prior.deviation;
  loss += off * off / 2;
  slope += off / prior.deviation;
}

gp_kernel kernel_of(const VectorXd& parameters, double noise_least) {
  const auto groups = parameters.size() - 2;
  gp_kernel result{groups};
  for (Index i = 0; i < groups; ++i)
    result.lengths[i] = portable_exp(parameters[i]);
  result.signal = portable_exp(parameters[groups]);
  result.noise = noise_least + portable_exp(parameters[groups + 1]);
  return result;
}

VectorXd parameters_of(const gp_kernel& x, double noise_least) {
  const auto groups = x.lengths.size();
  VectorXd result(groups + 2);
  for (Index i = 0; i < groups; ++i)
    result[i] = portable_log(x.lengths[i]);
  result[groups] = portable_log(x.signal);
  result[groups + 1] = portable_log(std::max(x.noise - noise_least, noise_min));
  return result;
}

/// The sum of the weighted squared distances of points in each group.
/// @param weights symmetric
VectorXd spread_by_group(const gp_points& x, const MatrixXd& weights,
                         Index groups) {
  const VectorXd sums = weights.rowwise().sum();
  const MatrixXd weighted = x.at * weights;
  VectorXd result = VectorXd::Zero(groups);
  for (Index i = 0; i < x.at.rows(); ++i)
    result[x.group[static_cast<std::size_t>(i)]] +=
      2
      * (x.at.row(i).array().square().matrix().dot(sums)
         - weighted.row(i).dot(x.at.row(i)));
  return result;
}

} // namespace

// -- the kernel ---------------------------------------------------------------

gp_kernel::gp_kernel(Index groups, double noise_least)
  : lengths(
    VectorXd::Constant(groups, portable_exp(length_prior(groups).mean))),
    signal(portable_exp(signal_prior.mean)),
    noise(noise_least + portable_exp(noise_prior.mean)) {}

MatrixXd gp_kernel::covariance(const gp_points& left,
                               const gp_points& right) const {
  auto result = distances(scaled(left, lengths), scaled(right, lengths));
  to_matern(result, signal);
  return result;
}

double fit_loss(const gp_points& points, const VectorXd& values,
                const VectorXd& parameters, VectorXd& gradient,
                double noise_least) {
  const auto kernel = kernel_of(parameters, noise_least);
  const auto groups = kernel.lengths.size();
  const auto n = points.size();
  const auto coordinates = scaled(points, kernel.lengths);
  const auto apart = distances(coordinates, coordinates);
  auto own = apart;
  to_matern(own, kernel.signal);
  MatrixXd covariance = own;
  covariance.diagonal().array() += kernel.noise;
  const Eigen::LLT<MatrixXd> factor{covariance};
  if (factor.info() != Eigen::Success) {
    gradient.setZero();
    return std::numeric_limits<double>::infinity();
  }
  const VectorXd weights = factor.solve(values);
  auto loss = 0.5 * values.dot(weights);
  for (Index i = 0; i < n; ++i)
    loss += portable_log(factor.matrixLLT()(i, i));
  // Half of tr((K^-1 - w w^T) dK), for each parameter.
  MatrixXd slopes = factor.solve(MatrixXd::Identity(n, n));
  slopes -= weights * weights.transpose();
  gradient.resize(groups + 2);
  gradient[groups] = 0.5 * (slopes.array() * own.array()).sum();
  gradient[groups + 1] = 0.5 * slopes.trace() * (kernel.noise - noise_least);
  const double root = std::sqrt(5.0);
  auto by_square = apart;
  transform(by_square, [=, signal = kernel.signal](auto& r) {
    r = signal * (5.0 / 6) * (1 + root * r) * (-root * r).exp();
  });
  by_square.array() *= slopes.array();
  gradient.head(groups) = spread_by_group(points, by_square, groups).array()
                          / kernel.lengths.array().square();
  for (Index i = 0; i < groups; ++i)
    add_prior(length_prior(groups), parameters[i], loss, gradient[i]);
  add_prior(signal_prior, parameters[groups], loss, gradient[groups]);
  add_prior(noise_prior, parameters[groups + 1], loss, gradient[groups + 1]);
  return loss;
}

gp_kernel fit_kernel(const gp_points& points, const VectorXd& values,
                     gp_kernel begin, double noise_least) {
  assert(points.size() == values.size());
  const auto first = parameters_of(begin, noise_least);
  auto best = first;
  auto least = std::numeric_limits<double>::infinity();
  auto loss = [&](const VectorXd& x, VectorXd& gradient) {
    const auto result = fit_loss(points, values, x, gradient, noise_least);
    if (result < least) {
      least = result;
      best = x;
    }
    return result;
  };
  for (const auto off : {0.0, less_noise}) {
    auto from = first;
    from[from.size() - 1] -= off;
    descend(loss, std::move(from));
  }
  return std::isfinite(least) ? kernel_of(best, noise_least) : std::move(begin);
}

// -- the posterior ------------------------------------------------------------

gp_posterior::gp_posterior(gp_kernel kernel, gp_points points,
                           const VectorXd& values, const gp_points& pending)
  : kernel_(std::move(kernel)), points_(std::move(points)) {
  const auto known = points_.size();
  assert(known == values.size());
  points_.at.conservativeResize(Eigen::NoChange, known + pending.size());
  points_.at.rightCols(pending.size()) = pending.at;
  factor_ = kernel_.covariance(points_, points_);
  factor_.diagonal().array() += kernel_.noise;
  const Eigen::LLT<Eigen::Ref<MatrixXd>> in_place{factor_};
  // Its first rows are the factor of what is known.
  const auto own =
    factor_.topLeftCorner(known, known).triangularView<Eigen::Lower>();
  weights_ = own.transpose().solve(own.solve(values));
}

VectorXd gp_posterior::means(const gp_points& inputs) const {
  const gp_points known{points_.at.leftCols(weights_.size()), points_.group};
  return kernel_.covariance(known, inputs).transpose() * weights_;
}

gp_posterior::prediction gp_posterior::predict(const gp_points& inputs) const {
  MatrixXd shared = kernel_.covariance(points_, inputs);
  prediction result;
  result.means = shared.topRows(weights_.size()).transpose() * weights_;
  factor_.triangularView<Eigen::Lower>().solveInPlace(shared);
  result.variances = (kernel_.signal - shared.colwise().squaredNorm().array())
                       .max(1e-12 * kernel_.signal)
                       .matrix()
                       .transpose();
  return result;
}

// -- expected improvement -----------------------------------------------------

namespace {

double log_normal_density(double z) {
  return -z * z / 2 - portable_log(2 * std::numbers::pi) / 2;
}

/// The continued fraction 1 / (t + 2 / (t + 3 / ...)): Mills' ratio, of the
/// probability above t to the density there, is 1 / (t + k).
/// @param t at least 1
double mills_fraction(double t) {
  double k = 0;
  for (int i = 150; i > 0; --i)
    k = i / (t + k);
  return k;
}

/// The standard normal distribution, by operations of which every CPU gives the
/// same bits.
/// @param z above -1
double portable_normal_below(double z) {
  const auto density = portable_exp(log_normal_density(z));
  if (z > 1)
    return 1 - density / (z + mills_fraction(z));
  // Taylor's series of its ratio to the density.
  auto term = z, sum = z;
  for (int i = 3; i < 40; i += 2) {
    term *= z * z / i;
    sum += term;
  }
  return 0.5 + density * sum;
}

} // namespace

double log_expected_improvement(double mean, double deviation, double best) {
  assert(deviation > 0);
  const auto z = (mean - best) / deviation;
  const auto log_density = log_normal_density(z);
  // EI = deviation * (density + z * distribution).
  if (z > -1)
    return portable_log(deviation)
           + portable_log(portable_exp(log_density)
                          + z * portable_normal_below(z));
  // With t = -z it is deviation * density * k / (t + k), of which nothing
  // cancels.
  const auto k = mills_fraction(-z);
  return portable_log(deviation) + log_density + portable_log(k / (k - z));
}

double log_probability_above_zero(double mean, double deviation) {
  assert(deviation > 0);
  const auto z = mean / deviation;
  return z > -1 ? portable_log(portable_normal_below(z))
                : log_normal_density(z) - portable_log(mills_fraction(-z) - z);
}

} // namespace hippo
