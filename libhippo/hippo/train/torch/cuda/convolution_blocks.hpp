#pragma once

#include <algorithm>
#include <cstdint>

#include "hippo/train/torch/cuda/block.hpp"
#include "hippo/train/torch/cuda/convolution.hpp"
#include "hippo/train/torch/cuda/kernels.h"

// The work of blocks of threads that convolve.
//
// Factors lie in a block's memory by rows, one for each pixel or channel, whose
// beginnings are an odd multiple of 16 bytes apart: so eight of them are in
// different banks. Copies of the next channels or tile go on while a block
// computes with the last ones.

namespace hippo::cuda {

/// Factors of a type of activations.
template <class Number, factor_kind Kind, bool IsExact = false>
struct factors {
  using number = Number;
  static constexpr auto kind = Kind;
  static constexpr int size = static_cast<int>(sizeof(Number));
  static constexpr bool is_half = size == 2;
  /// Whether each factor is the sum of two, so that 21 bits of it count. The
  /// matrix units cut sums off where others round, so they add up only a few
  /// such products in one go.
  static constexpr bool is_exact = IsExact;
};

/// A lane's factors as they are multiplied.
template <class Factors>
struct fragment {
  factor_words words;
  factor_words rest; ///< of exact ones

  HIPPO_HOST_DEVICE void prepare() {
    if constexpr (!Factors::is_half) {
      HIPPO_UNROLL
      for (int i = 0; i < 4; ++i) {
        const auto whole = as_float(words[i]);
        words[i] = tf32(words[i]);
        if constexpr (Factors::is_exact)
          rest[i] = tf32(as_bits(whole - as_float(words[i])));
      }
    }
  }
};

/// Adds `left` times the first or second half of `right`.
template <class Factors>
HIPPO_HOST_DEVICE void add(product_sums& sums, const fragment<Factors>& left,
                           const fragment<Factors>& right, int half) {
  constexpr auto kind = Factors::kind;
  if constexpr (Factors::is_exact) {
    add_product<kind>(sums, left.rest, right.words + 2 * half);
    add_product<kind>(sums, left.words, right.rest + 2 * half);
  }
  add_product<kind>(sums, left.words, right.words + 2 * half);
}

template <int Rows, int Columns>
using sums_of_warp = product_sums[Rows][Columns];

template <int Rows, int Columns>
HIPPO_HOST_DEVICE void add(sums_of_warp<Rows, Columns>& to,
                           const sums_of_warp<Rows, Columns>& sums) {
  HIPPO_UNROLL
  for (int m = 0; m < Rows; ++m) {
    HIPPO_UNROLL
    for (int n = 0; n < Columns; ++n) {
      HIPPO_UNROLL
      for (int i = 0; i < 4; ++i)
        to[m][n][i] += sums[m][n][i];
    }
  }
}

/// Begins to copy `Depth` channels, from `first` on, of lines of pixels into
/// rows of `Pitch` bytes. Numbers that are not there become 0.
/// @param line_of returns line i as a `conv_line`
template <class Factors, int Depth, int Pitch, class LineOf>
HIPPO_HOST_DEVICE void
load_lines(char* to, const void* from, std::int32_t lines, std::int32_t width,
           std::int32_t channels, std::int32_t first, const LineOf& line_of) {
  using number = typename Factors::number;
  constexpr int depth = vector_bytes / Factors::size, vectors = Depth / depth,
                lanes = 32;
  const auto where = this_thread();
  const auto lane = where.thread % lanes;
  const auto* source = static_cast<const number*>(from) + first;
  for (auto i = where.thread / lanes; i < lines; i += where.threads / lanes) {
    const auto line = line_of(i);
    auto* row = to + i * width * Pitch;
    if (channels < conv_gradient_channels) { // of an image
      for (auto x = lane; x < width; x += lanes) {
        const auto at = line.pixel(x);
        struct alignas(vector_bytes) {
          number at[Depth];
        } numbers = {};
        HIPPO_UNROLL
        for (int c = 0; c < conv_image_channels_max; ++c)
          if (at >= 0 && c < channels)
            numbers.at[c] = source[at * channels + c];
        store_as(row + x * Pitch, numbers);
      }
      continue;
    }
    for (auto v = lane; v < width * vectors; v += lanes) {
      const auto at = line.pixel(v / vectors), channel = v % vectors * depth;
      const bool is_there = at >= 0 && first + channel < channels;
      copy_vector(row + v / vectors * Pitch + v % vectors * vector_bytes,
                  source + (is_there ? at * channels + channel : 0), is_there);
    }
  }
}

/// How many stages of so many bytes a block has, beside what else it keeps.
constexpr int stages_of(int bytes, int wanted, int beside = 0) {
  return wanted * bytes + beside <= conv_memory_max ? wanted : 1;
}

/// A block of a correlation: it computes one tile of the target, `Width` of its
/// channels, `Depth` channels of the source at a time. Each of its warps has
/// `16 * Rows` pixels.
template <class Factors, int Side, int Depth, int Width, int Rows, int Warps>
struct correlation_block {
  using number = typename Factors::number;
  static constexpr int threads = 32 * Warps, taps = Side * Side,
                       pixel_pitch = Depth * Factors::size + vector_bytes,
                       weight_pitch =
                         taps * Depth * Factors::size + vector_bytes,
                       weight_bytes = Width * weight_pitch,
                       result_pitch = Width * Factors::size + vector_bytes;

