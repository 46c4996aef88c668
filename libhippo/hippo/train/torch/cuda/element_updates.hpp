#pragma once

#include <cmath>
#include <cstdint>

#include "hippo/train/torch/cuda/kernels.h"
#include "hippo/train/torch/random.hpp"

// What the threads of our kernels compute. It is compiled for CPUs as well, so
// that what needs a GPU to be tested is little.
//
// Every operation is rounded as IEEE 754 says, in the order that
// kernel_loops.cpp has.
// REQUIRES: products and sums are not contracted (`-fmad=false` of nvcc,
// `-ffp-contract=off` of GCC).

#ifdef __CUDACC__
#define HIPPO_HOST_DEVICE __host__ __device__
#else
#define HIPPO_HOST_DEVICE
#endif

namespace hippo::cuda {

/// One worker of several: it does every `stride`-th piece, from `begin` on.
struct share {
  std::int64_t begin;
  std::int64_t stride;
};

/// A worker's share of the mask of one lane; a piece is two numbers.
HIPPO_HOST_DEVICE inline void make_mask(const hippo_cuda_dropout& rule,
                                        std::int64_t first, std::int64_t size,
                                        float* mask, share mine) {
  const auto numbers = random_numbers::with_key(rule.key);
  const auto value_of = [&rule](std::uint64_t bits) {
    return static_cast<std::uint32_t>(bits) < rule.limit ? 0.0F : rule.scale;
  };
  for (auto i = mine.begin; 2 * i < size; i += mine.stride) {
    const auto both = numbers.at(static_cast<std::uint64_t>(first / 2 + i));
    mask[2 * i] = value_of(both);
    if (2 * i + 1 < size)
      mask[2 * i + 1] = value_of(both >> 32);
  }
}

HIPPO_HOST_DEVICE inline void update_sgd(const hippo_cuda_rule& x,
                                         float gradient, float& weight,
                                         float& moment) {
  const auto g = gradient + x.weight_decay * weight;
  moment = x.momentum * moment + g;
  weight -= x.lr * (x.nesterov != 0 ? g + x.momentum * moment : moment);
}

HIPPO_HOST_DEVICE inline void update_adamw(const hippo_cuda_rule& x, float g,
                                           float& weight, float& first,
                                           float& second) {
  first = x.beta1 * first + (1 - x.beta1) * g;
  second = x.beta2 * second + (1 - x.beta2) * g * g;
  const auto spread = std::sqrt(second) / x.root + x.epsilon;
  weight = weight * x.decay - x.step_size * (first / spread);
}

/// A worker's share of one lane of weight `index`; a piece is one number.
HIPPO_HOST_DEVICE inline void update_lane(const hippo_cuda_weights& x,
                                          const hippo_cuda_rule& rule,
                                          std::int32_t index, std::int32_t lane,
                                          share mine) {
  if (rule.active == 0)
    return;
  const auto size = x.size[index];
  const auto from = lane * size;
  auto* weight = x.weight[index] + from;
  const auto* gradient = x.gradient[index] + from;
  auto* first = x.first[index] + from;
  if (rule.kind == hippo_cuda_sgd) {
    for (auto i = mine.begin; i < size; i += mine.stride)
      update_sgd(rule, gradient[i], weight[i], first[i]);
    return;
  }
  auto* second = x.second[index] + from;
  for (auto i = mine.begin; i < size; i += mine.stride)
    update_adamw(rule, gradient[i], weight[i], first[i], second[i]);
}

} // namespace hippo::cuda
