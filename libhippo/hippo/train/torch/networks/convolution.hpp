#pragma once

#include <torch/types.h>

#include <cstdint>

namespace hippo {

/// Returns `tensor` (images x channels x height x width)
/// convolved with square kernels (outputs x channels / groups x side x
/// side), padded by half a side.
///
/// On a GPU in float32, cuDNN's deterministic ways to the gradient of the
/// weights are slow where the stride is 2 or the channels are as few as those
/// of images: 5 to 10 times the time of one product of matrices on an H100, by
/// which that gradient is computed there. The choice follows from shapes alone,
/// so that all GPUs of a kind give the same bits.
at::Tensor convolved(const at::Tensor& tensor, const at::Tensor& weight,
                     std::int64_t stride, std::int64_t groups);

/// The gradient of the weights by one product of matrices, for one group.
/// @param gradient of the result
at::Tensor weight_gradient_by_product(const at::Tensor& tensor,
                                      const at::Tensor& gradient,
                                      const at::Tensor& weight,
                                      std::int64_t stride);

} // namespace hippo
