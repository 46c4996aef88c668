#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hippo/model/workload_size.hpp"

namespace hippo {

/// The measured time of steps of one workload at one batch size on one kind of
/// device.
struct step_profile {
  std::string kind;
  std::string workload; ///< its key
  double batch = 1;     ///< samples in a step's iteration
  workload_size size;
  double seconds = 0; ///< of an iteration, above 0
  double weight = 1;  ///< how often it was measured, above 0
};

/// A predicted time, and how far off it may be.
struct predicted_time {
  double seconds = 0;
  /// 95 of 100 times lie within a factor of 1 + this.
  double margin = 0;
};

/// The margin of what has a logarithm with this standard deviation.
double margin_of(double deviation);

/// How far off a ratio of two kinds may be that was seen once, as a standard
/// deviation of its logarithm.
inline constexpr double deviation_of_one_ratio = 0.2;

/// Predicts how long a step takes on a kind of device where it was not
/// measured.
///
/// On kind k the time of an iteration is taken to be
///
///     t = a_k + b_k * batch * operations + c_k * parameters
///
/// with a, b and c not negative: what is the same for each, what grows with the
/// samples, and what the update of the weights takes. They are fitted to all
/// that was measured on k, whatever the workload, by least squares of relative
/// errors, then of logarithms with Huber's loss, which what was disturbed does
/// not pull along.
///
/// With fewer than `profiles_min` on a kind, or where nobody knows how much
/// there is to compute, a time follows from that of the same workload on
/// another kind, by the ratio of the two kinds where both have measured one.
///
/// After SRIFTY (Luo et al., "SRIFTY: Swift and Thrifty Distributed Neural
/// Network Training on the Cloud", MLSys 2022), whose model is not public.
class step_model {
public:
  static constexpr std::size_t profiles_min = 4;

  explicit step_model(std::vector<step_profile> known);

  /// Predicts the time of an iteration. What was measured is not returned as it
  /// was.
  /// @returns nothing if neither the model nor a ratio says anything
  [[nodiscard]] std::optional<predicted_time>
  predict(const std::string& kind, const std::string& workload, double batch,
          const workload_size& size) const;

private:
  struct fit {
    std::array<double, 3> coefficients{}; ///< a, b, c
    double deviation = 0; ///< standard deviation of the logarithm's residuals
  };

  static std::optional<fit> fitted(const std::vector<step_profile>& xs);
  [[nodiscard]] std::optional<predicted_time>
  by_ratio(const std::string& kind, const std::string& workload,
           double batch) const;
  /// Returns what was measured of a workload on a kind at a batch size, on the
  /// line between the two nearest; nothing beyond all of them.
  [[nodiscard]] std::optional<double> measured(const std::string& kind,
                                               const std::string& workload,
                                               double batch) const;

  std::vector<step_profile> known_;
  std::map<std::string, fit> fits_; ///< by kind
};

} // namespace hippo