  /// Weights, and the source of the tile.
  HIPPO_HOST_DEVICE static int stage_bytes(const conv_plan& plan) {
    return weight_bytes + plan.halo_pixels() * pixel_pitch;
  }
  static int stages(const conv_plan& plan) {
    return stages_of(stage_bytes(plan), plan.source.channels > Depth ? 2 : 1);
  }
  static int bytes(const conv_plan& plan) {
    return std::max(stages(plan) * stage_bytes(plan),
                    plan.tile_pixels() * result_pitch);
  }

  /// The sums of one warp.
  struct warp {
    std::int32_t first; ///< of the warp's pixels
    std::int32_t windows[Rows], weights;
    sums_of_warp<Rows, Width / 8> sums = {};

    HIPPO_HOST_DEVICE warp(const conv_plan& plan, std::int32_t thread)
      : first(thread / 32 * 16 * Rows) {
      const auto lane = thread % 32;
      HIPPO_UNROLL
      for (int m = 0; m < Rows; ++m)
        windows[m] = window_of(plan, first + 16 * m + lane % 16) * pixel_pitch
                     + lane / 16 * vector_bytes;
      weights =
        (lane % 8 + lane / 16 * 8) * weight_pitch + lane / 8 % 2 * vector_bytes;
    }

    /// Adds up the products of one stage.
    HIPPO_HOST_DEVICE void add_stage(const conv_plan& plan, const char* stage) {
      const auto *factors = stage + weights, *pixels = stage + weight_bytes;
      HIPPO_UNROLL
      for (int tap = 0; tap < taps; ++tap) {
        const auto* at =
          pixels + (tap / Side * plan.halo_width + tap % Side) * pixel_pitch;
        sums_of_warp<Rows, Width / 8> of_tap = {};
        auto& to = Factors::is_exact ? of_tap : sums;
        HIPPO_UNROLL
        for (int k = 0; k < Depth * Factors::size; k += product_bytes) {
          fragment<Factors> a[Rows];
          HIPPO_UNROLL
          for (int m = 0; m < Rows; ++m) {
            load_matrices(a[m].words, at + windows[m] + k);
            a[m].prepare();
          }
          HIPPO_UNROLL
          for (int n = 0; n < Width / 16; ++n) {
            fragment<Factors> b;
            load_matrices(b.words, factors + 16 * n * weight_pitch
                                     + tap * Depth * Factors::size + k);
            b.prepare();
            HIPPO_UNROLL
            for (int m = 0; m < Rows; ++m) {
              add(to[m][2 * n], a[m], b, 0);
              add(to[m][2 * n + 1], a[m], b, 1);
            }
          }
        }
        if constexpr (Factors::is_exact)
          add(sums, of_tap);
      }
    }

    /// Writes the warp's results to rows of the block's memory.
    HIPPO_HOST_DEVICE void put(char* rows, std::int32_t pixels) const {
      const auto lane = this_thread().thread % 32;
      HIPPO_UNROLL
      for (int m = 0; m < Rows; ++m) {
        HIPPO_UNROLL
        for (int i = 0; i < 2; ++i) {
          const auto pixel = first + 16 * m + lane / 4 + 8 * i;
          if (pixel >= pixels)
            continue;
          struct alignas(2 * sizeof(number)) {
            number first, second;
          } both;
          auto* row = rows + pixel * result_pitch + lane % 4 * sizeof both;
          HIPPO_UNROLL
          for (int n = 0; n < Width / 8; ++n) {
            both.first = static_cast<number>(sums[m][n][2 * i]);
            both.second = static_cast<number>(sums[m][n][2 * i + 1]);
            store_as(row + 8 * n * Factors::size, both);
          }
        }
      }
    }
  };

