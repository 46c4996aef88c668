#pragma once

#include <cmath>
#include <cstdint>

#include "hippo/train/torch/augmentation.hpp"
#include "hippo/train/torch/cuda/host_device.hpp"
#include "hippo/train/torch/cuda/kernels.h"
#include "hippo/train/torch/random.hpp"
#include "hippo/train/torch/subnetwork_mask.hpp"

// The computation of the threads of our kernels. It is compiled for CPUs as
// well, so that little needs a GPU to be tested.
//
// Every operation is rounded as IEEE 754 says, in the order that
// kernel_loops.cpp has.
// REQUIRES: products and sums are not contracted (`-fmad=false` of nvcc,
// `-ffp-contract=off` of GCC).

namespace hippo::cuda {

/// One worker of several: it does every `stride`-th piece, from `begin` on.
struct share {
  std::int64_t begin;
  std::int64_t stride;
};

/// Writes one pixel of an image that is changed so, all its channels.
/// @param image its place in `set.pixels`
HIPPO_HOST_DEVICE inline void put_pixel(const hippo_cuda_images& set,
                                        std::int64_t image,
                                        const augmentation& how, int row,
                                        int column, float* to) {
  const auto channels = set.channels, width = set.width;
  const auto is_in = [](int x, int first, int size) {
    return x >= first && x < first + size;
  };
  const bool is_cut =
    is_in(row, how.cutout_row - how.cutout / 2, how.cutout)
    && is_in(column, how.cutout_column - how.cutout / 2, how.cutout);
  const auto from_row = row - how.down, shifted = column - how.right;
  const bool is_inside =
    is_in(from_row, 0, set.height) && is_in(shifted, 0, width);
  const auto from_column = how.mirror ? width - 1 - shifted : shifted;
  const auto* from =
    set.pixels
    + ((image * set.height + from_row) * width + from_column) * channels;
  for (int c = 0; c < channels; ++c)
    to[c] = is_cut ? 0 : set.values[256 * c + (is_inside ? from[c] : 0)];
}

/// A worker's share of a batch of `count` images; a piece is a pixel.
HIPPO_HOST_DEVICE inline void
put_images(const hippo_cuda_images& set, const hippo_cuda_step& values,
           std::int64_t count, float* images, share mine) {
  const std::int64_t pixels = std::int64_t{set.height} * set.width;
  const augmentation_strength strength{values.crop, values.flip,
                                       values.cutout};
  for (auto i = mine.begin; i < count * pixels; i += mine.stride) {
    const auto image = set.order[values.first + i / pixels];
    const auto how = draw_augmentation(values.seed, values.step, image,
                                       strength, set.height, set.width);
    const auto at = static_cast<int>(i % pixels);
    put_pixel(set, set.of_batch != 0 ? i / pixels : image, how, at / set.width,
              at % set.width, images + i * set.channels);
  }
}

/// A worker's share of what is to be said of a batch; a piece is the share of a
/// class.
HIPPO_HOST_DEVICE inline void
put_targets(const hippo_cuda_images& set, const hippo_cuda_step& values,
            std::int64_t count, float* targets, share mine) {
  for (auto i = mine.begin; i < count * set.classes; i += mine.stride) {
    const auto image = set.order[values.first + i / set.classes];
    targets[i] = target_share(set.labels[image] == i % set.classes,
                              values.smoothing, set.classes);
  }
}

/// A worker's share of the activations of a layer; a piece is two numbers, and
/// one number where subnetworks drop.
/// @param size activations of all `examples`
template <class Number>
HIPPO_HOST_DEVICE void drop(const hippo_cuda_step& values, std::uint64_t layer,
                            std::int64_t examples, std::int64_t size,
                            const Number* from, Number* to, share mine) {
  const auto put = [&](std::int64_t i, std::uint64_t bits) {
    const bool drops = static_cast<std::uint32_t>(bits) < values.dropout_limit;
    to[i] = static_cast<Number>(static_cast<float>(from[i])
                                * (drops ? 0.0F : values.dropout_scale));
  };
  if (values.dropout_slots != 0) {
    const auto features = size / examples;
    for (auto i = mine.begin; i < size; i += mine.stride) {
      const auto slot = slot_of(i / features, examples, values.dropout_slots);
      put(i, numbers_of_subnetwork(values.seed, layer, values.subnetworks[slot])
               .at(static_cast<std::uint64_t>(i % features)
                   / values.dropout_block));
    }
    return;
  }
  const random_numbers numbers{
    values.seed, purpose::dropout, {values.step, values.iteration, layer}};
  for (auto i = mine.begin; 2 * i < size; i += mine.stride) {
    const auto both = numbers.at(static_cast<std::uint64_t>(i));
    put(2 * i, both);
    if (2 * i + 1 < size)
      put(2 * i + 1, both >> 32);
  }
}

HIPPO_HOST_DEVICE inline void update_sgd(const hippo_cuda_rule& rule,
                                         bool decays, float gradient,
                                         float& weight, float& moment) {
  const auto g = gradient + (decays ? rule.weight_decay : 0) * weight;
  moment = rule.momentum * moment + g;
  weight -=
    rule.lr * (rule.nesterov != 0 ? g + rule.momentum * moment : moment);
}

HIPPO_HOST_DEVICE inline void update_adamw(const hippo_cuda_rule& rule,
                                           bool decays, float gradient,
                                           float& weight, float& first,
                                           float& second) {
  first = rule.beta1 * first + (1 - rule.beta1) * gradient;
  second = rule.beta2 * second + (1 - rule.beta2) * gradient * gradient;
  const auto spread = std::sqrt(second) / rule.root + rule.epsilon;
  weight =
    weight * (decays ? rule.decay : 1) - rule.step_size * (first / spread);
}

/// A worker's share of weight `index`; a piece is one number.
HIPPO_HOST_DEVICE inline void update_weight(const hippo_cuda_weights& weights,
                                            const hippo_cuda_step& values,
                                            std::int32_t index, share mine) {
  const auto& rule = values.rule;
  const auto size = weights.size[index];
  const bool decays = weights.decays[index] != 0;
  auto* weight = weights.weight[index];
  const auto* gradient = weights.gradient[index];
  auto* first = weights.first[index];
  if (rule.kind == hippo_cuda_sgd) {
    for (auto i = mine.begin; i < size; i += mine.stride)
      update_sgd(rule, decays, gradient[i], weight[i], first[i]);
    return;
  }
  auto* second = weights.second[index];
  for (auto i = mine.begin; i < size; i += mine.stride)
    update_adamw(rule, decays, gradient[i], weight[i], first[i], second[i]);
}

} // namespace hippo::cuda
