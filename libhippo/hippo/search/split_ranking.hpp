#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>

#include "hippo/base/types.hpp"

namespace hippo {

/// The worth of a trial's value: the better, the less. NaN is worse than any
/// number; equal values are ordered by the trial's number.
struct standing {
  bool is_nan = false;
  double loss = 0; ///< the value, its sign such that less is better
  std::uint64_t trial = 0;

  friend auto operator<=>(const standing&, const standing&) = default;
};

standing standing_of(std::uint64_t trial, double value, direction better);

/// Standings split into the best `best_size()` and the rest.
class split_ranking {
public:
  /// Adds a standing that is not there yet. O(log size).
  void insert(const standing& standing);

  /// Removes a standing that is there. O(log size).
  void erase(const standing& standing);

  /// Sets how many make the best; fewer if there are fewer.
  /// @complexity O(log size) for each that changes sides
  void split(std::size_t best_size);

  [[nodiscard]] std::size_t size() const {
    return best_.size() + rest_.size();
  }
  [[nodiscard]] const std::set<standing>& best() const { return best_; }
  [[nodiscard]] const std::set<standing>& rest() const { return rest_; }

private:
  std::set<standing> best_; ///< all of it before all of `rest_`
  std::set<standing> rest_;
};

} // namespace hippo
