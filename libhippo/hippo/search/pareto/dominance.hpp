#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hippo/model/goals.hpp"

namespace hippo {

/// Whether `left` is nowhere worse than `right`, and better somewhere.
bool dominates(const losses& left, const losses& right);

/// Whether `left` is better than `right` by constraint-domination (Deb et al.,
/// *A Fast and Elitist Multiobjective Genetic Algorithm: NSGA-II*, 2002): NaN
/// is worse than anything, what breaks constraints worse than what keeps them,
/// of two that break them the one is better that does so by less, and of two
/// that keep them the one that dominates.
bool dominates(const outcome& left, const outcome& right);

/// Returns the non-domination rank of each point: 0 if none dominates it, else
/// one more than the highest of those that do. Equal points have one rank.
///
/// Points are taken in the order of their values, so each need be compared with
/// those before it only (Zhang et al., *An Efficient Approach to Non-dominated
/// Sorting*, 2015).
/// @complexity O(n log n) for two values, else O(n^2) at worst
/// REQUIRES: all have equally many values, and no NaN.
std::vector<std::size_t> non_domination_ranks(const std::vector<losses>& set);

/// Orders points such that those that come first are far apart: the first one,
/// then always the one that is farthest from all before it (the epsilon-net of
/// Clarkson, as Schmucker et al., arXiv 2106.12639, take it). Of equally far
/// ones the first. Distances are Euclidean, each value in the range that it has
/// among the points, so that units do not matter.
/// @complexity O(n^2)
std::vector<std::size_t> epsilon_net(const std::vector<losses>& set);

/// Orders outcomes, the best one first, as arXiv 2106.12639 does: those that
/// keep constraints before those that break them, these by how much they do;
/// then by non-domination rank, and of one rank by `epsilon_net`. NaN comes
/// last. Of equals the first comes first.
/// @returns places in `outcomes`
std::vector<std::size_t> best_first(const std::vector<outcome>& outcomes);

/// Returns how far each point of a front is from its neighbours: the sum over
/// the values of the distance between the next one on each side, in the range
/// of the values; infinite at the ends (Deb et al., 2002).
/// @complexity O(n log n)
std::vector<double> crowding_distances(const std::vector<losses>& set);

} // namespace hippo
