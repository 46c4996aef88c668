#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "hippo/train/torch/kernels/cuda_kernels.hpp"

namespace hippo {

/// The shape of a convolution by square kernels, padded by half a side.
struct convolution_shape {
  std::int64_t in, out; ///< channels
  std::int64_t side, stride, groups;
};

/// Whether kernels for GPUs convolve so: one group of at most 64 channels, a
/// multiple of 16 (images: 1 to 4), sides of 1 or 3 and strides of 1 or 2. With
/// more channels cuDNN's matrices are large enough to be fast.
bool has_kernels(const convolution_shape& shape);

/// A convolution's weights, and the same as kernels read them.
struct convolution_weights {
  at::Tensor weight; ///< outputs x inputs x side x side
  at::Tensor rows;   ///< bytes; undefined until they are prepared
};

/// Whether kernels convolve so many images of that size: such as have less than
/// 2^30 activations.
/// @param tensor images x channels x height x width
bool take_batch(const at::Tensor& tensor, const convolution_weights& weights,
                std::int64_t stride);

/// Writes the rows of weights, for activations of a type.
void prepare_rows(
  const cuda_kernels& kernels,
  const std::vector<std::shared_ptr<convolution_weights>>& convolutions,
  at::ScalarType type);

/// Returns `tensor` (images x channels x height x width) convolved by kernels
/// for GPUs, channels-last. It has the type of `tensor`: float32, bfloat16 or
/// float16; sums are of float32 in any case. Factors of float32 are rounded to
/// TF32 if LibTorch may do so in convolutions; else results are as exact as
/// those of float32.
/// REQUIRES: the rows are prepared for that type, they take the batch, and
/// `kernels` outlive the way back
at::Tensor convolve_by(const cuda_kernels& kernels, const at::Tensor& tensor,
                       const convolution_weights& weights, std::int64_t stride);

} // namespace hippo
