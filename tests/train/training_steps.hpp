#pragma once

// What tests of parts of a training step have in common.

#include <optional>
#include <vector>

#include "hippo/train/torch/lane_table.hpp"
#include "hippo/train/torch/optimizer.hpp"

namespace hippo {

/// Updates the weights of the lanes that have a rule.
inline void update(optimizer& x,
                   const std::vector<std::optional<update_rule>>& rules) {
  lane_table rows{at::kCPU, rules.size()};
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (rules[i])
      rows.activate(i, {});
  x.plan(rules, rows);
  x.apply(rows);
}

/// Returns the table of one lane, with that dropout.
inline lane_table dropping(const dropout_source& drop) {
  lane_table rows{at::kCPU, 1};
  rows.activate(0, drop);
  return rows;
}

} // namespace hippo
