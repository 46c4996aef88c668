#include "hippo/train/torch/cuda/kernels.h"

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

/// The share of this thread among those of its row of blocks.
__device__ share mine() {
  return {std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x,
          std::int64_t{gridDim.x} * blockDim.x};
}

__global__ void make_masks(const hippo_cuda_dropout* rules, std::int64_t first,
                           std::int64_t size, float* mask) {
  const auto lane = blockIdx.y;
  hippo::cuda::make_mask(rules[lane], first, size, mask + lane * size, mine());
}

__global__ void update(hippo_cuda_weights weights,
                       const hippo_cuda_rule* rules) {
  const auto index = static_cast<std::int32_t>(blockIdx.y);
  const auto lane = static_cast<std::int32_t>(blockIdx.z);
  hippo::cuda::update_lane(weights, rules[lane], index, lane, mine());
}

} // namespace

int hippo_cuda_interface(void) { return HIPPO_CUDA_INTERFACE; }

const char* hippo_cuda_error_text(int error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}

int hippo_cuda_dropout_mask(const hippo_cuda_dropout* rules, int32_t lanes,
                            int64_t first, int64_t size, float* mask,
                            void* stream) {
  const dim3 grid{blocks_for((size + 1) / 2), static_cast<unsigned>(lanes)};
  make_masks<<<grid, threads_a_block, 0, static_cast<cudaStream_t>(stream)>>>(
    rules, first, size, mask);
  return cudaGetLastError();
}

int hippo_cuda_update(const hippo_cuda_weights* weights,
                      const hippo_cuda_rule* rules, void* stream) {
  const dim3 grid{blocks_for(weights->size_max),
                  static_cast<unsigned>(weights->count),
                  static_cast<unsigned>(weights->lanes)};
  update<<<grid, threads_a_block, 0, static_cast<cudaStream_t>(stream)>>>(
    *weights, rules);
  return cudaGetLastError();
}
