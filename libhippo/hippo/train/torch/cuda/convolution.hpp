#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hippo/train/torch/cuda/host_device.hpp"
#include "hippo/train/torch/cuda/kernels.h"

// The division of a convolution's work among blocks, and the places of numbers
// in a block's memory. It is compiled for CPUs as well, so that a test without
// a GPU convolves by it.
//
// A convolution and the gradient of its input are both a *correlation*: each
// pixel of the target is the sum of the weights' products with a window of the
// source. The division follows from shapes alone, so that sums have the same
// order on every GPU.

namespace hippo::cuda {

/// The channels of source and target of which one product of matrices adds up
/// the gradient of the weights.
constexpr int conv_gradient_channels = 16;

/// The pixels of the target in one tile of that.
constexpr int conv_gradient_pixels = 128;

/// About so many blocks share the gradient of the weights: two for each
/// multiprocessor of an H100.
constexpr int conv_gradient_blocks = 256;

/// The widest tile, in pixels.
constexpr int conv_tile_width_max = 32;

/// The most channels of an image.
constexpr int conv_image_channels_max = 4;

/// The most memory that a block may have on every GPU since compute capability
/// 8.0, in bytes.
constexpr int conv_memory_max = 99 * 1024;

/// Divides by a number that is known before a kernel begins (Granlund and
/// Montgomery, 1994).
class conv_divisor {
public:
  conv_divisor() = default;

  /// REQUIRES: `by` > 0
  explicit conv_divisor(std::int32_t by) : by_(by) {
    const auto wide = static_cast<std::uint64_t>(by);
    while ((std::uint64_t{1} << shift_) < wide)
      ++shift_;
    factor_ = static_cast<std::uint32_t>(
      ((std::uint64_t{1} << (31 + shift_)) + wide - 1) / wide);
  }

  struct result {
    std::int32_t quotient, remainder;
  };

  /// REQUIRES: `number` >= 0
  [[nodiscard]] HIPPO_HOST_DEVICE result of(std::int32_t number) const {
    const auto doubled = static_cast<std::uint32_t>(number) * 2;
#ifdef __CUDA_ARCH__
    const auto high = __umulhi(doubled, factor_);
#else
    const auto high = (std::uint64_t{doubled} * factor_) >> 32;
#endif
    const auto quotient = static_cast<std::int32_t>(high >> shift_);
    return {quotient, number - quotient * by_};
  }

private:
  std::int32_t by_ = 1;
  std::uint32_t factor_ = std::uint32_t{1} << 31;
  std::int32_t shift_ = 0;
};

/// Images of one shape.
struct conv_images {
  std::int32_t height, width, channels;
};

/// A correlation, and the tiles of the target that blocks take.
struct conv_plan {
  std::int32_t images;
  conv_images source, target;
  std::int32_t side, padding;
  std::int32_t stride;   ///< between windows, in pixels of the source
  std::int32_t dilation; ///< 2: a zero lies between any two of its pixels

  std::int32_t tile_images, tile_height, tile_width;
  std::int32_t halo_height, halo_width; ///< the source of a tile
  std::int32_t tiles;                   ///< in all
  bool is_valid; ///< whether there is something, and not too much

  /// By an image's rows and columns of tiles, and the lines of an image in a
  /// tile, in its source, and the pixels of a line of the tile.
  conv_divisor by_rows, by_columns, by_height, by_halo_height, by_width;

  [[nodiscard]] HIPPO_HOST_DEVICE std::int32_t tile_lines() const {
    return tile_images * tile_height;
  }
  [[nodiscard]] HIPPO_HOST_DEVICE std::int32_t tile_pixels() const {
    return tile_lines() * tile_width;
  }
  [[nodiscard]] HIPPO_HOST_DEVICE std::int32_t halo_lines() const {
    return tile_images * halo_height;
  }
  [[nodiscard]] HIPPO_HOST_DEVICE std::int32_t halo_pixels() const {
    return halo_lines() * halo_width;
  }
};

/// The first pixel of a tile.
struct conv_place {
  std::int32_t image, row, column;
};

HIPPO_HOST_DEVICE inline conv_place place_of(const conv_plan& plan,
                                             std::int32_t tile) {
  const auto across = plan.by_columns.of(tile);
  const auto down = plan.by_rows.of(across.quotient);
  return {down.quotient * plan.tile_images, down.remainder * plan.tile_height,
          across.remainder * plan.tile_width};
}

/// One line of a tile, or of its source.
struct conv_line {
  std::int32_t first;    ///< the place of the image's pixel in column 0
  std::int32_t column;   ///< of the line's first pixel
  std::int32_t columns;  ///< of the image; 0: the line is not there
  std::int32_t dilation; ///< as of the plan

