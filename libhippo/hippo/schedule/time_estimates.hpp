#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "hippo/sequence/configuration.hpp"

namespace hippo {

/// How long things take, learned from what trainers report. All times are in
/// seconds.
///
/// A step's time is learned for each combination of the hyper-parameters that
/// affect it; what was never measured is taken to be the mean of what was, and
/// before anything was, one second.
class time_estimates {
public:
  /// @param speed_names the hyper-parameters that affect a step's time
  explicit time_estimates(std::vector<std::string> speed_names = {});

  /// Returns the speed-affecting values of `config` at step `at`, as text.
  [[nodiscard]] std::string speed_key(const configuration& config,
                                      step_t at) const;

  /// Takes in a measurement. Later ones weigh more.
  /// REQUIRES: `steps > 0`
  void learn_step(const std::string& speed_key, std::uint64_t steps,
                  double seconds);
  void learn_evaluate(double seconds) { evaluate_.learn(seconds, 1); }
  void learn_save(double seconds) { save_.learn(seconds, 1); }
  void learn_load(double seconds) { load_.learn(seconds, 1); }
  /// A lease has been silent for so long before it made its first step.
  void learn_first_step(double seconds) {
    first_step_ = std::max(first_step_.value_or(0), seconds);
  }
  /// Begins with what a step took in earlier runs; counts as one step.
  void begin_with(double step_seconds) { any_step_.learn(step_seconds, 1); }

  [[nodiscard]] double step_seconds(const std::string& speed_key) const;
  /// Whether any step was measured, here or in earlier runs.
  [[nodiscard]] bool has_trained() const { return any_step_.has_value(); }
  [[nodiscard]] double evaluate_seconds() const { return evaluate_.value(0); }
  [[nodiscard]] bool has_evaluated() const { return evaluate_.has_value(); }
  /// The longest time that a lease took to make its first step, all that comes
  /// before it included; nothing before one did.
  [[nodiscard]] std::optional<double> first_step_seconds() const {
    return first_step_;
  }
  /// Whether any checkpoint was saved yet.
  [[nodiscard]] bool has_saved() const { return save_.has_value(); }
  [[nodiscard]] double save_seconds() const { return save_.value(0); }
  /// Before any was loaded, what saving takes.
  [[nodiscard]] double load_seconds() const {
    return load_.value(save_seconds());
  }

  /// Grows whenever a step's estimate has moved by more than a fifth: what was
  /// computed from estimates of an earlier version is worth computing again.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

private:
  /// A mean in which each new measurement replaces a part of the old ones.
  class mean {
  public:
    void learn(double total, double weight);
    [[nodiscard]] bool has_value() const { return weight_ > 0; }
    [[nodiscard]] double value(double fallback) const {
      return has_value() ? total_ / weight_ : fallback;
    }

  private:
    double total_ = 0;
    double weight_ = 0;
  };

  struct step_time {
    mean seconds;
    double announced = 0; ///< the estimate at the last growth of `version_`
  };

  std::vector<std::string> speed_names_;
  std::unordered_map<std::string, step_time> steps_;
  mean any_step_;
  mean evaluate_;
  mean save_;
  mean load_;
  std::optional<double> first_step_;
  std::uint64_t version_ = 0;
};

} // namespace hippo
