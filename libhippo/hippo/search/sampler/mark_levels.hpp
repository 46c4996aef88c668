#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hippo/base/ids.hpp"

namespace hippo {

/// Returns the number of which a share of some numbers is less: the lower of
/// two. Reorders them.
double quantile(std::vector<double>& numbers, double share);

/// The value at each of some marks that is neither good nor bad: results at
/// different marks compare by their distance from it.
///
/// At the first mark it is the median. Where trials go on because they are
/// good, the median of a later mark makes them look like any. The level that
/// they have kept is the median of their gains, plus the level kept at their
/// mark before; alone it leaves little to be looked for elsewhere. Levels
/// lie halfway between the two, which finds better values in folded tasks of
/// LCBench than medians do, and about as good ones in plain tasks, where levels
/// that are kept alone do not (bench/run public).
class mark_levels {
public:
  explicit mark_levels(std::size_t marks) : results_(marks) {}

  /// Adds a result of a trial, which has none at this mark or a later one.
  void add(trial_no trial, std::size_t mark, double value);

  /// Returns the levels; that of a mark without results is the one kept before
  /// it, at first 0. It reorders what it has.
  [[nodiscard]] std::vector<double> levels();

private:
  struct result {
    std::size_t mark = 0;
    double value = 0;
  };

  struct results {
    std::vector<double> values;
    /// By how much trials have got better since a mark.
    std::vector<result> gains;
  };

  std::vector<results> results_; ///< by mark
  std::unordered_map<trial_no, result> last_;
};

} // namespace hippo
