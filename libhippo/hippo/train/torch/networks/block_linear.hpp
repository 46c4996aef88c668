#pragma once

#include <torch/types.h>

#include <cstdint>

#include "hippo/train/torch/step_values.hpp"

namespace hippo {

// The sizes from which products by blocks take less time than one of all
// features. They decide bits: a change of them changes results
// (bench/block_linear.cpp measures both ways).
inline constexpr std::int64_t skipped_block_min = 64; ///< features of a block
/// Features of a block, times the examples of a batch.
inline constexpr std::int64_t skipped_size_min = 128 * 128;
inline constexpr std::int64_t skipped_out_min = 512; ///< features computed
inline constexpr double skipped_share_min = 0.4;     ///< of activations dropped

/// Whether `linear_after_dropout` leaves out products: a function of sizes and
/// values alone, never of the speed of a machine.
/// @param examples of a batch
/// @param out features that the layer computes
bool skips_blocks(const step_values& values, std::int64_t examples,
                  std::int64_t out);

/// Returns `linear(dropped(tensor, values, layer), weight, bias)`. On a CPU, in
/// float32, and where subnetworks drop large blocks of features, each block is
/// multiplied for the examples alone that keep it, forward and backward; sums
/// then have another order than those of one product.
/// @param tensor examples x features
/// @param values as for `dropped`
at::Tensor linear_after_dropout(const at::Tensor& tensor,
                                const step_values* values, std::uint64_t layer,
                                const at::Tensor& weight,
                                const at::Tensor& bias);

/// Returns `linear(tensor, weight, bias)` by blocks, whatever their size.
/// @param tensor as `dropped` returns it: 0 where a block is dropped
/// REQUIRES: subnetworks drop; float32 on a CPU
at::Tensor linear_by_blocks(const at::Tensor& tensor, const step_values& values,
                            std::uint64_t layer, const at::Tensor& weight,
                            const at::Tensor& bias);

} // namespace hippo
