#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hippo/base/types.hpp"
#include "hippo/sequence/configuration.hpp"

namespace hippo {

/// One of the inputs of the model: a hyper-parameter's value, or a
/// number that no hyper-parameter changes.
struct curve_input {
  std::string name; ///< of the hyper-parameter; empty: it is `fixed`
  double fixed = 0;
};

/// How a metric follows from the excess loss: it is `start` at the first state,
/// where the excess is 1, and `best` where the excess is 0; in between
/// `best + (start - best) * excess^power`. It never is worse than `start`.
struct curve_metric {
  std::string name;
  double start = 0;
  double best = 0;
  double power = 1;
  bool overfits = true; ///< measured on data that are not trained on
};

/// The constants of a learning curve.
struct curve_settings {
  curve_input learning_rate{"lr", 0};
  curve_input momentum{"momentum", 0};
  curve_input batch_size{"batch_size", 0};
  /// Hyper-parameters whose words multiply the learning rate: an optimiser for
  /// which another range of learning rates is right.
  std::map<std::string, std::map<std::string, double>> learning_rate_factors;
  /// Hyper-parameters that regularise, each with the value that counts as 1.
  std::map<std::string, double> regularisers;

  double samples_per_step = 1; ///< divided by batch size: iterations of a step
  /// Largest curvature once trained: training diverges where the effective
  /// learning rate, `lr / (1 - momentum)`, reaches 2 / `sharpness`.
  double sharpness = 1;
  double flatness = 1e-4; ///< the smallest curvature
  /// How many times sharper the first state is; falls with the excess loss.
  double early_sharpness = 1;
  /// At a constant learning rate an excess of about effective learning rate *
  /// `gradient_noise` / (2 * batch size) remains.
  double gradient_noise = 0;
  double overfitting = 0;       ///< excess that overfitting adds at the most
  double overfitting_steps = 1; ///< in which most of it comes about
  double slowdown = 0; ///< regularisation of 1 makes training so much slower
  /// Standard deviation of a measured metric, as a share of start - best.
  double evaluation_noise = 0;
  std::vector<curve_metric> metrics;
  /// Nothing is known of the curve: the rest but `batch_size` and `metrics` is
  /// of no matter, and a state's quality is drawn, see `learning_curve`.
  bool is_drawn = false;
};

/// How many directions of curvature the model has.
inline constexpr std::size_t curve_directions = 16;

/// A state of simulated training: all that a later step or measurement reads.
struct curve_state {
  curve_state() { distance.fill(1); }

  /// Expected squared distance from the optimum along each direction, from the
  /// sharpest to the flattest, as a share of that of the first state. NaN once
  /// training has diverged.
  std::array<double, curve_directions> distance;
  double gap = 0; ///< excess that overfitting has added by now
  /// Of training that a table plays (`result_table::state`), else 0.
  std::uint64_t history = 0;

  friend bool operator==(const curve_state&, const curve_state&) = default;
};

/// Hashes a state: equal ones have equal hashes, on one kind of machine.
std::uint64_t digest_of(const curve_state& state) noexcept;

/// A deterministic model of training, for simulations: the noisy quadratic
/// model of Zhang et al., "Which Algorithmic Choices Matter at Which Batch
/// Sizes? Insights From a Noisy Quadratic Model" (NeurIPS 2019, arXiv
/// 1907.04164).
///
/// The loss is a quadratic with curvatures h_k from `sharpness` to `flatness`
/// at equal ratios, each standing for as much of the first state's loss: the
/// paper's spectrum h_i = 1 / i. Along each direction an iteration of gradient
/// descent with learning rate a and batch size B changes the expected squared
/// distance e to
///
///     (1 - a h)^2 e + a^2 c / B, with noise c = gradient_noise * h
///
/// so n iterations, with r = (1 - a h)^2, give
///
///     r^n e + a^2 c / B * (1 - r^n) / (1 - r)
///
/// Momentum enters as the effective learning rate a = lr / (1 - momentum). The
/// excess loss is the mean of e over the directions.
///
/// Three things are added, which a quadratic does not have: the first states
/// are sharper than later ones (so that a warm-up permits larger learning
/// rates), regularisation of strength R slows learning down by the factor
/// 1 + slowdown * R, and a fitted model overfits: its gap moves towards
/// overfitting * exp(-R) * (1 - excess) within `overfitting_steps`.
///
/// A curve that `is_drawn` has none of this. Each step has a quality from 0 to
/// 1, drawn by the hyper-parameter values there and the salt; that of a state
/// is the mean over its steps, and its metrics come the nearer to `best` the
/// better it is and the more steps there were.
///
/// Immutable and thread-safe. A state and what is measured of it are functions
/// of the settings, the salt and the hyper-parameter values, step by step.
class learning_curve {
public:
  /// @param salt decides the noise of measurements
  explicit learning_curve(curve_settings settings, std::uint64_t salt = 0);

  /// Goes from state `at` to state `at + 1`. A state that has diverged stays
  /// so. O(directions).
  /// REQUIRES: `config` has every hyper-parameter that the settings name, a
  /// number or a word as they say.
  void train(curve_state& state, const configuration& config, step_t at) const;

  /// Returns the batch size of step `at`.
  [[nodiscard]] double batch_size(const configuration& config,
                                  step_t at) const;

  /// Measures all metrics; NaN if `state` has diverged. Measuring a state again
  /// gives the same.
  [[nodiscard]] metrics evaluate(const curve_state& state) const;

  /// Returns the excess loss: 1 at first, 0 at best.
  [[nodiscard]] static double excess(const curve_state& state) noexcept;

private:
  void draw_step(curve_state& state, const configuration& config,
                 step_t at) const;
  [[nodiscard]] metrics drawn(const curve_state& state) const;

  curve_settings settings_;
  std::uint64_t salt_;
  std::array<double, curve_directions> curvature_;
};

} // namespace hippo
