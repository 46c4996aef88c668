#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace hippo {

/// Where a lane's dropout masks of one iteration come from.
struct dropout_source {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint64_t iteration = 0;
  double share = 0; ///< of activations dropped
};

/// One for each lane; nothing: the lane rests.
using dropout_sources = std::vector<std::optional<dropout_source>>;

/// Drops a share of each lane's part of `x`, scaling the rest; layers are told
/// apart by `layer`.
/// @param x has the lanes' parts behind each other along dimension 0
/// @param drop null: drops nothing
at::Tensor dropped(const at::Tensor& x, const dropout_sources* drop,
                   std::uint64_t layer);

} // namespace hippo