  HIPPO_HOST_DEVICE void operator()(const conv_plan& plan, int stages,
                                    const void* source, const void* rows,
                                    void* target) const {
    const auto where = this_thread();
    auto* memory = block_memory();
    const auto place = place_of(plan, where.block);
    const auto chunks = conv_chunks(plan.source.channels, Depth);
    const auto* weights = static_cast<const char*>(rows)
                          + std::int64_t{where.row} * chunks * weight_bytes;
    const auto stage_of = [&](std::int32_t chunk) {
      return memory + chunk % stages * stage_bytes(plan);
    };
    const auto load = [&](std::int32_t chunk) {
      auto* to = stage_of(chunk);
      const auto* from = weights + chunk * weight_bytes;
      for (auto i = where.thread * vector_bytes; i < weight_bytes;
           i += threads * vector_bytes)
        copy_vector(to + i, from + i, true);
      load_lines<Factors, Depth, pixel_pitch>(
        to + weight_bytes, source, plan.halo_lines(), plan.halo_width,
        plan.source.channels, chunk * Depth,
        [&](std::int32_t i) { return source_line(plan, place, i); });
      end_of_copies();
    };
    load(0);
    warp mine{plan, where.thread};
    for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
      const bool has_next = chunk + 1 < chunks;
      if (has_next && stages > 1) {
        load(chunk + 1);
        wait_for_copies<1>();
      } else {
        wait_for_copies<0>();
      }
      synchronize();
      mine.add_stage(plan, stage_of(chunk));
      synchronize();
      if (has_next && stages == 1)
        load(chunk + 1);
    }
    // Through the block's memory, so that vectors are written.
    mine.put(memory, plan.tile_pixels());
    synchronize();
    constexpr int depth = vector_bytes / Factors::size, vectors = Width / depth;
    for (auto i = where.thread / 32; i < plan.tile_lines(); i += Warps) {
      const auto line = target_line(plan, place, i);
      for (auto v = where.thread % 32; v < plan.tile_width * vectors; v += 32) {
        const auto x = v / vectors,
                   channel = where.row * Width + v % vectors * depth,
                   at = line.pixel(x);
        if (at >= 0 && channel < plan.target.channels)
          store_as(
            reinterpret_cast<char*>(static_cast<number*>(target)
                                    + at * plan.target.channels + channel),
            load_as<block_vector>(memory
                                  + (i * plan.tile_width + x) * result_pitch
                                  + v % vectors * vector_bytes));
      }
    }
  }
};

/// Writes the weights of convolutions as correlations copy them.
template <class Number>
struct preparing_block {
  static constexpr int threads = 256, blocks = 16;

  HIPPO_HOST_DEVICE void
  operator()(const hippo_cuda_conv_weights& convs) const {
    const auto where = this_thread();
    const auto in = convs.in[where.row], out = convs.out[where.row],
               side = convs.side[where.row], taps = side * side;
    const auto* weight = convs.weight[where.row];
    auto* to = static_cast<Number*>(convs.rows[where.row]);
    const auto put = [&](std::int32_t source, std::int32_t target,
                         bool is_backward) {
      const conv_rows rows{source, target, side, sizeof(Number)};
      const auto sources = rows.chunks * rows.depth,
                 targets = conv_chunks(target, rows.width) * rows.width;
      for (auto i = where.block * threads + where.thread;
           i < targets * sources * taps; i += where.blocks * threads) {
        const auto tap = i % taps, s = i / taps % sources,
                   t = i / taps / sources;
        float value = 0;
        if (s < source && t < target)
          value = weight[weight_place(convs.weights_last != 0, in, taps,
                                      is_backward ? s : t, is_backward ? t : s,
                                      is_backward ? taps - 1 - tap : tap)];
        to[rows.place(t, s, tap)] = static_cast<Number>(value);
      }
      to += rows.size(target);
    };
    put(in, out, false);
    if (in >= conv_gradient_channels)
      put(out, in, true);
  }
};

/// How the sums of the gradient of the weights lie: of each slice, for each
/// pair of 16 channels of the target and 16 of the source, for each row of the
/// weights those of a warp, one for each lane after the other.
template <int Side>
struct gradient_sums {
  static constexpr int channels = conv_gradient_channels;
  /// Each warp has a row of the weights; where there is one row only, a part of
  /// the pixels, which is a slice.
  static constexpr int parts = Side == 1 ? 4 : 1, warps = Side * parts;
  static constexpr int of_lane = 8 * Side, of_warp = 32 * of_lane,
                       of_pair = Side * of_warp;

