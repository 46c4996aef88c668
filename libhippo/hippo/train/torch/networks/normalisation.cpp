#include "hippo/train/torch/networks/normalisation.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "hippo/train/torch/kernels/kernels.hpp"
#include "hippo/train/torch/kernels/launch.hpp"
#include "hippo/train/torch/networks/gpu_normalisation.hpp"

namespace hippo {

namespace {

constexpr auto epsilon = batch_norm::epsilon;
constexpr auto momentum = batch_norm::momentum;

/// How many images a thread takes at a time in what has no sums.
constexpr std::int64_t images_a_task = 8;

/// The same for rows.
constexpr std::int64_t rows_a_task = 4096;

at::Tensor channels_last(const at::Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);
}

float* writable(const at::Tensor& x) {
  return x.defined() ? x.mutable_data_ptr<float>() : nullptr;
}

const float* readable(const at::Tensor& x) {
  return x.defined() ? x.const_data_ptr<float>() : nullptr;
}

/// Moves a pointer that may be null.
template <class T>
T* moved(T* x, std::int64_t by) {
  return x == nullptr ? nullptr : x + by;
}

std::int64_t rows_of(const at::Tensor& x) {
  return x.numel() / x.size(1);
}

/// Two sums for each channel.
struct channel_sums {
  std::vector<double> first, second;
};

/// Adds up what `add(row, rows, first, second)` gives for pieces of the rows,
/// always the same pieces in the same order, whatever the number of threads.
template <class Add>
channel_sums summed(std::int64_t rows, std::int64_t channels, const Add& add) {
  const auto width = static_cast<std::size_t>(channels);
  const auto pieces = (rows + kernels::rows_a_sum - 1) / kernels::rows_a_sum;
  std::vector<float> parts(static_cast<std::size_t>(pieces) * 2 * width);
  at::parallel_for(
    0, pieces, rows_a_task / kernels::rows_a_sum,
    [&](std::int64_t i, std::int64_t end) {
      for (; i < end; ++i) {
        const auto row = i * kernels::rows_a_sum;
        auto* to = parts.data() + static_cast<std::size_t>(i) * 2 * width;
        add(row, std::min(kernels::rows_a_sum, rows - row), to, to + width);
      }
    });
  channel_sums result{std::vector<double>(width), std::vector<double>(width)};
  const auto* from = parts.data();
  for (std::int64_t i = 0; i < pieces; ++i, from += 2 * width)
    for (std::size_t c = 0; c < width; ++c) {
      result.first[c] += from[c];
      result.second[c] += from[width + c];
    }
  return result;
}

std::pair<at::Tensor, at::Tensor> pooled(const at::Tensor& x) {
  const auto channels = x.size(1), height = x.size(2), width = x.size(3);
  const std::vector<std::int64_t> shape{x.size(0), channels, height / 2,
                                        width / 2};
  auto y = at::empty(shape, x.options(), at::MemoryFormat::ChannelsLast);
  auto which = at::empty(shape, x.options().dtype(at::kByte),
                         at::MemoryFormat::ChannelsLast);
  const auto* from = readable(x);
  auto* to = writable(y);
  auto* index = which.mutable_data_ptr<std::uint8_t>();
  const auto size = channels * height * width;
  at::parallel_for(
    0, x.size(0), images_a_task, [&](std::int64_t i, std::int64_t end) {
      kernels::best().max_pool(from + i * size, end - i, height, width,
                               channels, to + i * size / 4,
                               index + i * size / 4);
    });
  return {y, which};
}

at::Tensor pooled_backward(const at::Tensor& dy, const at::Tensor& which) {
  const auto channels = dy.size(1), height = 2 * dy.size(2),
             width = 2 * dy.size(3);
  auto dx = at::empty({dy.size(0), channels, height, width}, dy.options(),
                      at::MemoryFormat::ChannelsLast);
  const auto* from = readable(dy);
  const auto* index = which.const_data_ptr<std::uint8_t>();
  auto* to = writable(dx);
  const auto size = channels * height * width;
  at::parallel_for(
    0, dy.size(0), images_a_task, [&](std::int64_t i, std::int64_t end) {
      kernels::best().max_pool_backward(from + i * size / 4,
                                        index + i * size / 4, end - i, height,
                                        width, channels, to + i * size);
    });
  return dx;
}

/// 1 / standard deviation.
template <class T>
T inverse_of(T variance) {
  return static_cast<T>(1 / std::sqrt(variance + epsilon));
}

/// Normalises by mean and inverse deviation of each channel.
at::Tensor applied(const at::Tensor& x, const float* mean, const float* inverse,
                   const at::Tensor& weight, const at::Tensor& bias,
                   const at::Tensor& residual, activation last) {
  auto y = at::empty_like(x);
  const auto channels = x.size(1);
  std::vector<float> scale;
  for (std::int64_t c = 0; c < channels; ++c)
    scale.push_back(readable(weight)[c] * inverse[c]);
  const auto *from = readable(x), *summand = readable(residual),
             *shift = readable(bias);
  auto* to = writable(y);
  at::parallel_for(
    0, rows_of(x), rows_a_task, [&](std::int64_t i, std::int64_t end) {
      const auto at = i * channels;
      kernels::best().normalise(from + at, end - i, channels, mean,
                                scale.data(), shift, moved(summand, at), last,
                                to + at);
    });
  return y;
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// `normalise` while training on a CPU. One pass over the activations for each
/// sum and for each result, where LibTorch's single operations take several.
class trained_normalisation
  : public torch::autograd::Function<trained_normalisation> {
public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const std::optional<at::Tensor>& residual,
                            const at::Tensor& mean, const at::Tensor& variance,
                            bool pool, activation last) {
    at::Tensor which;
    auto x = channels_last(given);
    if (pool)
      std::tie(x, which) = pooled(x);
    const auto channels = x.size(1), rows = rows_of(x);
    const auto* from = readable(x);
    // Differences from the first pixel: squares of what has a large mean would
    // say little of its variance.
    const auto origin = std::vector<float>(from, from + channels);
    const auto total = summed(
      rows, channels,
      [&](std::int64_t row, std::int64_t n, float* first, float* second) {
        kernels::best().sums(from + row * channels, n, channels, origin.data(),
                             first, second);
      });
    const auto count = static_cast<double>(rows);
    auto batch_mean = at::empty({channels}, x.options());
    auto inverse = at::empty({channels}, x.options());
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto i = static_cast<std::size_t>(c);
      const auto shift = total.first[i] / count, exact = origin[i] + shift;
      const auto spread =
        std::max(total.second[i] / count - shift * shift, 0.0);
      const auto follow = [&](const at::Tensor& running, double now) {
        auto& old = writable(running)[c];
        old = static_cast<float>((1 - momentum) * old + momentum * now);
      };
      follow(mean, exact);
      follow(variance, spread * count / std::max(count - 1, 1.0));
      writable(batch_mean)[c] = static_cast<float>(exact);
      writable(inverse)[c] = static_cast<float>(inverse_of(spread));
    }
    auto y = applied(x, readable(batch_mean), readable(inverse), weight, bias,
                     residual ? channels_last(*residual) : at::Tensor{}, last);
    context->save_for_backward({x, last == activation::none ? at::Tensor{} : y,
                                which, weight, batch_mean, inverse});
    context->saved_data["residual"] = residual.has_value();
    context->saved_data["last"] = static_cast<std::int64_t>(last);
    return y;
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &y = saved[1], &which = saved[2],
               &weight = saved[3], &mean = saved[4], &inverse = saved[5];
    const auto last =
      static_cast<activation>(context->saved_data["last"].toInt());
    const auto dy = channels_last(gradients[0]);
    const auto channels = x.size(1), rows = rows_of(x);
    const auto *from = readable(x), *out = readable(y),
               *gradient = readable(dy), *means = readable(mean),
               *inverses = readable(inverse), *weights = readable(weight);
    const auto total = summed(
      rows, channels,
      [&](std::int64_t row, std::int64_t n, float* first, float* second) {
        const auto at = row * channels;
        kernels::best().gradient_sums(gradient + at, moved(out, at), from + at,
                                      n, channels, means, last, first, second);
      });
    auto dweight = at::empty_like(weight), dbias = at::empty_like(weight);
    std::vector<float> a, b, c;
    const auto count = static_cast<double>(rows);
    for (std::int64_t i = 0; i < channels; ++i) {
      const auto sum = total.first[static_cast<std::size_t>(i)],
                 products = total.second[static_cast<std::size_t>(i)];
      const double inv = inverses[i], factor = weights[i] * inv;
      writable(dbias)[i] = static_cast<float>(sum);
      writable(dweight)[i] = static_cast<float>(products * inv);
      a.push_back(static_cast<float>(factor));
      b.push_back(static_cast<float>(-factor * inv * inv * products / count));
      c.push_back(static_cast<float>(-factor * sum / count));
    }
    auto dx = at::empty_like(x);
    at::Tensor dresidual;
    if (context->saved_data["residual"].toBool())
      dresidual = at::empty_like(x);
    auto *to = writable(dx), *rest = writable(dresidual);
    at::parallel_for(
      0, rows, rows_a_task, [&](std::int64_t i, std::int64_t end) {
        const auto at = i * channels;
        kernels::best().normalise_backward(
          gradient + at, moved(out, at), from + at, end - i, channels, means,
          a.data(), b.data(), c.data(), last, to + at, moved(rest, at));
      });
    if (which.defined())
      dx = pooled_backward(dx, which);
    return {dx, dweight, dbias, dresidual, {}, {}, {}, {}};
  }
};

