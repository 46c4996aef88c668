#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "hippo/train/torch/cuda/host_device.hpp"
#include "hippo/train/torch/cuda/kernels.h"

// The work of blocks of threads that normalise a batch. It is compiled for CPUs
// as well, where a block's threads run one after the other between any two
// places at which they wait for each other.
//
// Sums have a fixed order, and the division of the work follows from shape and
// type alone: bits depend neither on the number of multiprocessors nor on the
// order of blocks.
// REQUIRES: products and sums are not contracted (`-fmad=false` of nvcc,
// `-ffp-contract=off` of GCC).

namespace hippo::cuda {

constexpr int norm_threads = 256;

/// The most channels that a block takes.
constexpr int norm_channels_max = 64;

/// About so many blocks work on large activations: two for each multiprocessor
/// of an H100.
constexpr int norm_blocks = 256;

/// The fewest vectors that a thread takes, unless there are fewer in all.
constexpr int norm_vectors_a_thread = 4;

/// Activations in memory: numbers of one type, by vectors of 16 bytes or one by
/// one.
template <class N, bool ChannelsLast, bool Whole>
struct norm_layout {
  using number = N;
  static constexpr bool channels_last = ChannelsLast;
  static constexpr int vector = Whole ? 16 / static_cast<int>(sizeof(N)) : 1;
  /// The channels that a vector's numbers are of.
  static constexpr int depth = ChannelsLast ? vector : 1;

  struct alignas(vector * sizeof(N)) numbers {
    N at[vector];
  };
};

/// How the work is divided: vectors lie in rows and columns. A block takes a
/// chunk of the columns and a part of the rows; its threads are lanes of rows,
/// each as wide as the chunk.
struct norm_plan {
  std::int32_t rows, columns; ///< in all; a column has the same channels
  std::int32_t chunk_columns, chunks;
  std::int32_t part_rows, parts;
  std::int32_t lanes;
  bool is_valid; ///< whether there is something, and not too much
};

template <class Layout>
norm_plan plan_of(const hippo_cuda_norm& norm) {
  const auto divided = [](std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
  };
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() / 2;
  const auto columns = norm.channels / Layout::depth,
             rows =
               norm.images * (norm.pixels * Layout::depth / Layout::vector);
  if (norm.images < 1 || norm.channels < 1 || norm.pixels < 1 || rows > most
      || columns > most / norm_blocks)
    return {};
  auto chunks = Layout::channels_last
                  ? divided(columns, norm_channels_max / Layout::depth)
                  : columns;
  const auto chunk_columns = divided(columns, chunks);
  chunks = divided(columns, chunk_columns);
  const auto lanes = norm_threads / chunk_columns,
             parts_max = std::max<std::int64_t>(norm_blocks / chunks, 1);
  const auto part_rows =
    std::max(divided(rows, parts_max), lanes * norm_vectors_a_thread);
  const auto as_int = [](std::int64_t n) {
    return static_cast<std::int32_t>(n);
  };
  return {as_int(rows),          as_int(columns),
          as_int(chunk_columns), as_int(chunks),
          as_int(part_rows),     as_int(divided(rows, part_rows)),
          as_int(lanes),         true};
}

/// Calls `function` with the layout of activations of a type, and returns what
/// it returns.
template <class Number, class F>
auto with_norm_layout(const hippo_cuda_norm& norm, const F& function) {
  constexpr auto width = static_cast<std::int64_t>(16 / sizeof(Number));
  if (norm.channels_last != 0)
    return norm.channels % width == 0
             ? function(norm_layout<Number, true, true>{})
             : function(norm_layout<Number, true, false>{});
  return norm.pixels % width == 0
           ? function(norm_layout<Number, false, true>{})
           : function(norm_layout<Number, false, false>{});
}

/// Floats in the workspace of a plan: of each part two sums for every channel.
inline std::int64_t norm_workspace(const hippo_cuda_norm& norm,
                                   const norm_plan& plan) {
  return 2 * norm.channels * plan.parts;
}

/// The place of a block: blocks are numbered chunk by chunk, then part by part.
struct norm_block {
  std::int32_t chunk, part;
};

/// Memory that a block's threads share while they add up.
template <class Layout>
struct norm_sums_memory {
  float first[norm_threads * Layout::depth];
  float second[norm_threads * Layout::depth];
};

/// The same while they write results.
struct norm_memory {
  double first[norm_threads];
  double second[norm_threads];
  float mean[norm_channels_max];
  float a[norm_channels_max], b[norm_channels_max], c[norm_channels_max];
};

/// A thread's share of its block's vectors.
template <class Layout>
struct norm_share {
  std::int32_t column, begin, end, stride;

