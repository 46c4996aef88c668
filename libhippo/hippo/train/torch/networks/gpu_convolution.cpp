#include "hippo/train/torch/networks/gpu_convolution.hpp"

#include <ATen/Context.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "hippo/train/torch/cuda/convolution.hpp"
#include "hippo/train/torch/kernels/launch.hpp"
#include "hippo/train/torch/networks/memory_layout.hpp"

namespace hippo {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr auto channels_last = at::MemoryFormat::ChannelsLast;

std::int32_t as_int(std::int64_t x) {
  return static_cast<std::int32_t>(x);
}

/// The weights of a convolution as kernels know them, for one small image.
hippo_cuda_conv description_of(const at::Tensor& weight, at::ScalarType type) {
  return {1,
          1,
          1,
          as_int(weight.size(1)),
          as_int(weight.size(0)),
          as_int(weight.size(2)),
          1,
          type_of(type),
          0,
          weight.is_contiguous() ? 0 : 1};
}

/// The same for a batch. @param x images x channels x rows x columns
hippo_cuda_conv description_of(const at::Tensor& x, const at::Tensor& weight,
                               std::int64_t stride, bool tf32) {
  auto result = description_of(weight, x.scalar_type());
  result.images = x.size(0);
  result.height = as_int(x.size(2));
  result.width = as_int(x.size(3));
  result.stride = as_int(stride);
  result.tf32 = tf32 ? 1 : 0;
  return result;
}

class trained_convolution
  : public torch::autograd::Function<trained_convolution> {
public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given,
                            const at::Tensor& weight, const at::Tensor& rows,
                            std::int64_t stride, bool tf32,
                            const cuda_kernels* kernels) {
    const auto x = laid_out(given, true);
    const auto conv = description_of(x, weight, stride, tf32);
    TORCH_CHECK(kernels->conv_rows(&conv) == rows.numel(),
                "convolution: the weights are not prepared for such a batch");
    const auto after = [&](std::int32_t size) {
      return cuda::conv_side(size, conv.side, conv.stride);
    };
    const auto y = at::empty(
      {x.size(0), weight.size(0), after(conv.height), after(conv.width)},
      x.options(), channels_last);
    check_launch(*kernels, kernels->convolve(
                             &conv, x.const_data_ptr(), rows.const_data_ptr(),
                             y.mutable_data_ptr(), stream_of(x)));
    context->save_for_backward({x, weight});
    // Not among the saved: they may have been made while evaluating.
    context->saved_data["rows"] = rows;
    context->saved_data["stride"] = stride;
    context->saved_data["tf32"] = tf32;
    context->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
    return y;
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &weight = saved[1];
    const auto* kernels = reinterpret_cast<const cuda_kernels*>(
      context->saved_data["kernels"].toInt());
    const auto conv =
      description_of(x, weight, context->saved_data["stride"].toInt(),
                     context->saved_data["tf32"].toBool());
    const auto dy = laid_out(gradients[0].to(x.scalar_type()), true);
    auto* stream = stream_of(x);
    at::Tensor dx;
    if (context->needs_input_grad(0)) {
      dx = at::empty_like(x);
      check_launch(*kernels,
                   kernels->convolve_input(
                     &conv, dy.const_data_ptr(),
                     context->saved_data["rows"].toTensor().const_data_ptr(),
                     dx.mutable_data_ptr(), stream));
    }
    const auto dweight = at::empty_like(weight);
    const auto workspace =
      at::empty({kernels->conv_workspace(&conv)}, weight.options());
    check_launch(*kernels, kernels->convolve_weight(
                             &conv, x.const_data_ptr(), dy.const_data_ptr(),
                             dweight.mutable_data_ptr<float>(),
                             workspace.mutable_data_ptr<float>(), stream));
    return {dx, dweight, {}, {}, {}, {}};
  }
};

} // namespace

bool has_kernels(const convolution_shape& shape) {
  constexpr std::int64_t channels_max = 64;
  // As for one small image: whether a batch is too large is seen with it.
  hippo_cuda_conv one{};
  one.images = one.height = one.width = 1;
  one.in = as_int(shape.in);
  one.out = as_int(shape.out);
  one.side = as_int(shape.side);
  one.stride = as_int(shape.stride);
  return shape.groups == 1 && std::max(shape.in, shape.out) <= channels_max
         && cuda::is_convolved(one);
}

bool take_batch(const at::Tensor& tensor, const convolution_weights& weights,
                std::int64_t stride) {
  return cuda::is_convolved(
    description_of(tensor, weights.weight, stride, false));
}

void prepare_rows(
  const cuda_kernels& kernels,
  const std::vector<std::shared_ptr<convolution_weights>>& convolutions,
  at::ScalarType type) {
  hippo_cuda_conv_weights launch{};
  const auto send = [&](const at::Tensor& weight) {
    check_launch(kernels, kernels.conv_prepare(&launch, stream_of(weight)));
    launch.count = 0;
  };
  for (const auto& conv : convolutions) {
    const auto& weight = conv->weight;
    const auto description = description_of(weight, type);
    const auto bytes = kernels.conv_rows(&description);
    if (!conv->rows.defined() || conv->rows.numel() != bytes)
      conv->rows = at::empty({bytes}, weight.options().dtype(at::kByte));
    // One launch has weights in one order.
    if (launch.count == HIPPO_CUDA_CONVS_MAX
        || (launch.count > 0
            && launch.weights_last != description.weights_last))
      send(weight);
    launch.type = description.type;
    launch.weights_last = description.weights_last;
    launch.weight[launch.count] = weight.const_data_ptr<float>();
    launch.rows[launch.count] = conv->rows.mutable_data_ptr();
    launch.in[launch.count] = description.in;
    launch.out[launch.count] = description.out;
    launch.side[launch.count] = description.side;
    ++launch.count;
  }
  if (launch.count > 0)
    send(convolutions.back()->weight);
}

at::Tensor convolve_by(const cuda_kernels& kernels, const at::Tensor& x,
                       const convolution_weights& weights,
                       std::int64_t stride) {
  return trained_convolution::apply(x, weights.weight, weights.rows, stride,
                                    at::globalContext().allowTF32CuDNN(),
                                    &kernels);
}

} // namespace hippo
