#include "hippo/train/torch/cuda/kernels.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "hippo/train/torch/cuda/element_updates.hpp"

namespace {

using hippo::cuda::share;

constexpr int threads_a_block = 256;

/// Beyond so many, threads do several pieces each.
constexpr std::int64_t blocks_max = 1024;

/// Returns the blocks for so many pieces of work.
unsigned blocks_for(std::int64_t pieces) {
  const auto blocks = (pieces + threads_a_block - 1) / threads_a_block;
  return static_cast<unsigned>(
    std::clamp(blocks, std::int64_t{1}, blocks_max));
}

/// The share of this thread among all of its launch.
__device__ share mine() {
  return {std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x,
          std::int64_t{gridDim.x} * blockDim.x};
}

__global__ void put_images(hippo_cuda_images set,
                           const hippo_cuda_step* values, std::int64_t count,
                           float* images) {
  hippo::cuda::put_images(set, *values, count, images, mine());
}

__global__ void put_targets(hippo_cuda_images set,
                            const hippo_cuda_step* values, std::int64_t count,
                            float* targets) {
  hippo::cuda::put_targets(set, *values, count, targets, mine());
}

template <class Number>
__global__ void drop(const hippo_cuda_step* values, std::uint64_t layer,
                     std::int64_t examples, std::int64_t size,
                     const Number* from, Number* to) {
  hippo::cuda::drop(*values, layer, examples, size, from, to, mine());
}

/// Which blocks update which weight: those of weight i begin with `first[i]`.
struct block_table {
  std::int32_t first[HIPPO_CUDA_WEIGHTS_MAX + 1];
};

__global__ void update(hippo_cuda_weights weights, block_table blocks,
                       const hippo_cuda_step* values) {
  const auto block = static_cast<std::int32_t>(blockIdx.x);
  std::int32_t index = 0;
  while (blocks.first[index + 1] <= block)
    ++index;
  const auto begin = blocks.first[index];
  const share mine{std::int64_t{block - begin} * blockDim.x + threadIdx.x,
                   std::int64_t{blocks.first[index + 1] - begin} * blockDim.x};
  hippo::cuda::update_weight(weights, *values, index, mine);
}

} // namespace

int hippo_cuda_interface(void) { return HIPPO_CUDA_INTERFACE; }

const char* hippo_cuda_error_text(int error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}

int hippo_cuda_image_batch(const hippo_cuda_images* set,
                           const hippo_cuda_step* values, int64_t count,
                           float* images, float* targets, void* stream) {
  const auto where = static_cast<cudaStream_t>(stream);
  const auto pixels = count * set->height * set->width;
  put_images<<<blocks_for(pixels), threads_a_block, 0, where>>>(
    *set, values, count, images);
  put_targets<<<blocks_for(count * set->classes), threads_a_block, 0, where>>>(
    *set, values, count, targets);
  return cudaGetLastError();
}

int hippo_cuda_dropout(const hippo_cuda_step* values, uint64_t layer,
                       int64_t examples, int64_t size, int32_t type,
                       const void* from, void* to, void* stream) {
  const auto launch = [&](auto any) {
    using number = decltype(any);
    drop<<<blocks_for((size + 1) / 2), threads_a_block, 0,
           static_cast<cudaStream_t>(stream)>>>(
      values, layer, examples, size, static_cast<const number*>(from),
      static_cast<number*>(to));
  };
  switch (type) {
    case hippo_cuda_float32:
      launch(float{});
      break;
    case hippo_cuda_bfloat16:
      launch(__nv_bfloat16{});
      break;
    case hippo_cuda_float16:
      launch(__half{});
      break;
    default:
      return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}

int hippo_cuda_update(const hippo_cuda_weights* weights,
                      const hippo_cuda_step* values, void* stream) {
  if (weights->count == 0)
    return cudaSuccess;
  block_table blocks{};
  for (std::int32_t i = 0; i < weights->count; ++i)
    blocks.first[i + 1] =
      blocks.first[i]
      + static_cast<std::int32_t>(blocks_for(weights->size[i]));
  update<<<static_cast<unsigned>(blocks.first[weights->count]),
           threads_a_block, 0, static_cast<cudaStream_t>(stream)>>>(
    *weights, blocks, values);
  return cudaGetLastError();
}
