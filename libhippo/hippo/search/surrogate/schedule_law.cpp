#include "hippo/search/surrogate/schedule_law.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "hippo/search/surrogate/descent.hpp"

namespace hippo {

namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::VectorXd;

/// Ranges of steps that the curves of a schedule are read by.
constexpr step_t ranges_max = 32;

constexpr std::size_t points_min = 8;

/// Rates and sums are no smaller, as shares of their units.
constexpr double share_min = 1e-3;

/// Of the logarithms of what the loss is not linear in: what is likeliest, and
/// the standard deviation.
struct normal_prior {
  double mean = 0;
  double deviation = 1;
};

constexpr normal_prior alpha_prior{-0.7, 0.7}; ///< about 1/2
constexpr normal_prior pace_prior{6, 2};       ///< about 400

/// A fit begins so far from the likeliest pace, in its logarithm.
constexpr std::array<double, 2> begins{-2, 1};

/// Errors of more deviations weigh less (Huber, 1964).
constexpr double normal_errors = 1.345;

/// Adds up a schedule, change by change.
class rate_reader {
public:
  /// The rate goes from `from` to `to`, evenly, in `steps` steps.
  bool run(double from, double to, step_t steps) {
    const auto sum =
      steps == 1 ? from : (from + to) / 2 * static_cast<double>(steps);
    if (!jump(from) || !change(from, to, path_.sum + sum / 2, (from + to) / 2))
      return false;
    path_.sum += sum;
    return true;
  }

  rate_path end() {
    for (auto& x : path_.changes)
      x.sum = path_.sum - x.sum;
    return std::move(path_);
  }

private:
  static bool is_rate(double x) { return std::isfinite(x) && x >= 0; }

  bool change(double from, double to, double at, double after) {
    if (!is_rate(to))
      return false;
    path_.top = std::max({path_.top, from, to});
    if (to < from || (to > from && !path_.changes.empty()))
      path_.changes.push_back({from - to, after, at});
    rate_ = to;
    return true;
  }

  bool jump(double to) { return change(rate_.value_or(to), to, path_.sum, to); }

  rate_path path_; ///< its changes with the sums before them
  std::optional<double> rate_;
};

} // namespace

std::optional<rate_path> read_rates(const sequence& rates, step_t steps) {
  const auto& pieces = rates.pieces();
  step_t curves = 0;
  for (const auto& x : pieces) {
    if (x.shape.kind == form_kind::text)
      return std::nullopt;
    curves += x.begin < steps && !x.shape.is_plateau();
  }
  rate_reader reader;
  for (std::size_t i = 0; i < pieces.size() && pieces[i].begin < steps; ++i) {
    const auto& shape = pieces[i].shape;
    const auto begin = pieces[i].begin;
    const auto end =
      i + 1 < pieces.size() ? std::min(pieces[i + 1].begin, steps) : steps;
    const auto length = end - begin;
    const auto ranges =
      shape.is_plateau()
        ? 1
        : std::min(length, std::max(ranges_max / curves, step_t{1}));
    auto from = shape.exact_at(begin);
    for (step_t k = 0; k < ranges; ++k) {
      const auto first = begin + k * length / ranges;
      const auto last = begin + (k + 1) * length / ranges;
      const auto to = shape.exact_at(last);
      if (!reader.run(from, to, last - first))
        return std::nullopt;
      from = to;
    }
  }
  return reader.end();
}

double schedule_law::loss(const rate_path& rates) const {
  const auto sum = std::max(rates.sum / sum_unit, share_min);
  double fallen = 0;
  for (const auto& x : rates.changes) {
    const auto rate = std::max(x.rate / rate_unit, share_min);
    const auto x_k = x.sum / sum_unit / std::sqrt(rate);
    fallen += x.fall / rate_unit * (1 - 1 / std::sqrt(1 + pace * x_k));
  }
  return limit + gain * std::pow(sum, -alpha) - drop * fallen;
}

namespace {

void add_prior(const normal_prior& prior, double x, double& loss,
               double& slope) {
  const auto off = (x - prior.mean) / prior.deviation;
  loss += off * off / 2;
  slope += off / prior.deviation;
}

/// Points as a fit looks at them: their changes one after the other.
class law_fit {
public:
  explicit law_fit(const std::vector<law_point>& points) {
    const auto n = static_cast<Index>(points.size());
    std::size_t changes = 0;
    for (const auto& x : points) {
      unit_.sum_unit = std::max(unit_.sum_unit, x.rates.sum);
      unit_.rate_unit = std::max(unit_.rate_unit, x.rates.top);
      changes += x.rates.changes.size();
    }
    log_sums_.resize(n);
    losses_.resize(n);
    begins_.resize(points.size() + 1);
    const auto m = static_cast<Index>(changes);
    falls_.resize(m);
    ways_.resize(m);
    Index k = 0;
    for (Index i = 0; i < n; ++i) {
      const auto& x = points[static_cast<std::size_t>(i)];
      losses_[i] = x.loss;
      log_sums_[i] =
        std::log(std::max(x.rates.sum / unit_.sum_unit, share_min));
      begins_[static_cast<std::size_t>(i)] = k;
      for (const auto& y : x.rates.changes) {
        const auto rate = std::max(y.rate / unit_.rate_unit, share_min);
        falls_[k] = y.fall / unit_.rate_unit;
        ways_[k] = y.sum / unit_.sum_unit / std::sqrt(rate);
        ++k;
      }
    }
    begins_.back() = k;
    weights_ = losses_.square().inverse();
  }

