#pragma once

#include <cstddef>
#include <vector>

#include "hippo/model/goals.hpp"

namespace hippo {

/// Outcomes in the order in which selection takes them: level by level, each of
/// which is a non-domination rank of those that keep the constraints; then of
/// those that break them, by how much; then NaN.
/// @returns the level of each
std::vector<std::size_t> levels_of(const std::vector<outcome>& outcomes);

/// Chooses the best: whole levels, and of the last one those that
/// `most_hypervolume` takes up to `reference_beyond` them, as Optuna's
/// TPESampler splits trials (Ozaki et al., *Multiobjective Tree-Structured
/// Parzen Estimator*, JAIR 73, 2022).
/// @returns places in `outcomes`, `count` of them, all if there are fewer
std::vector<std::size_t> select_best(const std::vector<outcome>& outcomes,
                                     std::size_t count);

/// The same, of the last level those with the greatest crowding distance, as
/// NSGA-II lets survive (Deb et al., 2002); of equal ones the first.
struct survivor {
  std::size_t place = 0;
  std::size_t level = 0;
  double distance = 0; ///< in its level
};
std::vector<survivor> select_survivors(const std::vector<outcome>& outcomes,
                                       std::size_t count);

} // namespace hippo
