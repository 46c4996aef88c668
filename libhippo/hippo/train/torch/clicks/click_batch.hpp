#pragma once

#include <torch/types.h>

#include <cstdint>

#include "hippo/train/torch/clicks/click_log.hpp"

namespace hippo {

/// Impressions dealt out to parts; all of a part's lie behind one another.
struct click_batch {
  at::Tensor numbers; ///< parts x impressions x 13
  at::Tensor rows;    ///< parts x impressions x 26 int64: rows of all tables
  at::Tensor labels;  ///< parts x impressions
  /// parts x impressions: 1 over the number of the part's impressions; 0 of a
  /// place that has none.
  at::Tensor shares;

  /// Returns them on a device, perhaps once it comes to that.
  [[nodiscard]] click_batch on(at::Device device) const;
};

/// Deals out impressions to parts as evenly as can be. A share that is shorter
/// than others ends in places that count nothing.
/// @param table_rows of a category's table
/// @param is_pinned whether a GPU is to copy them
click_batch deal_out(const click_log& log, std::int64_t parts,
                     std::int64_t table_rows, bool is_pinned);

} // namespace hippo
