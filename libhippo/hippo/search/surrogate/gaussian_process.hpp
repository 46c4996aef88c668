#pragma once

#include <cstdint>
#include <vector>

#include <Eigen/Core>

namespace hippo {

/// Points at which a function is known or asked for, one a column. Coordinates
/// come in groups, which the kernel scales each on its own.
struct gp_points {
  Eigen::MatrixXd at;               ///< coordinates x points
  std::vector<std::uint32_t> group; ///< of each coordinate, counted from 0
  [[nodiscard]] Eigen::Index size() const { return at.cols(); }
};

/// Nothing is measured more exactly than that, as a variance: it keeps matrices
/// regular.
inline constexpr double noise_min = 1e-6;

/// All that follows gives the same bits on every CPU of one architecture: it is
/// made of operations that IEEE 754 defines, in one order, and of an
/// exponential and a logarithm of our own and of Eigen, as long as Eigen is
/// built for one instruction set.
///
/// The prior of a Gaussian process over a function: its mean is 0, and
/// the covariance of two points that lie r apart is that of the Matern 5/2
/// kernel, `signal * (1 + sqrt(5) r + 5/3 r^2) * exp(-sqrt(5) r)`, where r^2 is
/// the sum, over the groups, of the squared distance / length^2.
struct gp_kernel {
  Eigen::VectorXd lengths; ///< of the groups, above 0
  double signal = 1;       ///< variance of the function
  double noise = 1e-3;     ///< variance of what is measured of it

  /// The likeliest values before anything is known.
  explicit gp_kernel(Eigen::Index groups, double noise_least = noise_min);

  /// Returns the covariances of two sets of points, without noise.
  [[nodiscard]] Eigen::MatrixXd covariance(const gp_points& left,
                                           const gp_points& right) const;
};

/// Fits a kernel to values by their marginal likelihood and a prior that is
/// log-normal in each number (maximum a posteriori; Rasmussen and Williams,
/// *Gaussian Processes for Machine Learning*, 2006, chapter 5), by L-BFGS from
/// `begin`, and from there with less noise: the better of two. The values
/// should be of about unit variance.
/// @param noise_least what the noise is at least
/// @complexity O(n^3 + coordinates * n^2) for each of up to 60 iterations
gp_kernel fit_kernel(const gp_points& points, const Eigen::VectorXd& values,
                     gp_kernel begin, double noise_least = noise_min);

/// Returns minus the logarithm of what `fit_kernel` maximises, but for a
/// constant.
/// @param parameters the logarithms of the lengths, the signal and the noise
///                   beyond `noise_least`
/// @param gradient is set to the derivatives by the parameters
double fit_loss(const gp_points& points, const Eigen::VectorXd& values,
                const Eigen::VectorXd& parameters, Eigen::VectorXd& gradient,
                double noise_least = noise_min);

/// The posterior of a function, given values of it.
class gp_posterior {
public:
  /// @param pending points whose values will be known before any that is asked
  ///                for: they count at their means, so that they leave all
  ///                means as they are and take variance away (the "kriging
  ///                believer"; Ginsbourger et al., 2010)
  /// @complexity O((n + pending)^3)
  gp_posterior(gp_kernel kernel, gp_points points,
               const Eigen::VectorXd& values, const gp_points& pending);

  /// The means of the function at some points. O(n) each.
  [[nodiscard]] Eigen::VectorXd means(const gp_points& inputs) const;

  struct prediction {
    Eigen::VectorXd means;
    Eigen::VectorXd variances; ///< of the function, without noise
  };

  /// Means with their variances. O((n + pending)^2) each.
  [[nodiscard]] prediction predict(const gp_points& inputs) const;

private:
  gp_kernel kernel_;
  gp_points points_; ///< then those that are pending
  Eigen::VectorXd weights_; ///< of the covariances with what is known
  Eigen::MatrixXd factor_;  ///< its lower half: Cholesky's, of all points
};

/// Returns the logarithm of the expected improvement of a normal variable over
/// `best`, where more is better: finite and rising in `mean` however far below
/// it lies (Ament et al., *Unexpected Improvements to Expected Improvement for
/// Bayesian Optimization*, NeurIPS 2023).
/// @param deviation above 0
double log_expected_improvement(double mean, double deviation, double best);

/// Returns the logarithm of the probability that a normal variable is above 0:
/// finite and rising in `mean` however far below it lies.
/// @param deviation above 0
double log_probability_above_zero(double mean, double deviation);

} // namespace hippo