/// Whether the CPU's kernels can do it.
bool fits_kernels(const at::Tensor& x, bool pool) {
  return x.scalar_type() == at::kFloat
         && x.size(1) % kernels::vector_width == 0
         && (!pool || (x.size(2) % 2 == 0 && x.size(3) % 2 == 0));
}

} // namespace

at::Tensor normalise(const at::Tensor& tensor, const batch_norm& norm,
                     const normalisation& how, bool training) {
  if (!tensor.is_cpu())
    return normalise_by(needed_cuda_kernels(), tensor, norm, how, training);
  if (!fits_kernels(tensor, how.pool)) {
    auto y = at::batch_norm(how.pool ? at::max_pool2d(tensor, 2) : tensor,
                            norm.weight, norm.bias, norm.mean, norm.variance,
                            training, momentum, epsilon, true);
    if (how.residual.defined())
      y = y.add_(how.residual);
    switch (how.last) {
      case activation::none:
        return y;
      case activation::relu:
        return y.relu_();
      case activation::relu6:
        return at::hardtanh_(y, 0, 6);
    }
  }
  if (training)
    return trained_normalisation::apply(
      tensor, norm.weight, norm.bias,
      how.residual.defined() ? std::optional{how.residual} : std::nullopt,
      norm.mean, norm.variance, how.pool, how.last);
  const auto input = channels_last(tensor);
  std::vector<float> inverse;
  for (std::int64_t c = 0; c < norm.variance.numel(); ++c)
    inverse.push_back(inverse_of(readable(norm.variance)[c]));
  return applied(how.pool ? pooled(input).first : input, readable(norm.mean),
                 inverse.data(), norm.weight, norm.bias,
                 how.residual.defined() ? channels_last(how.residual)
                                        : how.residual,
                 how.last);
}

} // namespace hippo
