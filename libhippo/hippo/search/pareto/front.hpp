#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hippo/base/ids.hpp"
#include "hippo/base/types.hpp"
#include "hippo/model/goals.hpp"

namespace hippo {

/// A measurement that no other one dominates.
struct front_point {
  trial_no trial = 0;
  step_t step = 0;
  losses values;
  friend bool operator==(const front_point&, const front_point&) = default;
};

/// The front of all measurements that were added and keep the constraints: none
/// of them dominates another. Of equal ones it has that of the lowest trial and
/// step. What it holds depends on which measurements were added, and not on
/// their order.
/// @invariant sorted by trial, then step
class front {
public:
  /// Adds a measurement.
  /// @param is_first whether it is the first of its trial: of these each goal's
  ///                 worst is the reference point
  /// @returns whether the front has changed
  /// @complexity O(points)
  bool add(trial_no trial, step_t step, const outcome& ended, bool is_first);

  /// Takes all away. Counts as a change.
  void clear();

  [[nodiscard]] const std::vector<front_point>& points() const noexcept {
    return points_;
  }

  /// The hypervolume up to the worst that trials measured first, of each goal.
  /// So it never falls as long as measurements are added. Nothing if no trial
  /// has measured anything.
  /// @complexity of `hypervolume`, once after each change
  [[nodiscard]] std::optional<double> volume() const;

  /// How often `points` has changed.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }

  /// The reference point of `volume`, empty if there is none yet.
  [[nodiscard]] const losses& reference() const noexcept { return reference_; }

private:
  std::vector<front_point> points_;
  losses reference_;
  std::uint64_t changes_ = 0;
  mutable std::optional<double> volume_; ///< of what there is now
};

} // namespace hippo
