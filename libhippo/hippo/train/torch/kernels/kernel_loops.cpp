#include "hippo/train/torch/kernels/kernels.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "hippo/train/torch/random.hpp"

// Built once for each generation of CPUs, with HIPPO_KERNELS the name of what
// it defines. Products and sums are not contracted (-ffp-contract=off), so that
// all of them give the same bits.

// Vectors never cross a function that is not inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace hippo::kernels {

namespace {

using floats = float __attribute__((vector_size(64)));
using integers = std::int32_t __attribute__((vector_size(64)));
using bytes = std::uint8_t __attribute__((vector_size(16)));

// The same in memory, wherever it lies.
using floats_at = float __attribute__((vector_size(64), aligned(4), may_alias));
using bytes_at =
  std::uint8_t __attribute__((vector_size(16), aligned(1), may_alias));

inline floats load(const float* from) {
  return *reinterpret_cast<const floats_at*>(from);
}

inline void store(float* to, const floats& x) {
  *reinterpret_cast<floats_at*>(to) = x;
}

/// The values between which an activation changes nothing.
struct limits {
  float low, high;
};

constexpr limits limits_of(activation x) {
  constexpr auto infinity = std::numeric_limits<float>::infinity();
  return {x == activation::none ? -infinity : 0,
          x == activation::relu6 ? 6 : infinity};
}

/// What an activation lets through of the gradient at `dy + i`.
inline floats passed(const float* dy, const float* y, std::int64_t i,
                     activation last) {
  const auto x = load(dy + i);
  if (last == activation::none)
    return x;
  const auto [low, high] = limits_of(last);
  const auto value = load(y + i);
  return ((value <= low) | (value >= high)) ? floats{} : x;
}

/// Calls `add(accumulator, row)` for all rows, with four accumulators in turn,
/// and returns their sum: one alone would wait for itself.
template <class Add, std::size_t N>
inline void add_rows(std::int64_t rows, std::array<floats, N>& result,
                     const Add& add) {
  std::array<std::array<floats, N>, 4> parts{};
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    add(parts[0], row);
    add(parts[1], row + 1);
    add(parts[2], row + 2);
    add(parts[3], row + 3);
  }
  for (; row < rows; ++row)
    add(parts[0], row);
  for (std::size_t i = 0; i < N; ++i)
    result[i] = (parts[0][i] + parts[1][i]) + (parts[2][i] + parts[3][i]);
}

void max_pool(const float* x, std::int64_t images, std::int64_t height,
              std::int64_t width, std::int64_t channels, float* y,
              std::uint8_t* which) {
  const auto line = width * channels;
  for (std::int64_t i = 0; i < images * height / 2; ++i)
    for (std::int64_t j = 0; j < width / 2; ++j)
      for (std::int64_t c = 0; c < channels; c += vector_width) {
        const auto* corner = x + 2 * i * line + 2 * j * channels + c;
        auto most = load(corner);
        integers index{};
        const auto compare = [&](const float* other, std::int32_t number) {
          const auto value = load(other);
          const auto more = (value > most) | (value != value);
          most = more ? value : most;
          index = more ? integers{} + number : index;
        };
        compare(corner + channels, 1);
        compare(corner + line, 2);
        compare(corner + line + channels, 3);
        const auto at = (i * (width / 2) + j) * channels + c;
        store(y + at, most);
        *reinterpret_cast<bytes_at*>(which + at) =
          __builtin_convertvector(index, bytes);
      }
}

void max_pool_backward(const float* dy, const std::uint8_t* which,
                       std::int64_t images, std::int64_t height,
                       std::int64_t width, std::int64_t channels, float* dx) {
  const auto line = width * channels;
  for (std::int64_t i = 0; i < images * height / 2; ++i)
    for (std::int64_t j = 0; j < width / 2; ++j)
      for (std::int64_t c = 0; c < channels; c += vector_width) {
        const auto at = (i * (width / 2) + j) * channels + c;
        const auto value = load(dy + at);
        const bytes narrow = *reinterpret_cast<const bytes_at*>(which + at);
        const auto index = __builtin_convertvector(narrow, integers);
        auto* corner = dx + 2 * i * line + 2 * j * channels + c;
        store(corner, index == 0 ? value : floats{});
        store(corner + channels, index == 1 ? value : floats{});
        store(corner + line, index == 2 ? value : floats{});
        store(corner + line + channels, index == 3 ? value : floats{});
      }
}

