#pragma once

#include <cstddef>
#include <vector>

#include "hippo/model/goals.hpp"

namespace hippo {

/// Returns the volume that is dominated by any of the points and lies below the
/// reference point (Zitzler and Thiele, 1998), exactly but for rounding. What a
/// point has at or above the reference counts nothing.
///
/// One value: a difference. Two and three: a sweep along the last one, over a
/// staircase of those before it. More: slices along the last one.
/// @complexity O(n log n) for up to three values, else O(n^(values - 2) log n)
/// REQUIRES: all have as many values as `reference`, at least one, and no NaN.
double hypervolume(const std::vector<losses>& set, const losses& reference);

/// Returns by how much the hypervolume would be less without each point. Equal
/// points contribute nothing.
/// @complexity O(n) hypervolumes
std::vector<double> hypervolume_contributions(const std::vector<losses>& set,
                                              const losses& reference);

/// Chooses points that together have much hypervolume: always the one that adds
/// the most to those before it, of equal ones the first. The result has at
/// least 1 - 1/e of what is possible (Guerreiro et al., *Greedy Hypervolume
/// Subset Selection in Low Dimensions*, 2016).
/// @returns places in `set`, `count` of them, all if there are fewer
/// @complexity what a point adds never grows, so most points are looked at once
std::vector<std::size_t> most_hypervolume(const std::vector<losses>& set,
                                          std::size_t count,
                                          const losses& reference);

/// Returns a reference point beyond all points: a tenth beyond the worst of
/// each value, as Optuna's TPESampler has it.
/// REQUIRES: `set` is not empty.
losses reference_beyond(const std::vector<losses>& set);

} // namespace hippo
