#pragma once

#include <torch/torch.h>

#include <cstdint>

#include "hippo/train/torch/lane_table.hpp"

namespace hippo {

/// Drops a share of each lane's part of `x`, scaling the rest; layers are told
/// apart by `layer`.
/// @param x has the lanes' parts behind each other along dimension 0
/// @param rows null: drops nothing
at::Tensor dropped(const at::Tensor& x, const lane_table* rows,
                   std::uint64_t layer);

} // namespace hippo