void sums(const float* x, std::int64_t rows, std::int64_t channels,
          const float* about, float* sum, float* sum_of_squares) {
  for (std::int64_t c = 0; c < channels; c += vector_width) {
    const auto origin = load(about + c);
    std::array<floats, 2> total{};
    add_rows(rows, total, [&](std::array<floats, 2>& to, std::int64_t row) {
      const auto d = load(x + row * channels + c) - origin;
      to[0] += d;
      to[1] += d * d;
    });
    store(sum + c, total[0]);
    store(sum_of_squares + c, total[1]);
  }
}

void normalise(const float* x, std::int64_t rows, std::int64_t channels,
               const float* mean, const float* scale, const float* shift,
               const float* residual, activation last, float* y) {
  const auto [low, high] = limits_of(last);
  for (std::int64_t c = 0; c < channels; c += vector_width) {
    const auto origin = load(mean + c);
    const auto factor = load(scale + c);
    const auto summand = load(shift + c);
    for (std::int64_t at = c; at < rows * channels; at += channels) {
      auto value = (load(x + at) - origin) * factor + summand;
      if (residual != nullptr)
        value += load(residual + at);
      // NaN stays what it is: divergence is to be seen.
      value = value <= low ? floats{} + low : value;
      value = value >= high ? floats{} + high : value;
      store(y + at, value);
    }
  }
}

void gradient_sums(const float* dy, const float* y, const float* x,
                   std::int64_t rows, std::int64_t channels, const float* mean,
                   activation last, float* sum, float* sum_of_products) {
  for (std::int64_t c = 0; c < channels; c += vector_width) {
    const auto origin = load(mean + c);
    std::array<floats, 2> total{};
    add_rows(rows, total, [&](std::array<floats, 2>& to, std::int64_t row) {
      const auto at = row * channels + c;
      const auto d = passed(dy, y, at, last);
      to[0] += d;
      to[1] += d * (load(x + at) - origin);
    });
    store(sum + c, total[0]);
    store(sum_of_products + c, total[1]);
  }
}

void normalise_backward(const float* dy, const float* y, const float* x,
                        std::int64_t rows, std::int64_t channels,
                        const float* mean, const float* a, const float* b,
                        const float* c, activation last, float* dx,
                        float* dresidual) {
  for (std::int64_t first = 0; first < channels; first += vector_width) {
    const auto origin = load(mean + first);
    const auto of_gradient = load(a + first);
    const auto of_input = load(b + first);
    const auto summand = load(c + first);
    for (std::int64_t at = first; at < rows * channels; at += channels) {
      const auto d = passed(dy, y, at, last);
      store(dx + at,
            d * of_gradient + (load(x + at) - origin) * of_input + summand);
      if (dresidual != nullptr)
        store(dresidual + at, d);
    }
  }
}

void dropout_mask(std::uint64_t key, std::int64_t first, std::int64_t size,
                  std::uint32_t limit, float scale, float* mask) {
  const auto value_of = [&](std::uint64_t bits) {
    return static_cast<std::uint32_t>(bits) < limit ? 0.0F : scale;
  };
  const auto numbers = random_numbers::with_key(key);
  const auto index = static_cast<std::uint64_t>(first) / 2;
  const auto pairs = size / 2;
  for (std::int64_t i = 0; i < pairs; ++i) {
    const auto both = numbers.at(index + static_cast<std::uint64_t>(i));
    mask[2 * i] = value_of(both);
    mask[2 * i + 1] = value_of(both >> 32);
  }
  if (size % 2 != 0)
    mask[size - 1] =
      value_of(numbers.at(index + static_cast<std::uint64_t>(pairs)));
}

void subnetwork_mask(std::uint64_t key, std::int64_t size, std::int64_t block,
                     std::uint32_t limit, float scale, float* mask) {
  const auto numbers = random_numbers::with_key(key);
  for (std::int64_t i = 0; i < size / block; ++i) {
    const auto bits = numbers.at(static_cast<std::uint64_t>(i));
    const auto value = static_cast<std::uint32_t>(bits) < limit ? 0.0F : scale;
    for (std::int64_t k = 0; k < block; ++k)
      mask[i * block + k] = value;
  }
}