  std::optional<schedule_law> best() {
    least_ = std::numeric_limits<double>::infinity();
    for (const auto off : begins)
      descend(*this, Eigen::Vector2d{alpha_prior.mean, pace_prior.mean + off});
    return std::isfinite(least_) ? std::optional{best_} : std::nullopt;
  }

  /// Lets what is far from a law weigh less.
  void weigh(const schedule_law& law, const std::vector<law_point>& points) {
    ArrayXd errors{losses_.size()};
    for (Index i = 0; i < errors.size(); ++i)
      errors[i] = std::abs(
        law.loss(points[static_cast<std::size_t>(i)].rates) / losses_[i] - 1);
    auto sorted = errors;
    std::sort(sorted.begin(), sorted.end());
    const auto usual = normal_errors * 1.4826 * sorted[sorted.size() / 2];
    for (Index i = 0; i < errors.size(); ++i)
      if (errors[i] > usual)
        weights_[i] *= usual / errors[i];
  }

  /// The minimised function, n / 2 * log(squares) less the logarithm of the
  /// prior, and its gradient.
  /// @param x the logarithms of alpha and pace
  double operator()(const VectorXd& x, VectorXd& gradient) {
    gradient = VectorXd::Zero(x.size());
    auto law = unit_;
    law.alpha = std::exp(x[0]);
    law.pace = std::exp(x[1]);
    const ArrayXd powers = (-law.alpha * log_sums_).exp();
    const ArrayXd reached = 1 + law.pace * ways_;
    const ArrayXd left = falls_ * reached.rsqrt();
    const ArrayXd fallen = by_point(falls_ - left);
    fit_linear(law, powers, fallen);
    const ArrayXd errors =
      losses_ - law.limit - law.gain * powers + law.drop * fallen;
    const auto count = static_cast<double>(losses_.size());
    // A law that is exact has errors of rounding.
    const auto squares = (weights_ * errors.square()).sum() + 1e-12 * count;
    if (!std::isfinite(squares))
      return std::numeric_limits<double>::infinity();
    auto result = count / 2 * std::log(squares);
    // By what the loss is linear in, which is at its best, it does not change.
    const ArrayXd pull = count / squares * weights_ * errors;
    gradient[0] = law.alpha * law.gain * (pull * powers * log_sums_).sum();
    gradient[1] =
      law.drop * (pull * by_point(left / 2 * (1 - reached.inverse()))).sum();
    add_prior(alpha_prior, x[0], result, gradient[0]);
    add_prior(pace_prior, x[1], result, gradient[1]);
    if (result < least_) {
      least_ = result;
      best_ = law;
    }
    return result;
  }

private:
  [[nodiscard]] ArrayXd by_point(const ArrayXd& xs) const {
    ArrayXd result{losses_.size()};
    for (Index i = 0; i < result.size(); ++i) {
      const auto begin = begins_[static_cast<std::size_t>(i)];
      const auto end = begins_[static_cast<std::size_t>(i) + 1];
      result[i] = xs.segment(begin, end - begin).sum();
    }
    return result;
  }

  /// Sets what the loss is linear in, none of which is below 0, to the least
  /// squares: of all subsets that are not held at 0 the best that is allowed.
  void fit_linear(schedule_law& law, const ArrayXd& powers,
                  const ArrayXd& fallen) const {
    Eigen::Matrix<double, Eigen::Dynamic, 3> columns{losses_.size(), 3};
    columns.col(0).setOnes();
    columns.col(1) = powers;
    columns.col(2) = -fallen;
    const Eigen::Matrix<double, Eigen::Dynamic, 3> weighed =
      columns.array().colwise() * weights_;
    const Eigen::Matrix3d products = weighed.transpose() * columns;
    const Eigen::Vector3d targets = weighed.transpose() * losses_.matrix();
    auto most = -std::numeric_limits<double>::infinity();
    Eigen::Vector3d best = Eigen::Vector3d::Zero();
    for (unsigned subset = 1; subset < 8; ++subset) {
      Eigen::Matrix3d left = products;
      Eigen::Vector3d right = targets;
      for (Index i = 0; i < 3; ++i) {
        if ((subset >> i & 1U) == 0) {
          left.row(i).setZero();
          left.col(i).setZero();
          right[i] = 0;
          left(i, i) = 1;
        }
        left(i, i) *= 1 + 1e-10;
        left(i, i) += 1e-300;
      }
      const Eigen::Vector3d found = left.ldlt().solve(right);
      const auto explained =
        2 * found.dot(targets) - found.dot(products * found);
      if (found.minCoeff() >= 0 && explained > most) {
        most = explained;
        best = found;
      }
    }
    law.limit = best[0];
    law.gain = best[1];
    law.drop = best[2];
  }

  schedule_law unit_{.rate_unit = 1e-300, .sum_unit = 1e-300};
  ArrayXd log_sums_; ///< by point
  ArrayXd losses_;
  ArrayXd weights_;
  std::vector<Index> begins_; ///< where its changes begin
  ArrayXd falls_;             ///< by change
  ArrayXd ways_;              ///< by change: the `x` of `schedule_law`
  double least_ = 0;
  schedule_law best_;
};

} // namespace

std::optional<schedule_law>
fit_schedule_law(const std::vector<law_point>& points) {
  if (points.size() < points_min
      || !std::all_of(points.begin(), points.end(),
                      [](const auto& x) { return x.loss > 0; }))
    return std::nullopt;
  law_fit fit{points};
  const auto first = fit.best();
  if (!first)
    return std::nullopt;
  fit.weigh(*first, points);
  const auto second = fit.best();
  return second ? second : first;
}

} // namespace hippo