  HIPPO_HOST_DEVICE norm_share(const norm_plan& plan, norm_block where,
                               int thread)
    : column(where.chunk * plan.chunk_columns + thread % plan.chunk_columns),
      begin(where.part * plan.part_rows + thread / plan.chunk_columns),
      end((where.part + 1) * plan.part_rows), stride(plan.lanes) {
    if (end > plan.rows)
      end = plan.rows;
    if (column >= plan.columns || thread >= plan.lanes * plan.chunk_columns)
      end = begin;
  }

  /// The first of the channels.
  [[nodiscard]] HIPPO_HOST_DEVICE std::int32_t channel() const {
    return column * Layout::depth;
  }

  /// Calls `use(offset, load(offset))` for every vector, with the place of its
  /// first number. Several are loaded at once: each takes a while to come.
  template <class Load, class Use>
  HIPPO_HOST_DEVICE void each(const hippo_cuda_norm& norm, const Load& load,
                              const Use& use) const {
    constexpr int n = norm_vectors_a_thread;
    for (auto row = begin; row < end; row += n * stride) {
      std::int64_t offsets[n];
      decltype(load(std::int64_t{})) pieces[n];
      HIPPO_UNROLL
      for (int i = 0; i < n; ++i) {
        const auto next = row + i * stride;
        offsets[i] = offset_of(norm, next < end ? next : row);
        pieces[i] = load(offsets[i]);
      }
      HIPPO_UNROLL
      for (int i = 0; i < n; ++i)
        if (row + i * stride < end)
          use(offsets[i], pieces[i]);
    }
  }

private:
  [[nodiscard]] HIPPO_HOST_DEVICE std::int64_t
  offset_of(const hippo_cuda_norm& norm, std::int32_t row) const {
    if constexpr (Layout::channels_last) {
      return row * norm.channels + channel();
    } else {
      const auto vectors =
        static_cast<std::uint32_t>(norm.pixels / Layout::vector);
      const auto image = static_cast<std::uint32_t>(row) / vectors,
                 rest = static_cast<std::uint32_t>(row) - image * vectors;
      return (image * norm.channels + column) * norm.pixels
             + std::int64_t{rest} * Layout::vector;
    }
  }
};

template <class Layout>
HIPPO_HOST_DEVICE typename Layout::numbers norm_load(const void* from,
                                                     std::int64_t offset) {
  return *reinterpret_cast<const typename Layout::numbers*>(
    static_cast<const typename Layout::number*>(from) + offset);
}

template <class Layout>
HIPPO_HOST_DEVICE void norm_store(void* to, std::int64_t offset,
                                  const typename Layout::numbers& values) {
  auto* place = static_cast<typename Layout::number*>(to) + offset;
#ifdef __CUDA_ARCH__
  // nvcc would store floats one by one.
  if constexpr (sizeof values == sizeof(uint4)) {
    uint4 bits;
    memcpy(&bits, &values, sizeof bits);
    __stwb(reinterpret_cast<uint4*>(place), bits);
    return;
  }
#endif
  *reinterpret_cast<typename Layout::numbers*>(place) = values;
}

/// The values between which an activation changes nothing.
struct norm_limits {
  float low, high;

  HIPPO_HOST_DEVICE explicit norm_limits(std::int32_t last)
    : low(last == hippo_cuda_no_activation ? -INFINITY : 0.0F),
      high(last == hippo_cuda_relu6 ? 6.0F : INFINITY) {}

  /// NaN stays what it is: divergence is to be seen.
  [[nodiscard]] HIPPO_HOST_DEVICE float cut(float value) const {
    const auto above = value <= low ? low : value;
    return above >= high ? high : above;
  }