void mask_rows(const float* x, std::int64_t rows, std::int64_t size,
               const float* mask, float* y) {
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < size; ++i)
      y[row * size + i] = x[row * size + i] * mask[i];
}

void sgd(float* weight, const float* gradient, float* moment, std::int64_t size,
         float lr, float momentum, float weight_decay, bool nesterov) {
  for (std::int64_t i = 0; i < size; ++i) {
    const auto g = gradient[i] + weight_decay * weight[i];
    moment[i] = momentum * moment[i] + g;
    weight[i] -= lr * (nesterov ? g + momentum * moment[i] : moment[i]);
  }
}

void adamw(float* weight, const float* gradient, float* first, float* second,
           std::int64_t size, const adamw_factors& x) {
  const auto f = x; // nobody else writes to it
  for (std::int64_t i = 0; i < size; ++i) {
    const auto g = gradient[i];
    first[i] = f.beta1 * first[i] + (1 - f.beta1) * g;
    second[i] = f.beta2 * second[i] + (1 - f.beta2) * g * g;
    const auto spread = std::sqrt(second[i]) / f.root + f.epsilon;
    weight[i] = weight[i] * f.decay - f.step_size * (first[i] / spread);
  }
}

void exponentials(const float* x, float shift, std::int64_t size, float* y) {
  // e^t = 2^n e^r, where |r| is at most ln 2 / 2. The first part of ln 2 has
  // few digits, so that its product with n is exact.
  constexpr float ln2_high = 0.693359375F, ln2_low = -2.12194440e-4F;
  constexpr float log2_e = 1.44269504F, least = -85;
  for (std::int64_t i = 0; i < size; ++i) {
    const auto t = x[i] - shift;
    const auto within = t < least ? least : t;
    const auto n = static_cast<std::int32_t>(within * log2_e - 0.5F);
    const auto r = (within - static_cast<float>(n) * ln2_high)
                   - static_cast<float>(n) * ln2_low;
    auto sum = 1.0F / 5040; // Taylor's series
    sum = sum * r + 1.0F / 720;
    sum = sum * r + 1.0F / 120;
    sum = sum * r + 1.0F / 24;
    sum = sum * r + 1.0F / 6;
    sum = sum * r + 0.5F;
    sum = sum * r + 1;
    sum = sum * r + 1;
    const auto power = std::bit_cast<float>((n + 127) << 23);
    y[i] = t < least ? 0 : sum * power;
  }
}

// A product is computed in tiles of `c` that are in registers, from a panel of
// `b` that is in the nearest cache.
constexpr std::int64_t tile_rows = 4;
#ifdef __AVX512F__
constexpr std::int64_t tile_vectors = 2;
#else
constexpr std::int64_t tile_vectors = 1;
#endif
constexpr std::int64_t tile_columns = tile_vectors * vector_width;
constexpr std::int64_t panel_rows = 256;

