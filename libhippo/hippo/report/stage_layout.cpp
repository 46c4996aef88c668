#include "hippo/report/stage_layout.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "hippo/report/svg.hpp"

namespace hippo {

namespace {

/// What all leaves together may take before their bars get lower.
constexpr double leaves_pixels = 1800;
constexpr double leaf_height_max = 14;
constexpr double leaf_height_min = 4;
constexpr double gap_max = 4;
/// Of a range between two neighbouring cuts, as far as there is room.
constexpr double range_pixels_min = 22;
constexpr double tick_distance_min = 34;

/// The drawn stages: parents before children, the most shared first.
struct selection {
  std::vector<std::size_t> stages;
  std::vector<std::optional<std::size_t>> parents; ///< positions in `stages`
};

selection select(const std::vector<stage_record>& stages, std::size_t most) {
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> by_id;
  for (std::size_t i = 0; i < stages.size(); ++i)
    by_id.emplace(std::pair{stages[i].workload, stages[i].id}, i);
  std::vector<std::vector<std::size_t>> children(stages.size());
  // Most trials first, then the earliest, then in the order of the list.
  using entry = std::tuple<std::uint64_t, std::uint64_t, std::size_t>;
  std::priority_queue<entry> open;
  std::vector<std::optional<std::size_t>> parent_at(stages.size());
  const auto push = [&](std::size_t i) {
    open.emplace(stages[i].trials, ~stages[i].begin, ~i);
  };
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const auto parent = by_id.find({stages[i].workload, stages[i].parent});
    if (parent != by_id.end())
      children[parent->second].push_back(i);
    else
      push(i);
  }
  selection result;
  while (!open.empty() && result.stages.size() < most) {
    const auto i = ~std::get<2>(open.top());
    open.pop();
    for (auto child : children[i]) {
      parent_at[child] = result.stages.size();
      push(child);
    }
    result.stages.push_back(i);
    result.parents.push_back(parent_at[i]);
  }
  return result;
}

/// A monotone map from steps to pixels, linear between neighbouring cuts.
class step_axis {
public:
  step_axis(const std::set<step_t>& cuts, double width)
    : cuts_(cuts.begin(), cuts.end()) {
    const auto ranges = static_cast<double>(cuts_.size() - 1);
    const double least = std::min(range_pixels_min, width / ranges / 2);
    // Raises what is below the least to it and shares the rest in proportion,
    // until nothing more falls below.
    std::vector<bool> raised(cuts_.size() - 1);
    double scale = 0;
    for (bool again = true; again;) {
      again = false;
      double pixels = width;
      double steps = 0;
      for (std::size_t i = 0; i < raised.size(); ++i) {
        pixels -= raised[i] ? least : 0;
        steps += raised[i] ? 0 : length(i);
      }
      scale = pixels / steps; // never all are raised: the least is half
      for (std::size_t i = 0; i < raised.size(); ++i) {
        if (!raised[i] && length(i) * scale < least) {
          raised[i] = true;
          again = widened_ = true;
        }
      }
    }
    positions_.push_back(0);
    for (std::size_t i = 0; i < raised.size(); ++i)
      positions_.push_back(positions_.back()
                           + (raised[i] ? least : length(i) * scale));
  }

  [[nodiscard]] double at(double step) const {
    const auto above = std::upper_bound(
      cuts_.begin() + 1, cuts_.end() - 1, step,
      [](double x, step_t cut) { return x < static_cast<double>(cut); });
    const auto i = static_cast<std::size_t>(above - cuts_.begin()) - 1;
    const double share = (step - static_cast<double>(cuts_[i])) / length(i);
    return positions_[i] + share * (positions_[i + 1] - positions_[i]);
  }

  [[nodiscard]] bool widened() const noexcept { return widened_; }

private:
  [[nodiscard]] double length(std::size_t i) const {
    return static_cast<double>(cuts_[i + 1] - cuts_[i]);
  }