  /// Returns the place of a pixel of the line in all images; -1: it is not
  /// there, which counts as 0.
  [[nodiscard]] HIPPO_HOST_DEVICE std::int32_t pixel(std::int32_t index) const {
    const auto at = column + index, zeros = dilation - 1;
    return static_cast<std::uint32_t>(at) >= static_cast<std::uint32_t>(columns)
               || (at & zeros) != 0
             ? -1
             : first + (at >> zeros);
  }
};

/// Line `index` of a tile's target.
HIPPO_HOST_DEVICE inline conv_line
target_line(const conv_plan& plan, conv_place from, std::int32_t index) {
  const auto line = plan.by_height.of(index);
  const auto image = from.image + line.quotient,
             row = from.row + line.remainder;
  if (image >= plan.images || row >= plan.target.height)
    return {0, 0, 0, 1};
  return {(image * plan.target.height + row) * plan.target.width, from.column,
          plan.target.width, 1};
}

/// Line `index` of a tile's source.
HIPPO_HOST_DEVICE inline conv_line
source_line(const conv_plan& plan, conv_place from, std::int32_t index) {
  const auto line = plan.by_halo_height.of(index);
  const auto zeros = plan.dilation - 1;
  const auto image = from.image + line.quotient,
             dilated = from.row * plan.stride - plan.padding + line.remainder,
             row = dilated >> zeros;
  if (image >= plan.images || dilated < 0 || (dilated & zeros) != 0
      || row >= plan.source.height)
    return {0, 0, 0, 1};
  return {(image * plan.source.height + row) * plan.source.width,
          from.column * plan.stride - plan.padding,
          (plan.source.width - 1) * plan.dilation + 1, plan.dilation};
}

/// The pixel of a tile's source at which the window of the tile's pixel `index`
/// begins; 0 if there is no such pixel.
HIPPO_HOST_DEVICE inline std::int32_t window_of(const conv_plan& plan,
                                                std::int32_t index) {
  if (index >= plan.tile_pixels())
    return 0;
  const auto across = plan.by_width.of(index);
  const auto down = plan.by_height.of(across.quotient);
  return (down.quotient * plan.halo_height + down.remainder * plan.stride)
           * plan.halo_width
         + across.remainder * plan.stride;
}

/// How many pieces of `size` channels there are, the last one perhaps not full.
HIPPO_HOST_DEVICE constexpr std::int32_t conv_chunks(std::int32_t channels,
                                                     std::int32_t size) {
  return (channels + size - 1) / size;
}

/// The side of an image after a convolution.
constexpr std::int32_t conv_side(std::int32_t side, std::int32_t kernel,
                                 std::int32_t stride) {
  return (side + kernel / 2 * 2 - kernel) / stride + 1;
}

/// Divides the target into tiles of `pixels` at most.
inline void divide(conv_plan& plan, std::int32_t pixels) {
  const auto divided = [](std::int32_t a, std::int32_t b) {
    return (a + b - 1) / b;
  };
  const auto halo = [&](std::int32_t tile) {
    return (tile - 1) * plan.stride + plan.side;
  };
  auto columns = divided(plan.target.width, conv_tile_width_max);
  plan.tile_width = divided(plan.target.width, columns);
  columns = divided(plan.target.width, plan.tile_width);
  auto rows = divided(plan.target.height, pixels / plan.tile_width);
  plan.tile_height = divided(plan.target.height, rows);
  rows = divided(plan.target.height, plan.tile_height);
  plan.halo_height = halo(plan.tile_height);
  plan.halo_width = halo(plan.tile_width);
  // Several small images in a tile, unless their source takes too much memory.
  const auto most =
    std::min(pixels / (plan.tile_width * plan.tile_height),
             (2 * pixels + 256) / (plan.halo_height * plan.halo_width));
  plan.tile_images = rows * columns == 1 ? std::clamp(most, 1, plan.images) : 1;
  plan.tiles = divided(plan.images, plan.tile_images) * rows * columns;
  plan.by_rows = conv_divisor{rows};
  plan.by_columns = conv_divisor{columns};
  plan.by_height = conv_divisor{plan.tile_height};
  plan.by_halo_height = conv_divisor{plan.halo_height};
  plan.by_width = conv_divisor{plan.tile_width};
}

/// Whether there are kernels for a convolution.
inline bool is_convolved(const hippo_cuda_conv& conv) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() / 2;
  constexpr int side_max = 4096, channels_max = 2048;
  const auto fits = [](std::int32_t channels) {
    return channels > 0 && channels % conv_gradient_channels == 0
           && channels <= channels_max;
  };
  return conv.images >= 1 && conv.images <= most && conv.height >= 1
         && conv.height <= side_max && conv.width >= 1 && conv.width <= side_max
         && (conv.side == 1 || conv.side == 3)
         && (conv.stride == 1 || conv.stride == 2) && fits(conv.out)
         && (fits(conv.in)
             || (conv.in >= 1 && conv.in <= conv_image_channels_max))
         && conv.images * conv.height
              <= most / conv.width / std::max(conv.in, conv.out);
}

