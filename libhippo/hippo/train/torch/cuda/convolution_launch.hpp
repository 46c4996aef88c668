#pragma once

#include <cstdint>
#include <type_traits>

#include "hippo/train/torch/cuda/convolution_blocks.hpp"

// The launches of a convolution: by CUDA, or by an emulation.
//
// A launcher has the types `bfloat16` and `float16`, a value `refused`, and
// `launch<Block>(blocks, rows, bytes, arguments...)`: it runs `Block` with so
// much memory, and returns 0 or an error.

namespace hippo::cuda {

template <int N>
using conv_constant = std::integral_constant<int, N>;

/// Calls `function` with one of two constants, and returns its result.
template <int First, int Second, class F>
auto with_either(bool is_first, const F& function) {
  return is_first ? function(conv_constant<First>{})
                  : function(conv_constant<Second>{});
}

/// Calls `function(factors)` with those of a convolution, and returns its
/// result.
template <class Launcher, class F>
int with_factors(const hippo_cuda_conv& conv, const F& function) {
  switch (conv.type) {
    case hippo_cuda_bfloat16:
      return function(
        factors<typename Launcher::bfloat16, factor_kind::bfloat16>{});
    case hippo_cuda_float16:
      return function(
        factors<typename Launcher::float16, factor_kind::float16>{});
    case hippo_cuda_float32:
      return conv.tf32 != 0
               ? function(factors<float, factor_kind::tf32>{})
               : function(factors<float, factor_kind::tf32, true>{});
    default:
      return Launcher::refused;
  }
}

inline std::int32_t number_bytes(std::int32_t type) {
  return type == hippo_cuda_float32 ? 4 : 2;
}

/// Bytes of the rows of weights, to go forward or backward.
inline std::int64_t rows_bytes(const hippo_cuda_conv& conv, bool is_backward) {
  const auto source = is_backward ? conv.out : conv.in,
             target = is_backward ? conv.in : conv.out;
  const auto number = number_bytes(conv.type);
  return conv_rows{source, target, conv.side, number}.size(target) * number;
}

inline std::int64_t rows_bytes(const hippo_cuda_conv& conv) {
  if (!is_convolved(conv))
    return 0;
  return rows_bytes(conv, false)
         + (conv.in < conv_gradient_channels ? 0 : rows_bytes(conv, true));
}

template <class Launcher>
int prepare_rows(const Launcher& launcher,
                 const hippo_cuda_conv_weights& weights) {
  if (weights.count < 1 || weights.count > HIPPO_CUDA_CONVS_MAX)
    return Launcher::refused;
  const auto prepare = [&](auto number) {
    using block = preparing_block<decltype(number)>;
    return launcher.template launch<block>(block::blocks, weights.count, 0,
                                           weights);
  };
  switch (weights.type) {
    case hippo_cuda_bfloat16:
      return prepare(typename Launcher::bfloat16{});
    case hippo_cuda_float16:
      return prepare(typename Launcher::float16{});
    case hippo_cuda_float32:
      return prepare(float{});
    default:
      return Launcher::refused;
  }
}

/// From x to y, or from the gradient of y to that of x. Large blocks load less;
/// small ones are more, for few pixels.
template <class Launcher>
int correlate(const Launcher& launcher, const hippo_cuda_conv& conv,
              bool is_backward, const void* source, const void* rows,
              void* target) {
  if (!is_convolved(conv) || (is_backward && conv.in < conv_gradient_channels))
    return Launcher::refused;
  constexpr int large_warps = 8, small_warps = 4;
  constexpr std::int64_t many_pixels = 65536;
  const auto large = plan_of(conv, is_backward, 32 * large_warps),
             small = plan_of(conv, is_backward, 16 * small_warps);
  const auto from = large.source.channels, to = large.target.channels;
  const auto pixels =
    std::int64_t{large.images} * large.target.height * large.target.width;
  return with_factors<Launcher>(conv, [&](auto of_type) {
    return with_either<1, 3>(conv.side == 1, [&](auto side) {
      return with_either<16, 32>(
        conv_block_channels(from) == 16, [&](auto depth) {
          return with_either<16, 32>(
            conv_block_channels(to) == 16, [&](auto width) {
              constexpr int s = side(), d = depth(), w = width();
              using type = decltype(of_type);
              using large_block =
                correlation_block<type, s, d, w, 2, large_warps>;
              using small_block =
                correlation_block<type, s, d, w, 1, small_warps>;
              const auto launch = [&](auto block, const conv_plan& plan) {
                using kind = decltype(block);
                return launcher.template launch<kind>(
                  plan.tiles, conv_chunks(to, w), kind::bytes(plan), plan,
                  kind::stages(plan), source, rows, target);
              };
              // Sides of 1 are rare: they have no large blocks, to be built
              // sooner.
              if constexpr (s > 1)
                if (pixels >= many_pixels
                    && large_block::bytes(large) <= conv_memory_max)
                  return launch(large_block{}, large);
              return launch(small_block{}, small);
            });
        });
    });
  });
}

template <class Launcher>
int convolve(const Launcher& launcher, const hippo_cuda_conv& conv,
             const void* images, const void* rows, void* result) {
  return correlate(launcher, conv, false, images, rows, result);
}

template <class Launcher>
int convolve_input(const Launcher& launcher, const hippo_cuda_conv& conv,
                   const void* dy, const void* rows, void* dx) {
  return correlate(launcher, conv, true, dy,
                   static_cast<const char*>(rows) + rows_bytes(conv, false),
                   dx);
}

/// The division of the gradient of the weights.
struct gradient_shares {
  conv_plan plan;
  std::int32_t blocks, pairs;
  std::int32_t slices, size; ///< floats of a slice

  explicit gradient_shares(const hippo_cuda_conv& conv)
    : plan(plan_of(conv, false, conv_gradient_pixels)),
      blocks(gradient_blocks_of(plan)), pairs(gradient_chunks_of(plan)) {
    with_either<1, 3>(conv.side == 1, [&](auto side) {
      using layout = gradient_sums<side()>;
      slices = blocks * layout::parts;
      size = pairs * layout::of_pair;
      return 0;
    });
  }
};

/// Returns how many floats the slices of the gradient of the weights take.
inline std::int64_t slices_size(const hippo_cuda_conv& conv) {
  if (!is_convolved(conv))
    return 0;
  const gradient_shares shares{conv};
  return std::int64_t{shares.slices} * shares.size;
}

template <class Launcher>
int convolve_weight(const Launcher& launcher, const hippo_cuda_conv& conv,
                    const void* images, const void* dy, float* dweight,
                    float* slices) {
  if (!is_convolved(conv))
    return Launcher::refused;
  const gradient_shares shares{conv};
  return with_factors<Launcher>(conv, [&](auto of_type) {
    return with_either<1, 3>(conv.side == 1, [&](auto side) -> int {
      using block = gradient_block<decltype(of_type), side()>;
      using adding = adding_block<side()>;
      const auto failed = launcher.template launch<block>(
        shares.blocks, shares.pairs, block::bytes(shares.plan), shares.plan,
        block::stages(shares.plan), images, dy, slices);
      if (failed != 0)
        return failed;
      return launcher.template launch<adding>(
        shares.size / adding::columns, 1, adding::bytes, shares.plan,
        static_cast<const float*>(slices), shares.slices, shares.size,
        conv.weights_last != 0, dweight);
    });
  });
}

} // namespace hippo::cuda
