#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "hippo/model/run_record.hpp"

namespace hippo {

/// Where one stage is drawn, in pixels from the top left of its panel.
struct stage_box {
  std::size_t stage = 0;             ///< index in the list of stages
  std::optional<std::size_t> parent; ///< index in the panel's boxes
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  double elbow = 0; ///< x of the connector's vertical part, left of the bar
};

struct step_tick {
  step_t step = 0;
  double x = 0;
};

/// The forest of one workload. Boxes never overlap; a parent's box comes before
/// those of its children in the list.
struct tree_panel {
  std::string workload;
  std::vector<stage_box> boxes;
  std::vector<step_tick> ticks;
  double height = 0;
  bool widened = false; ///< short ranges of steps are drawn wider than others
};

/// The picture as pure geometry.
struct stage_layout {
  std::vector<tree_panel> panels; ///< one for each workload, as first seen
  std::size_t left_out = 0;       ///< stages that are too many to draw
  double leaf_height = 0;         ///< of a bar that one trial needs, in pixels
  double trials_most = 0;         ///< trials of the tallest bar
  double width = 0;
};

/// At most this many stages are drawn: those that the most trials share.
inline constexpr std::size_t stages_drawn_max = 2000;

/// Places the stages: steps to the right, a child right of its parent, siblings
/// stacked, bars as tall as `bar_height` says.
///
/// The axis is linear unless that leaves ranges between two neighbouring cuts
/// too narrow to see; then these are widened and the rest stays linear.
/// Stages whose parent is not in the list are roots. Deterministic.
/// REQUIRES: `begin < end`, ids from 1, `(workload, id)` unique
/// @complexity O(n log n)
stage_layout lay_out(const std::vector<stage_record>& stages, double width,
                     std::size_t stages_max = stages_drawn_max);

/// Returns the height of a bar that `trials` share, in pixels: grows with the
/// root of their number from `leaf_height` to 4 times that.
double bar_height(const stage_layout& layout, double trials);

} // namespace hippo