/// The plan from x to y, or from the gradient of y to that of x, by tiles of
/// `pixels` at most.
inline conv_plan plan_of(const hippo_cuda_conv& conv, bool is_backward,
                         std::int32_t pixels) {
  conv_plan plan{};
  plan.is_valid = is_convolved(conv);
  if (!plan.is_valid)
    return plan;
  plan.images = static_cast<std::int32_t>(conv.images);
  plan.side = conv.side;
  plan.padding = conv.side / 2;
  plan.stride = is_backward ? 1 : conv.stride;
  plan.dilation = is_backward ? conv.stride : 1;
  const conv_images x{conv.height, conv.width, conv.in},
    y{conv_side(conv.height, conv.side, conv.stride),
      conv_side(conv.width, conv.side, conv.stride), conv.out};
  plan.source = is_backward ? y : x;
  plan.target = is_backward ? x : y;
  divide(plan, pixels);
  return plan;
}

/// The place of a weight, by output, input and pixel of the kernel.
HIPPO_HOST_DEVICE inline std::int32_t
weight_place(bool channels_last, std::int32_t inputs, std::int32_t taps,
             std::int32_t output, std::int32_t input, std::int32_t tap) {
  return channels_last ? (output * taps + tap) * inputs + input
                       : (output * inputs + input) * taps + tap;
}

/// Channels that a block of a correlation takes at a time, of the source and of
/// the target.
HIPPO_HOST_DEVICE constexpr std::int32_t
conv_block_channels(std::int32_t channels) {
  return channels <= 16 ? 16 : 32;
}

/// How weights lie before a correlation: for each block of channels of the
/// target, for each of the source, for each channel of the target a row of the
/// source's, tap after tap, and 16 bytes that are not used, so that the rows
/// begin in different banks of a block's memory.
struct conv_rows {
  std::int32_t depth, width; ///< channels of a block: source, target
  std::int32_t chunks;       ///< blocks of the source
  std::int32_t taps;
  std::int32_t pitch; ///< numbers from one row to the next

  HIPPO_HOST_DEVICE conv_rows(std::int32_t source, std::int32_t target,
                              std::int32_t side, std::int32_t number_bytes)
    : depth(conv_block_channels(source)), width(conv_block_channels(target)),
      chunks(conv_chunks(source, depth)), taps(side * side),
      pitch(taps * depth + 16 / number_bytes) {}

  /// Numbers, of all blocks.
  [[nodiscard]] HIPPO_HOST_DEVICE std::int64_t size(std::int32_t target) const {
    return std::int64_t{conv_chunks(target, width)} * width * chunks * pitch;
  }
  [[nodiscard]] HIPPO_HOST_DEVICE std::int64_t
  place(std::int32_t target, std::int32_t source, std::int32_t tap) const {
    const auto row =
      (target / width * chunks + source / depth) * width + target % width;
    return std::int64_t{row} * pitch + tap * depth + source % depth;
  }
};

/// The pairs of 16 channels of the source and 16 of the target.
inline std::int32_t gradient_chunks_of(const conv_plan& plan) {
  return conv_chunks(plan.source.channels, conv_gradient_channels)
         * conv_chunks(plan.target.channels, conv_gradient_channels);
}

/// How many blocks share the sum over all pixels of the gradient of the
/// weights, for each of these pairs.
inline std::int32_t gradient_blocks_of(const conv_plan& plan) {
  return std::clamp(conv_gradient_blocks / gradient_chunks_of(plan), 1,
                    plan.tiles);
}

} // namespace hippo::cuda