/// Adds the product of `Rows` rows and a panel.
template <std::int64_t Rows>
void add_tile(const matrix& a, const float* panel, std::int64_t inner,
              std::int64_t columns, float* c, std::int64_t c_row) {
  floats sums[Rows][tile_vectors];
  float edge[Rows][tile_columns] = {};
  const bool whole = columns == tile_columns;
  if (!whole)
    for (std::int64_t i = 0; i < Rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        edge[i][j] = c[i * c_row + j];
  const auto place = [&](std::int64_t i, std::int64_t v) {
    return (whole ? c + i * c_row : edge[i]) + v * vector_width;
  };
  for (std::int64_t i = 0; i < Rows; ++i)
    for (std::int64_t v = 0; v < tile_vectors; ++v)
      sums[i][v] = load(place(i, v));
  for (std::int64_t k = 0; k < inner; ++k)
    for (std::int64_t i = 0; i < Rows; ++i) {
      const auto factor = a.at[i * a.row + k * a.column];
      for (std::int64_t v = 0; v < tile_vectors; ++v)
        sums[i][v] +=
          factor * load(panel + k * tile_columns + v * vector_width);
    }
  for (std::int64_t i = 0; i < Rows; ++i)
    for (std::int64_t v = 0; v < tile_vectors; ++v)
      store(place(i, v), sums[i][v]);
  if (!whole)
    for (std::int64_t i = 0; i < Rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        c[i * c_row + j] = edge[i][j];
}

void add_product(const matrix& a, const matrix& b, std::int64_t rows,
                 std::int64_t inner, std::int64_t columns, float* c) {
  alignas(64) float panel[panel_rows * tile_columns];
  for (std::int64_t k = 0; k < inner; k += panel_rows)
    for (std::int64_t j = 0; j < columns; j += tile_columns) {
      const auto depth = k + panel_rows < inner ? panel_rows : inner - k;
      const auto width =
        j + tile_columns < columns ? tile_columns : columns - j;
      for (std::int64_t x = 0; x < depth; ++x)
        for (std::int64_t y = 0; y < tile_columns; ++y)
          panel[x * tile_columns + y] =
            y < width ? b.at[(k + x) * b.row + (j + y) * b.column] : 0;
      std::int64_t i = 0;
      const auto rows_from = [&] {
        return matrix{a.at + i * a.row + k * a.column, a.row, a.column};
      };
      for (; i + tile_rows <= rows; i += tile_rows)
        add_tile<tile_rows>(rows_from(), panel, depth, width,
                            c + i * columns + j, columns);
      for (; i < rows; ++i)
        add_tile<1>(rows_from(), panel, depth, width, c + i * columns + j,
                    columns);
    }
}

/// Writes `Vectors` vectors of the mean of listed rows, which begin at `x`.
template <std::int64_t Vectors>
void mean_of(const float* x, std::int64_t width, const std::uint32_t* list,
             std::int64_t count, float* y) {
  floats sums[Vectors] = {};
  for (std::int64_t e = 0; e < count; ++e)
    for (std::int64_t v = 0; v < Vectors; ++v)
      sums[v] += load(x + list[e] * width + v * vector_width);
  const auto divisor = static_cast<float>(count > 0 ? count : 1);
  for (std::int64_t v = 0; v < Vectors; ++v)
    store(y + v * vector_width, sums[v] / divisor);
}

void mean_rows(const float* x, std::int64_t width, const std::int64_t* offsets,
               const std::uint32_t* list, std::int64_t rows, float* y) {
  constexpr std::int64_t at_once = 4;
  for (std::int64_t row = 0; row < rows; ++row, y += width) {
    const auto* some = list + offsets[row];
    const auto count = offsets[row + 1] - offsets[row];
    std::int64_t i = 0;
    for (; i + at_once * vector_width <= width; i += at_once * vector_width)
      mean_of<at_once>(x + i, width, some, count, y + i);
    for (; i + vector_width <= width; i += vector_width)
      mean_of<1>(x + i, width, some, count, y + i);
    for (; i < width; ++i) {
      float sum = 0;
      for (std::int64_t e = 0; e < count; ++e)
        sum += x[some[e] * width + i];
      y[i] = sum / static_cast<float>(count > 0 ? count : 1);
    }
  }
}

void add_mean_gradient(float* dy, std::int64_t width,
                       const std::int64_t* offsets, const std::uint32_t* list,
                       std::int64_t rows, float* dx) {
  for (std::int64_t row = 0; row < rows; ++row, dy += width) {
    const auto divisor = static_cast<float>(offsets[row + 1] - offsets[row]);
    for (std::int64_t i = 0; i < width; ++i)
      dy[i] /= divisor;
    for (auto e = offsets[row]; e < offsets[row + 1]; ++e) {
      auto* to = dx + list[e] * width;
      for (std::int64_t i = 0; i < width; ++i)
        to[i] += dy[i];
    }
  }
}

} // namespace

extern const set HIPPO_KERNELS;
const set HIPPO_KERNELS{max_pool,
                        max_pool_backward,
                        sums,
                        normalise,
                        gradient_sums,
                        normalise_backward,
                        dropout_mask,
                        subnetwork_mask,
                        mask_rows,
                        sgd,
                        adamw,
                        exponentials,
                        add_product,
                        mean_rows,
                        add_mean_gradient};

} // namespace hippo::kernels