  /// The weight of one sum of all pairs.
  struct weight {
    std::int32_t target, source, tap;
  };
  HIPPO_HOST_DEVICE static weight weight_of(const conv_plan& plan,
                                            std::int32_t sum) {
    const auto lane = sum % 32, number = sum / 32;
    const auto i = number % 4, n = number / 4 % 2,
               tap = number / 8 % (Side * Side), pair = sum / of_pair;
    const auto chunks = conv_chunks(plan.source.channels, channels);
    return {pair / chunks * channels + lane / 4 + i / 2 * 8,
            pair % chunks * channels + 8 * n + lane % 4 * 2 + i % 2, tap};
  }
};

/// A block that adds up slices of the gradient of the weights, over some of the
/// tiles, of 16 channels of the target and 16 of the source.
template <class Factors, int Side>
struct gradient_block {
  using layout = gradient_sums<Side>;
  static constexpr int channels = conv_gradient_channels,
                       pixels = conv_gradient_pixels,
                       threads = 32 * layout::warps,
                       pitch = channels * Factors::size + vector_bytes;
  /// The pixels that one product is deep.
  static constexpr int depth = product_bytes / Factors::size;

  /// Gradients of the tile, and its source.
  HIPPO_HOST_DEVICE static int stage_bytes(const conv_plan& plan) {
    return (pixels + plan.halo_pixels()) * pitch;
  }
  /// The places of windows, then stages.
  static constexpr int windows_bytes =
    pixels * static_cast<int>(sizeof(std::int32_t));
  static int stages(const conv_plan& plan) {
    return stages_of(stage_bytes(plan), 2, windows_bytes);
  }
  static int bytes(const conv_plan& plan) {
    return windows_bytes + stages(plan) * stage_bytes(plan);
  }

  /// A lane's gradients, of `depth` pixels.
  HIPPO_HOST_DEVICE static void
  load_gradients(fragment<Factors>& to, const char* pixel, std::int32_t lane) {
    if constexpr (Factors::is_half) {
      load_transposed(to.words, pixel + (lane / 16 * 8 + lane % 8) * pitch
                                  + lane / 8 % 2 * vector_bytes);
    } else {
      HIPPO_UNROLL
      for (int i = 0; i < 4; ++i)
        to.words[i] =
          load_as<std::uint32_t>(pixel + (lane % 4 + i / 2 * 4) * pitch
                                 + (lane / 4 + i % 2 * 8) * Factors::size);
    }
    to.prepare();
  }

  /// Where the windows of a lane's pixels begin, of `depth` pixels.
  struct lane_windows {
    const char* at[Factors::is_half ? 1 : 2];

    HIPPO_HOST_DEVICE lane_windows(const std::int32_t* windows,
                                   const char* source, std::int32_t lane) {
      if constexpr (Factors::is_half) {
        at[0] = source + windows[lane % 16] + lane / 16 * vector_bytes;
      } else {
        HIPPO_UNROLL
        for (int i = 0; i < 2; ++i)
          at[i] = source + windows[lane % 4 + 4 * i] + lane / 4 * Factors::size;
      }
    }

    /// A lane's part of the source at one place of the windows.
    HIPPO_HOST_DEVICE void load(fragment<Factors>& to,
                                std::int32_t offset) const {
      if constexpr (Factors::is_half) {
        load_transposed(to.words, at[0] + offset);
      } else {
        HIPPO_UNROLL
        for (int i = 0; i < 4; ++i)
          to.words[i] = load_as<std::uint32_t>(at[i % 2] + offset
                                               + i / 2 * 8 * Factors::size);
      }
      to.prepare();
    }
  };

  HIPPO_HOST_DEVICE static void add_stage(sums_of_warp<Side, 2>& sums,
                                          const conv_plan& plan,
                                          const std::int32_t* windows,
                                          const char* stage) {
    const auto thread = this_thread().thread, lane = thread % 32,
               warp = thread / 32;
    const auto* line =
      stage + pixels * pitch + warp % Side * plan.halo_width * pitch;
    sums_of_warp<Side, 2> of_tile = {};
    auto& to = Factors::is_exact ? of_tile : sums;
    constexpr int share = pixels / layout::parts;
    const auto first = warp / Side * share;
#ifdef __CUDA_ARCH__
#pragma unroll 2
#endif
    for (auto pixel = first; pixel < first + share; pixel += depth) {
      fragment<Factors> a;
      load_gradients(a, stage + pixel * pitch, lane);
      const lane_windows at{windows + pixel, line, lane};
      HIPPO_UNROLL
      for (int tap = 0; tap < Side; ++tap) {
        fragment<Factors> b;
        at.load(b, tap * pitch);
        add(to[tap][0], a, b, 0);
        add(to[tap][1], a, b, 1);
      }
    }
    if constexpr (Factors::is_exact)
      add(sums, of_tile);
  }

