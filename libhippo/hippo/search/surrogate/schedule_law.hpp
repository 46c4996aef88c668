#pragma once

#include <optional>
#include <vector>

#include "hippo/base/types.hpp"
#include "hippo/sequence/sequence.hpp"

namespace hippo {

/// A learning-rate schedule up to some step, as `schedule_law` reads it.
struct rate_path {
  /// A change of the rate, from the first fall on.
  struct change {
    double fall = 0; ///< of the rate; below 0: it has risen
    double rate = 0; ///< after it
    double sum = 0;  ///< of the rates from it on
  };

  double sum = 0; ///< of the rates
  double top = 0; ///< the greatest rate
  std::vector<change> changes;
};

/// Reads a schedule up to step `steps`. Where it changes at every step it is
/// read at some tens of steps.
/// @return nothing if a rate is no number of at least 0
std::optional<rate_path> read_rates(const sequence& rates, step_t steps);

/// The loss of a training as a function of its learning rates, after the
/// Multi-Power Law (Luo et al., *A Multi-Power Law for Loss Curve Prediction
/// Across Learning Rate Schedules*, ICLR 2025, arXiv 2503.12811):
///
///   L = limit + gain * S^-alpha - drop * sum_k f_k G(S_k / sqrt(r_k))
///   G(x) = 1 - 1 / sqrt(pace x + 1)
///
/// where S is the sum of all rates, f_k the k-th fall of the rate, r_k the rate
/// after it and S_k the sum of the rates from there on. Rates and sums count in
/// `rate_unit` and `sum_unit`. What rises before the first fall is a warm-up,
/// which counts by its sum alone.
///
/// Two more powers are fitted in the paper, in the place of the square roots.
/// On its curves these are about 0.6, and predict no better than 1/2.
struct schedule_law {
  double limit = 0;
  double gain = 0;
  double alpha = 0.5;
  double drop = 0;
  double pace = 1;
  double rate_unit = 1;
  double sum_unit = 1;

  /// Returns the loss. O(changes).
  [[nodiscard]] double loss(const rate_path& rates) const;
};

/// A loss that was measured.
struct law_point {
  rate_path rates;
  double loss = 0; ///< above 0
};

/// Fits a law to losses by their relative errors: least squares for what the
/// loss is linear in, none of it below 0, and L-BFGS from two starting points
/// for `alpha` and `pace` (maximum a posteriori). Then it is fitted once more,
/// and what is far from the first fit weighs less.
/// @return nothing of fewer than 8 points, or if a loss is not above 0
/// @complexity O(points + changes of all points) for each of up to 120
///             iterations
std::optional<schedule_law>
fit_schedule_law(const std::vector<law_point>& points);

} // namespace hippo
