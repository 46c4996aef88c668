#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "hippo/search/surrogate/counter_rng.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// How likely the decisions on one leaf of a search space are, given some that
/// were taken: the Parzen estimator of TPE (Bergstra et al., *Algorithms for
/// Hyper-Parameter Optimization*, NeurIPS 2011), with the defaults of Optuna's
/// and hyperopt's samplers.
///
/// Range: a mixture of Gaussians cut off at the ends of the range, in its own
/// scale; one around each decision, as wide as the farther neighbour is away,
/// but not narrower than 1 / min(100, n + 2) of the range; and one around its
/// middle, as wide as the range. On points, what falls next to a point counts
/// for it. Choice: how often each alternative was taken, plus 1.
class parzen_estimator {
public:
  /// @complexity O(n log n) in the number of decisions
  parzen_estimator(const space_leaf& leaf,
                   const std::vector<std::uint64_t>& taken);

  /// Returns the logarithm of the density, or of a point's or alternative's
  /// probability. O(n); of a point or an alternative, once.
  double log_of(std::uint64_t decision);

  /// Draws a decision.
  std::uint64_t draw(counter_rng& draws) const;

private:
  struct kernel {
    double middle = 0; ///< 0: the range's low end, 1: its high end
    double width = 1;
    double inside = 1; ///< the share of it that lies on the range
  };

  void place_kernels(const std::vector<std::uint64_t>& taken);

  [[nodiscard]] double log_of_share(double value) const;

  /// Returns where a decision lies, from 0 to 1.
  [[nodiscard]] double share_of(std::uint64_t decision) const;

  std::uint64_t ways_;                ///< 0: continuous
  std::vector<std::uint64_t> counts_; ///< of a choice's alternatives
  std::uint64_t total_ = 0;           ///< of counts
  std::vector<kernel> kernels_;       ///< of a range
  double margin_ = 0;                 ///< half the distance between points
  std::unordered_map<std::uint64_t, double> known_;
};

} // namespace hippo