  HIPPO_HOST_DEVICE void operator()(const conv_plan& plan, int stages,
                                    const void* source, const void* dtarget,
                                    float* slices) const {
    const auto where = this_thread();
    auto* windows = reinterpret_cast<std::int32_t*>(block_memory());
    auto* memory = block_memory() + windows_bytes;
    const auto chunks = conv_chunks(plan.source.channels, channels),
               of_target = where.row / chunks * channels,
               of_source = where.row % chunks * channels;
    const auto stage_of = [&](int stage) {
      return memory + stage * stage_bytes(plan);
    };
    const auto load = [&](std::int32_t tile, int stage) {
      const auto place = place_of(plan, tile);
      auto* to = stage_of(stage);
      load_lines<Factors, channels, pitch>(
        to, dtarget, plan.tile_lines(), plan.tile_width, plan.target.channels,
        of_target, [&](std::int32_t i) { return target_line(plan, place, i); });
      load_lines<Factors, channels, pitch>(
        to + pixels * pitch, source, plan.halo_lines(), plan.halo_width,
        plan.source.channels, of_source,
        [&](std::int32_t i) { return source_line(plan, place, i); });
      end_of_copies();
    };
    load(where.block, 0);
    for (auto i = where.thread; i < pixels; i += threads)
      windows[i] = window_of(plan, i) * pitch;
    // Pixels that a tile lacks count as 0.
    constexpr int vectors = pitch / vector_bytes;
    for (int stage = 0; stage < stages; ++stage)
      for (auto i = plan.tile_pixels() * vectors + where.thread;
           i < pixels * vectors; i += threads)
        store_as(stage_of(stage) + i * vector_bytes, block_vector{});
    sums_of_warp<Side, 2> sums = {};
    int stage = 0;
    for (auto tile = where.block; tile < plan.tiles; tile += where.blocks) {
      const auto next = tile + where.blocks;
      if (next < plan.tiles && stages > 1) {
        load(next, 1 - stage);
        wait_for_copies<1>();
      } else {
        wait_for_copies<0>();
      }
      synchronize();
      add_stage(sums, plan, windows, stage_of(stage));
      synchronize();
      if (stages > 1)
        stage = 1 - stage;
      else if (next < plan.tiles)
        load(next, 0);
    }
    const auto warp = where.thread / 32, lane = where.thread % 32,
               slice = where.block * layout::parts + warp / Side;
    auto* to =
      slices + (std::int64_t{slice} * where.rows + where.row) * layout::of_pair
      + warp % Side * layout::of_warp + lane;
    HIPPO_UNROLL
    for (int tap = 0; tap < Side; ++tap) {
      HIPPO_UNROLL
      for (int n = 0; n < 2; ++n) {
        HIPPO_UNROLL
        for (int i = 0; i < 4; ++i)
          to[((tap * 2 + n) * 4 + i) * 32] = sums[tap][n][i];
      }
    }
  }
};

/// A block that adds up 32 sums of all slices: each warp those of every eighth
/// slice, then the first warp these; and puts them in the order of weights.
template <int Side>
struct adding_block {
  static constexpr int columns = 32, warps = 8, threads = columns * warps,
                       bytes = threads * static_cast<int>(sizeof(float));

  HIPPO_HOST_DEVICE void operator()(const conv_plan& plan, const float* slices,
                                    std::int32_t count, std::int32_t size,
                                    bool weights_last, float* to) const {
    const auto where = this_thread();
    auto* sums = reinterpret_cast<float*>(block_memory());
    const auto lane = where.thread % columns, warp = where.thread / columns,
               at = where.block * columns + lane;
    float sum = 0;
#ifdef __CUDA_ARCH__
#pragma unroll 8
#endif
    for (auto i = warp; i < count; i += warps)
      sum += slices[std::int64_t{i} * size + at];
    sums[where.thread] = sum;
    synchronize();
    if (warp != 0)
      return;
    for (int i = 1; i < warps; ++i)
      sum += sums[i * columns + lane];
    const auto weight = gradient_sums<Side>::weight_of(plan, at);
    if (weight.source < plan.source.channels)
      to[weight_place(weights_last, plan.source.channels, Side * Side,
                      weight.target, weight.source, weight.tap)] = sum;
  }
};

} // namespace hippo::cuda
