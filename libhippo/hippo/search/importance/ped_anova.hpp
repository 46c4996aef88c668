#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hippo {

/// The values that a hyper-parameter may have, and the grid for them.
struct parameter_domain {
  bool is_category = false; ///< values are 0, 1, ... without an order
  bool is_log = false;      ///< the grid is one of logarithms
  double low = 0;
  double high = 0;
  std::size_t points = 1; ///< of the grid; or how many categories there are

  bool operator==(const parameter_domain&) const = default;
};

/// A grid of at most 50 points, as Optuna's.
parameter_domain real_domain(double low, double high, bool is_log = false);
parameter_domain integer_domain(double low, double high);
parameter_domain category_domain(std::size_t categories);

/// A hyper-parameter's value in a trial.
struct parameter_value {
  static constexpr std::uint32_t none = UINT32_MAX;

  std::uint32_t domain = none; ///< index; `none`: the trial has no such
  double value = 0;            ///< within it; of a category its number
};

/// A hyper-parameter as trials had it.
struct varied_parameter {
  std::vector<parameter_domain> domains; ///< all different
  std::vector<parameter_value> values;   ///< by trial
};

/// How far each hyper-parameter's values in the best trials differ from those
/// in all of them: conditional PED-ANOVA (arXiv 2304.10255 and 2601.20800).
/// Equals Optuna 5.0's PedAnovaImportanceEvaluator with its defaults.
///
/// @param losses by trial, lower is better
/// @param quantile the share of the trials that are the best; of equal losses
///                 all are
/// @returns numbers from 0 on, by parameter; all 0 for fewer than two trials
/// @complexity O(parameters × (trials + 50²))
/// REQUIRES: losses are finite, 0 < quantile < 1, each parameter has as many
///           values as there are losses, and they are within their domains
std::vector<double>
ped_anova(const std::vector<varied_parameter>& parameters,
          const std::vector<double>& losses, double quantile);

/// How many trials are the best ones there.
std::size_t best_trials(const std::vector<double>& losses, double quantile);

} // namespace hippo
