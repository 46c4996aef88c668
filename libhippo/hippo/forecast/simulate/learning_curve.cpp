#include "hippo/forecast/simulate/learning_curve.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "hippo/base/hash.hpp"
#include "hippo/forecast/simulate/draw.hpp"

namespace hippo {

namespace {

double value_of(const configuration& config, const std::string& name,
                step_t at) {
  return std::get<double>(config.at(name).at(at));
}

double value_of(const configuration& config, const curve_input& x, step_t at) {
  return x.name.empty() ? x.fixed : value_of(config, x.name, at);
}

/// The learning rate of gradient descent that momentum comes to.
double effective_rate(const curve_settings& settings,
                      const configuration& config, step_t at) {
  auto result = value_of(config, settings.learning_rate, at)
                / (1 - value_of(config, settings.momentum, at));
  for (const auto& [name, factors] : settings.learning_rate_factors) {
    const auto word = std::get<std::string>(config.at(name).at(at));
    if (const auto i = factors.find(word); i != factors.end())
      result *= i->second;
  }
  return result;
}

double regularisation(const curve_settings& settings,
                      const configuration& config, step_t at) {
  double result = 0;
  for (const auto& [name, full] : settings.regularisers)
    result += value_of(config, name, at) / full;
  return result;
}

/// Of a curve that is drawn, half of what there is to gain is gained in so many
/// steps.
constexpr double drawn_steps = 5;

/// Returns 1 + r + r^2 + ... of `n` terms, `power` being r^n.
double geometric_sum(double r, double n, double power) {
  return r == 1 ? n : (1 - power) / (1 - r);
}

} // namespace

std::uint64_t digest_of(const curve_state& state) noexcept {
  if (state.history != 0)
    return state.history;
  return hash_numbers(
    {hash_bytes(state.distance.data(), sizeof(state.distance)),
     std::bit_cast<std::uint64_t>(state.gap)});
}

learning_curve::learning_curve(curve_settings settings, std::uint64_t salt)
  : settings_(std::move(settings)), salt_(salt) {
  const auto ratio = settings_.flatness / settings_.sharpness;
  for (std::size_t i = 0; i < curve_directions; ++i)
    curvature_[i] =
      settings_.sharpness
      * std::pow(ratio, static_cast<double>(i) / (curve_directions - 1));
}

double learning_curve::batch_size(const configuration& config,
                                  step_t at) const {
  return value_of(config, settings_.batch_size, at);
}

void learning_curve::train(curve_state& state, const configuration& config,
                           step_t at) const {
  if (settings_.is_drawn) {
    draw_step(state, config, at);
    return;
  }
  const auto strength = regularisation(settings_, config, at);
  const auto rate = effective_rate(settings_, config, at);
  const auto batch = batch_size(config, at);
  const auto before = excess(state);
  const auto sharpest =
    settings_.sharpness
    * (1 + (settings_.early_sharpness - 1) * std::min(before * before, 1.0));
  // Written so that NaN, of a state or a value, is refused too.
  if (!(rate >= 0 && rate * sharpest < 2 && batch > 0)) {
    state.distance.fill(std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const auto iterations =
    settings_.samples_per_step / batch / (1 + settings_.slowdown * strength);
  for (std::size_t i = 0; i < curve_directions; ++i) {
    const auto kept = (1 - rate * curvature_[i]) * (1 - rate * curvature_[i]);
    const auto noise =
      rate * rate * settings_.gradient_noise * curvature_[i] / batch;
    const auto power = std::pow(kept, iterations);
    state.distance[i] = power * state.distance[i]
                        + noise * geometric_sum(kept, iterations, power);
  }
  const auto fitted = std::max(0.0, 1 - excess(state));
  const auto target = settings_.overfitting * std::exp(-strength) * fitted;
  state.gap +=
    (target - state.gap) * -std::expm1(-1 / settings_.overfitting_steps);
}

void learning_curve::draw_step(curve_state& state, const configuration& config,
                               step_t at) const {
  auto address = salt_;
  for (const auto& [name, values] : config)
    address = hash_numbers({address, hash_bytes(name.data(), name.size()),
                            hash_scalar(values.at(at))});
  state.distance[0] += 1; // one more than the steps
  state.gap += uniform_at(address);
}

metrics learning_curve::drawn(const curve_state& state) const {
  const auto steps = state.distance[0] - 1;
  const auto quality = steps > 0 ? state.gap / steps : 0;
  const auto gained
    = steps / (steps + drawn_steps) * (0.5 + 0.5 * quality);
  metrics result;
  for (const auto& m : settings_.metrics)
    result.emplace(m.name, m.start + (m.best - m.start) * gained);
  return result;
}

metrics learning_curve::evaluate(const curve_state& state) const {
  if (settings_.is_drawn)
    return drawn(state);
  const auto noise = settings_.evaluation_noise
                     * normal_at(hash_numbers({salt_, digest_of(state)}));
  metrics result;
  for (const auto& m : settings_.metrics) {
    const auto seen = excess(state) + (m.overfits ? state.gap : 0);
    // NaN stays NaN: std::min returns its first argument then.
    const auto left = std::min(std::pow(seen, m.power) + noise, 1.0);
    result.emplace(m.name, m.start * left + m.best * (1 - left));
  }
  return result;
}

double learning_curve::excess(const curve_state& state) noexcept {
  double sum = 0;
  for (const auto e : state.distance)
    sum += e;
  return sum / curve_directions;
}

} // namespace hippo