  /// Returns the part of a gradient `dy` that passes where the result was
  /// `result`, which is anything if there is no activation.
  [[nodiscard]] HIPPO_HOST_DEVICE float passed(float dy, float result) const {
    return result <= low || result >= high ? 0.0F : dy;
  }
};

/// Adds up `lanes` lanes of `width` numbers each, two arrays of them, into the
/// first lanes.
template <class Threads, class Real>
HIPPO_HOST_DEVICE void fold_lanes(const Threads& threads, Real* first,
                                  Real* second, int lanes, int width) {
  for (int n = lanes; n > 1;) {
    const int half = (n + 1) / 2;
    threads([&](int thread) {
      for (int i = thread; i < (n - half) * width; i += norm_threads) {
        first[i] += first[half * width + i];
        second[i] += second[half * width + i];
      }
    });
    n = half;
  }
}

/// Writes two sums of a block's part for each channel of its chunk;
/// `add(share, first, second)` adds up those of a thread.
template <class Layout, class Threads, class Add>
HIPPO_HOST_DEVICE void
put_part(const Threads& threads, const hippo_cuda_norm& norm,
         const norm_plan& plan, norm_block where,
         norm_sums_memory<Layout>& memory, float* parts, const Add& add) {
  constexpr int depth = Layout::depth;
  threads([&](int thread) {
    float first[depth] = {}, second[depth] = {};
    const norm_share<Layout> mine{plan, where, thread};
    if (mine.begin < mine.end)
      add(mine, first, second);
    for (int i = 0; i < depth; ++i) {
      memory.first[thread * depth + i] = first[i];
      memory.second[thread * depth + i] = second[i];
    }
  });
  const int width = plan.chunk_columns * depth;
  fold_lanes(threads, memory.first, memory.second, plan.lanes, width);
  threads([&](int thread) {
    const auto channel = std::int64_t{where.chunk} * width + thread;
    if (thread >= width || channel >= norm.channels)
      return;
    auto* to = parts + 2 * norm.channels * where.part + channel;
    to[0] = memory.first[thread];
    to[norm.channels] = memory.second[thread];
  });
}

/// Adds up the parts of a chunk's channels, into the first numbers of the
/// memory's sums.
template <class Threads>
HIPPO_HOST_DEVICE void
add_parts(const Threads& threads, const hippo_cuda_norm& norm,
          const norm_plan& plan, norm_block where, int width,
          const float* parts, norm_memory& memory) {
  const int fitting = norm_threads / width,
            lanes = plan.parts < fitting ? plan.parts : fitting;
  threads([&](int thread) {
    const int lane = thread / width;
    const auto channel = std::int64_t{where.chunk} * width + thread % width;
    double first = 0, second = 0;
    if (lane < lanes && channel < norm.channels) {
      for (int part = lane; part < plan.parts; part += lanes) {
        const auto* from = parts + 2 * norm.channels * part + channel;
        first += from[0];
        second += from[norm.channels];
      }
    }
    memory.first[thread] = first;
    memory.second[thread] = second;
  });
  fold_lanes(threads, memory.first, memory.second, lanes, width);
}

/// The first pixel of a channel. Differences from it are added up: squares of
/// what has a large mean would say little of its variance.
template <class Layout>
HIPPO_HOST_DEVICE float norm_origin(const hippo_cuda_norm& norm,
                                    const void* from, std::int64_t channel) {
  return static_cast<float>(static_cast<const typename Layout::number*>(
    from)[Layout::channels_last ? channel : channel * norm.pixels]);
}

/// A block's part of a batch's sums.
template <class Layout, class Threads>
HIPPO_HOST_DEVICE void
norm_sums(const Threads& threads, const hippo_cuda_norm& norm,
          const hippo_cuda_norm_forward& to, const norm_plan& plan,
          norm_block where, norm_sums_memory<Layout>& memory) {
  constexpr int depth = Layout::depth;
  put_part<Layout>(
    threads, norm, plan, where, memory, to.workspace,
    [&](const norm_share<Layout>& mine, float* first, float* second) {
      float origin[depth];
      for (int i = 0; i < depth; ++i)
        origin[i] = norm_origin<Layout>(norm, to.x, mine.channel() + i);
      mine.each(
        norm,
        [&](std::int64_t offset) { return norm_load<Layout>(to.x, offset); },
        [&](std::int64_t, const typename Layout::numbers& from) {
          HIPPO_UNROLL
          for (int i = 0; i < Layout::vector; ++i) {
            const auto d = static_cast<float>(from.at[i]) - origin[i % depth];
            first[i % depth] += d;
            second[i % depth] += d * d;
          }
        });
    });
}

/// The statistics by which a channel is normalised: of the batch if there is a
/// workspace, whose sums are those of the memory at `sums`. One block of a
/// chunk is the author of all that is kept.
template <class Layout>
HIPPO_HOST_DEVICE void
put_statistics(const hippo_cuda_norm& norm, const hippo_cuda_norm_forward& to,
               std::int64_t channel, bool is_author, const norm_memory& memory,
               int sums, float& mean, float& inverse) {
  if (to.workspace == nullptr) {
    mean = to.running_mean[channel];
    inverse = static_cast<float>(
      1 / std::sqrt(to.running_variance[channel] + norm.epsilon));
    return;
  }
  const auto count = static_cast<double>(norm.images * norm.pixels);
  const auto shift = memory.first[sums] / count,
             exact = norm_origin<Layout>(norm, to.x, channel) + shift,
             spread = memory.second[sums] / count - shift * shift,
             // NaN stays NaN.
    variance = spread < 0 ? 0.0 : spread;
  mean = static_cast<float>(exact);
  inverse = static_cast<float>(1 / std::sqrt(variance + norm.epsilon));
  if (!is_author)
    return;
  const auto follow = [&](float& running, double now) {
    running =
      static_cast<float>((1 - norm.momentum) * running + norm.momentum * now);
  };
  follow(to.running_mean[channel], exact);
  follow(to.running_variance[channel],
         variance * count / (count > 1 ? count - 1 : 1.0));
  to.mean[channel] = mean;
  to.inverse[channel] = inverse;
}

/// A block's part of a normalised batch.
template <class Layout, class Threads>
HIPPO_HOST_DEVICE void
norm_results(const Threads& threads, const hippo_cuda_norm& norm,
             const hippo_cuda_norm_forward& to, const norm_plan& plan,
             norm_block where, norm_memory& memory) {
  constexpr int depth = Layout::depth;
  const int width = plan.chunk_columns * depth;
  if (to.workspace != nullptr)
    add_parts(threads, norm, plan, where, width, to.workspace, memory);
  threads([&](int thread) {
    const auto channel = std::int64_t{where.chunk} * width + thread;
    if (thread >= width || channel >= norm.channels)
      return;
    float mean = 0, inverse = 0;
    put_statistics<Layout>(norm, to, channel, where.part == 0, memory, thread,
                           mean, inverse);
    memory.mean[thread] = mean;
    memory.a[thread] = to.weight[channel] * inverse;
    memory.b[thread] = to.bias[channel];
  });
  threads([&](int thread) {
    const norm_share<Layout> mine{plan, where, thread};
    if (mine.begin >= mine.end)
      return;
    const norm_limits limits{norm.last};
    const int first = mine.channel() - where.chunk * width;
    float mean[depth], a[depth], b[depth];
    for (int i = 0; i < depth; ++i) {
      mean[i] = memory.mean[first + i];
      a[i] = memory.a[first + i];
      b[i] = memory.b[first + i];
    }
    struct piece {
      typename Layout::numbers x, residual;
    };
    mine.each(
      norm,
      [&](std::int64_t offset) {
        piece result{norm_load<Layout>(to.x, offset), {}};
        if (to.residual != nullptr)
          result.residual = norm_load<Layout>(to.residual, offset);
        return result;
      },
      [&](std::int64_t offset, const piece& from) {
        typename Layout::numbers y;
        HIPPO_UNROLL
        for (int i = 0; i < Layout::vector; ++i) {
          const int k = i % depth;
          auto sum = (static_cast<float>(from.x.at[i]) - mean[k]) * a[k] + b[k];
          if (to.residual != nullptr)
            sum += static_cast<float>(from.residual.at[i]);
          y.at[i] = static_cast<typename Layout::number>(limits.cut(sum));
        }
        norm_store<Layout>(to.y, offset, y);
      });
  });
}

/// The numbers of a vector that the way back reads.
template <class Layout>
struct norm_gradient {
  typename Layout::numbers dy, y, x;

