#pragma once

#include <torch/types.h>

#include <cstdint>

#include "hippo/train/torch/kernels/step_kernels.hpp"
#include "hippo/train/torch/step_values.hpp"

namespace hippo {

/// Drops a share of `tensor`, scaling the rest; layers are told apart by
/// `layer`. What is dropped is drawn a second time for the gradient: that takes
/// no memory.
/// @param values null: drops nothing; else as it is until the gradient is
///        computed
at::Tensor dropped(const at::Tensor& tensor, const step_values* values,
                   std::uint64_t layer);

/// The same by certain kernels.
at::Tensor dropped_by(const step_kernels& kernels, const at::Tensor& tensor,
                      const step_values& values, std::uint64_t layer);

} // namespace hippo