  std::vector<step_t> cuts_;
  std::vector<double> positions_;
  bool widened_ = false;
};

/// Where a subtree lies, and its own bar in it.
struct block {
  std::vector<std::size_t> children;
  double top = 0;
  double height = 0;
  double children_top = 0; ///< below the top of this block
  double centre = 0;       ///< of the bar, below the top of this block
};

/// Gives every subtree a strip of its own, so that bars cannot overlap.
void stack(tree_panel& panel, const std::vector<stage_record>& stages,
           double gap) {
  std::vector<block> blocks(panel.boxes.size());
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (panel.boxes[i].parent)
      blocks[*panel.boxes[i].parent].children.push_back(i);
  // In the order of the list, not of how many share them: it is that of the
  // space, in which neighbours are alike.
  const auto in_order = [&](std::vector<std::size_t>& xs) {
    std::sort(xs.begin(), xs.end(), [&](std::size_t a, std::size_t b) {
      return panel.boxes[a].stage < panel.boxes[b].stage;
    });
  };
  // Children come after their parents, so this goes from the leaves up.
  for (auto i = blocks.size(); i-- > 0;) {
    auto& x = blocks[i];
    const auto& own = panel.boxes[i];
    x.height = own.height;
    x.centre = own.height / 2;
    if (x.children.empty())
      continue;
    in_order(x.children);
    double sum = -gap;
    bool beside = false; // a child begins before this stage ends
    for (auto child : x.children) {
      sum += blocks[child].height + gap;
      beside =
        beside
        || stages[panel.boxes[child].stage].begin < stages[own.stage].end;
    }
    if (beside) {
      x.children_top = own.height + gap;
      x.height = x.children_top + sum;
      continue;
    }
    x.height = std::max(own.height, sum);
    x.children_top = (x.height - sum) / 2;
    const auto& last = blocks[x.children.back()];
    const double low = x.children_top + sum - last.height + last.centre;
    const double high = x.children_top + blocks[x.children.front()].centre;
    x.centre =
      std::clamp((low + high) / 2, own.height / 2, x.height - own.height / 2);
  }
  std::vector<std::size_t> roots;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (!panel.boxes[i].parent)
      roots.push_back(i);
  in_order(roots);
  double top = 0;
  for (auto root : roots) {
    blocks[root].top = top;
    top += blocks[root].height + 2 * gap;
  }
  panel.height = std::max(0.0, top - 2 * gap);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto& x = blocks[i];
    panel.boxes[i].y = x.top + x.centre - panel.boxes[i].height / 2;
    double at = x.top + x.children_top;
    for (auto child : x.children) {
      blocks[child].top = at;
      at += blocks[child].height + gap;
    }
  }
}

void spread(tree_panel& panel, const std::vector<stage_record>& stages,
            double width) {
  std::set<step_t> cuts{0};
  for (const auto& x : panel.boxes) {
    cuts.insert(stages[x.stage].begin);
    cuts.insert(stages[x.stage].end);
  }
  const step_axis axis{cuts, width};
  panel.widened = axis.widened();
  for (auto& x : panel.boxes) {
    x.elbow = axis.at(static_cast<double>(stages[x.stage].begin));
    const double end = axis.at(static_cast<double>(stages[x.stage].end));
    const double inset = std::min(6.0, (end - x.elbow) / 6);
    x.x = x.elbow + inset;
    x.width = end - x.elbow - 2 * inset;
  }
  const auto last = static_cast<double>(*cuts.rbegin());
  for (double step : round_ticks(last, std::min(last, 20.0))) {
    const double x = axis.at(step);
    // A widened axis crowds some of them.
    if (!panel.ticks.empty() && x - panel.ticks.back().x < tick_distance_min)
      continue;
    panel.ticks.push_back({static_cast<step_t>(step), x});
  }
}

} // namespace

double bar_height(const stage_layout& layout, double trials) {
  const double most = std::max(16.0, layout.trials_most);
  const double share =
    (std::sqrt(std::max(1.0, trials)) - 1) / (std::sqrt(most) - 1);
  return layout.leaf_height * (1 + 3 * share);
}

stage_layout lay_out(const std::vector<stage_record>& stages, double width,
                     std::size_t stages_max) {
  const auto drawn = select(stages, stages_max);
  stage_layout result;
  result.width = width;
  result.left_out = stages.size() - drawn.stages.size();
  std::vector<bool> inner(drawn.stages.size());
  for (const auto& parent : drawn.parents)
    if (parent)
      inner[*parent] = true;
  const auto leaves =
    static_cast<double>(std::count(inner.begin(), inner.end(), false));
  const double share = leaves_pixels / std::max(1.0, leaves);
  const double gap = std::clamp(share * 0.2, 1.0, gap_max);
  result.leaf_height =
    std::clamp(share - gap, leaf_height_min, leaf_height_max);
  for (auto i : drawn.stages)
    result.trials_most =
      std::max(result.trials_most, static_cast<double>(stages[i].trials));

  std::map<std::string, std::size_t> panel_of;
  for (const auto& x : stages)
    panel_of.emplace(x.workload, panel_of.size());
  result.panels.resize(panel_of.size());
  std::vector<std::size_t> place(drawn.stages.size()); // within its panel
  for (std::size_t i = 0; i < drawn.stages.size(); ++i) {
    const auto& x = stages[drawn.stages[i]];
    auto& panel = result.panels[panel_of[x.workload]];
    panel.workload = x.workload;
    place[i] = panel.boxes.size();
    stage_box box;
    box.stage = drawn.stages[i];
    box.height = bar_height(result, static_cast<double>(x.trials));
    if (drawn.parents[i])
      box.parent = place[*drawn.parents[i]];
    panel.boxes.push_back(box);
  }
  std::erase_if(result.panels,
                [](const tree_panel& x) { return x.boxes.empty(); });
  for (auto& panel : result.panels) {
    stack(panel, stages, gap);
    spread(panel, stages, width);
  }
  return result;
}

} // namespace hippo