  HIPPO_HOST_DEVICE norm_gradient(const hippo_cuda_norm_backward& from,
                                  std::int64_t offset)
    : dy(norm_load<Layout>(from.dy, offset)), y{},
      x(norm_load<Layout>(from.x, offset)) {
    if (from.y != nullptr)
      y = norm_load<Layout>(from.y, offset);
  }

  norm_gradient() = default;
};

/// A block's part of the sums of gradients.
template <class Layout, class Threads>
HIPPO_HOST_DEVICE void
norm_gradient_sums(const Threads& threads, const hippo_cuda_norm& norm,
                   const hippo_cuda_norm_backward& to, const norm_plan& plan,
                   norm_block where, norm_sums_memory<Layout>& memory) {
  constexpr int depth = Layout::depth;
  put_part<Layout>(
    threads, norm, plan, where, memory, to.workspace,
    [&](const norm_share<Layout>& mine, float* first, float* second) {
      const norm_limits limits{norm.last};
      float mean[depth];
      for (int i = 0; i < depth; ++i)
        mean[i] = to.mean[mine.channel() + i];
      mine.each(
        norm,
        [&](std::int64_t offset) {
          return norm_gradient<Layout>{to, offset};
        },
        [&](std::int64_t, const norm_gradient<Layout>& from) {
          HIPPO_UNROLL
          for (int i = 0; i < Layout::vector; ++i) {
            const int k = i % depth;
            const auto d = limits.passed(static_cast<float>(from.dy.at[i]),
                                         static_cast<float>(from.y.at[i]));
            first[k] += d;
            second[k] += d * (static_cast<float>(from.x.at[i]) - mean[k]);
          }
        });
    });
}

/// A block's part of the gradients: `dx = dy * a + (norm - mean) * b + c`.
template <class Layout, class Threads>
HIPPO_HOST_DEVICE void
norm_gradients(const Threads& threads, const hippo_cuda_norm& norm,
               const hippo_cuda_norm_backward& to, const norm_plan& plan,
               norm_block where, norm_memory& memory) {
  constexpr int depth = Layout::depth;
  const int width = plan.chunk_columns * depth;
  add_parts(threads, norm, plan, where, width, to.workspace, memory);
  threads([&](int thread) {
    const auto channel = std::int64_t{where.chunk} * width + thread;
    if (thread >= width || channel >= norm.channels)
      return;
    const auto count = static_cast<double>(norm.images * norm.pixels);
    const auto sum = memory.first[thread], products = memory.second[thread];
    const double inverse = to.inverse[channel],
                 factor = to.weight[channel] * inverse;
    if (where.part == 0) {
      to.dbias[channel] = static_cast<float>(sum);
      to.dweight[channel] = static_cast<float>(products * inverse);
    }
    memory.mean[thread] = to.mean[channel];
    memory.a[thread] = static_cast<float>(factor);
    memory.b[thread] =
      static_cast<float>(-factor * inverse * inverse * products / count);
    memory.c[thread] = static_cast<float>(-factor * sum / count);
  });
  threads([&](int thread) {
    const norm_share<Layout> mine{plan, where, thread};
    if (mine.begin >= mine.end)
      return;
    const norm_limits limits{norm.last};
    const int first = mine.channel() - where.chunk * width;
    float mean[depth], a[depth], b[depth], c[depth];
    for (int i = 0; i < depth; ++i) {
      mean[i] = memory.mean[first + i];
      a[i] = memory.a[first + i];
      b[i] = memory.b[first + i];
      c[i] = memory.c[first + i];
    }
    mine.each(
      norm,
      [&](std::int64_t offset) {
        return norm_gradient<Layout>{to, offset};
      },
      [&](std::int64_t offset, const norm_gradient<Layout>& from) {
        typename Layout::numbers dx, passed;
        HIPPO_UNROLL
        for (int i = 0; i < Layout::vector; ++i) {
          const int k = i % depth;
          const auto d = limits.passed(static_cast<float>(from.dy.at[i]),
                                       static_cast<float>(from.y.at[i]));
          passed.at[i] = static_cast<typename Layout::number>(d);
          dx.at[i] = static_cast<typename Layout::number>(
            d * a[k] + (static_cast<float>(from.x.at[i]) - mean[k]) * b[k]
            + c[k]);
        }
        norm_store<Layout>(to.dx, offset, dx);
        if (to.dresidual != nullptr)
          norm_store<Layout>(to.dresidual, offset, passed);
      });
  });
}

} // namespace hippo::cuda
