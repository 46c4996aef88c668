#include "hippo/plan/schedule/step_model.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include <Eigen/Dense>

namespace hippo {

namespace {

using coefficients = std::array<double, 3>;

/// From so far off on, a logarithm's residual counts by its size, not by its
/// square.
constexpr double huber_scale = 0.1;
constexpr int rounds = 30;

/// Of a normal distribution, 95 of 100 lie within so many deviations.
constexpr double normal_95 = 1.96;

coefficients features(double batch, const workload_size& size) {
  return {1, batch * size.operations, size.parameters};
}

double product(const coefficients& x, const coefficients& y) {
  return x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
}

/// Least squares with weights, of coefficients that are not negative: the best
/// of those that leave some of the three out and have no negative one.
coefficients solve(const std::vector<coefficients>& xs,
                   const std::vector<double>& ys,
                   const std::vector<double>& weights) {
  Eigen::Matrix3d normal = Eigen::Matrix3d::Zero();
  Eigen::Vector3d right = Eigen::Vector3d::Zero();
  for (std::size_t i = 0; i < xs.size(); ++i)
    for (int j = 0; j < 3; ++j) {
      right[j] += weights[i] * xs[i][static_cast<std::size_t>(j)] * ys[i];
      for (int k = 0; k < 3; ++k)
        normal(j, k) += weights[i] * xs[i][static_cast<std::size_t>(j)]
                        * xs[i][static_cast<std::size_t>(k)];
    }
  // The features differ by ten orders of magnitude.
  Eigen::Vector3d scale = normal.diagonal().cwiseSqrt();
  for (int j = 0; j < 3; ++j)
    if (!(scale[j] > 0))
      scale[j] = 1;
  coefficients result{};
  double least = std::numeric_limits<double>::infinity();
  for (unsigned among = 1; among < 8; ++among) {
    Eigen::Matrix3d matrix = Eigen::Matrix3d::Identity();
    Eigen::Vector3d wanted = Eigen::Vector3d::Zero();
    for (int j = 0; j < 3; ++j) {
      if ((among >> j & 1u) == 0)
        continue;
      wanted[j] = right[j] / scale[j];
      for (int k = 0; k < 3; ++k)
        if ((among >> k & 1u) != 0)
          matrix(j, k) = normal(j, k) / (scale[j] * scale[k]);
    }
    const Eigen::FullPivLU<Eigen::Matrix3d> factor{matrix};
    if (!factor.isInvertible())
      continue;
    const Eigen::Vector3d found = factor.solve(wanted).cwiseQuotient(scale);
    if (!found.allFinite() || found.minCoeff() < 0)
      continue;
    // The error, but for what is the same for all.
    const double error = found.dot(normal * found) - 2 * found.dot(right);
    if (error >= least)
      continue;
    least = error;
    result = {found[0], found[1], found[2]};
  }
  return result;
}

double deviation_of(double squares, double freedom) {
  return std::sqrt(squares / std::max(1.0, freedom));
}

} // namespace

double margin_of(double deviation) {
  return std::expm1(normal_95 * deviation);
}

step_model::step_model(std::vector<step_profile> known)
  : known_(std::move(known)) {
  std::map<std::string, std::vector<step_profile>> by_kind;
  for (const auto& x : known_) {
    assert(x.seconds > 0 && x.weight > 0);
    if (x.size.is_known())
      by_kind[x.kind].push_back(x);
  }
  for (const auto& [kind, xs] : by_kind)
    if (auto found = fitted(xs))
      fits_.emplace(kind, *found);
}

std::optional<step_model::fit>
step_model::fitted(const std::vector<step_profile>& xs) {
  if (xs.size() < profiles_min)
    return std::nullopt;
  std::vector<coefficients> inputs;
  std::vector<double> seconds, weights;
  for (const auto& x : xs) {
    inputs.push_back(features(x.batch, x.size));
    seconds.push_back(x.seconds);
    // Beyond a few measurements it is not noise that makes it differ.
    weights.push_back(std::min(x.weight, 10.0) / (x.seconds * x.seconds));
  }
  fit result;
  result.coefficients = solve(inputs, seconds, weights);
  for (int round = 0; round < rounds; ++round) {
    auto robust = weights;
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const auto predicted = product(result.coefficients, inputs[i]);
      if (!(predicted > 0))
        return std::nullopt;
      const auto off = std::abs(std::log(predicted / seconds[i]));
      if (off > huber_scale)
        robust[i] *= huber_scale / off;
    }
    const auto next = solve(inputs, seconds, robust);
    const bool settled = next == result.coefficients;
    result.coefficients = next;
    if (settled)
      break;
  }
  double squares = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const auto predicted = product(result.coefficients, inputs[i]);
    if (!(predicted > 0))
      return std::nullopt;
    const auto off = std::log(predicted / seconds[i]);
    squares += off * off;
  }
  result.deviation
    = deviation_of(squares, static_cast<double>(xs.size()) - 3);
  return result;
}

std::optional<double> step_model::measured(const std::string& kind,
                                           const std::string& workload,
                                           double batch) const {
  const step_profile* below = nullptr;
  const step_profile* above = nullptr;
  for (const auto& x : known_) {
    if (x.kind != kind || x.workload != workload)
      continue;
    if (x.batch <= batch && (!below || x.batch > below->batch))
      below = &x;
    if (x.batch >= batch && (!above || x.batch < above->batch))
      above = &x;
  }
  if (!below || !above)
    return std::nullopt;
  if (below->batch == above->batch)
    return below->seconds;
  const auto part = (batch - below->batch) / (above->batch - below->batch);
  return below->seconds + part * (above->seconds - below->seconds);
}

std::optional<predicted_time>
step_model::by_ratio(const std::string& kind, const std::string& workload,
                     double batch) const {
  std::set<std::string> others;
  for (const auto& x : known_)
    if (x.kind != kind && x.workload == workload)
      others.insert(x.kind);
  std::optional<predicted_time> best;
  for (const auto& other : others) {
    const auto there = measured(other, workload, batch);
    if (!there)
      continue;
    double sum = 0, squares = 0, count = 0;
    for (const auto& x : known_) {
      if (x.kind != kind)
        continue;
      const auto seconds = measured(other, x.workload, x.batch);
      if (!seconds)
        continue;
      const auto ratio = std::log(x.seconds / *seconds);
      sum += ratio;
      squares += ratio * ratio;
      count += 1;
    }
    if (count == 0)
      continue;
    const auto mean = sum / count;
    const auto spread
      = deviation_of(std::max(0.0, squares - count * mean * mean), count - 1);
    // Of few ratios nobody knows how far they spread.
    const auto deviation
      = std::max(spread, deviation_of_one_ratio / std::sqrt(count));
    const predicted_time found{*there * std::exp(mean), margin_of(deviation)};
    if (!best || found.margin < best->margin)
      best = found;
  }
  return best;
}

std::optional<predicted_time>
step_model::predict(const std::string& kind, const std::string& workload,
                    double batch, const workload_size& size) const {
  if (const auto i = fits_.find(kind); i != fits_.end() && size.is_known())
    return predicted_time{
      product(i->second.coefficients, features(batch, size)),
      margin_of(i->second.deviation)};
  return by_ratio(kind, workload, batch);
}

} // namespace hippo
