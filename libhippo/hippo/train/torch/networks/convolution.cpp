#include "hippo/train/torch/networks/convolution.hpp"

#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <tuple>

namespace hippo {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// As many channels have images at most.
constexpr std::int64_t image_channels_max = 4;

std::int64_t padding_of(const at::Tensor& weight) {
  return weight.size(2) / 2;
}

/// Whether the product of matrices is the faster way.
bool prefers_product(const at::Tensor& x, const at::Tensor& weight,
                     std::int64_t stride, std::int64_t groups) {
  return !x.is_cpu() && x.scalar_type() == at::kFloat
         && !at::autocast::is_autocast_enabled(x.device().type())
         && groups == 1 && weight.requires_grad()
         && (stride > 1 || weight.size(1) <= image_channels_max);
}

class convolution_by_product
  : public torch::autograd::Function<convolution_by_product> {
public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& weight, std::int64_t stride) {
    context->save_for_backward({x, weight});
    context->saved_data["stride"] = stride;
    return at::conv2d(x, weight, {}, stride, padding_of(weight));
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &weight = saved[1], &gradient = gradients[0];
    const auto stride = context->saved_data["stride"].toInt();
    const auto padding = padding_of(weight);
    at::Tensor dx;
    if (context->needs_input_grad(0))
      dx = std::get<0>(at::convolution_backward(
        gradient, x, weight, at::OptionalIntArrayRef{}, {stride, stride},
        {padding, padding}, {1, 1}, false, {0, 0}, 1, {true, false, false}));
    return {dx, weight_gradient_by_product(x, gradient, weight, stride), {}};
  }
};

} // namespace

at::Tensor convolved(const at::Tensor& tensor, const at::Tensor& weight,
                     std::int64_t stride, std::int64_t groups) {
  if (prefers_product(tensor, weight, stride, groups))
    return convolution_by_product::apply(tensor, weight, stride);
  return at::conv2d(tensor, weight, {}, stride, padding_of(weight), 1, groups);
}

at::Tensor weight_gradient_by_product(const at::Tensor& tensor,
                                      const at::Tensor& gradient,
                                      const at::Tensor& weight,
                                      std::int64_t stride) {
  const auto side = weight.size(2), padding = padding_of(weight);
  const auto padded =
    padding == 0
      ? tensor
      : at::constant_pad_nd(tensor, {padding, padding, padding, padding});
  // The window of each pixel of the result: a row of (channel, row, column).
  const auto windows =
    padded
      .as_strided({tensor.size(0), gradient.size(2), gradient.size(3),
                   tensor.size(1), side, side},
                  {padded.stride(0), stride * padded.stride(2),
                   stride * padded.stride(3), padded.stride(1),
                   padded.stride(2), padded.stride(3)},
                  padded.storage_offset())
      .reshape({-1, tensor.size(1) * side * side});
  const auto rows
    = gradient.permute({0, 2, 3, 1}).reshape({-1, gradient.size(1)});
  return at::mm(rows.t(), windows).view(weight.sizes());
}

} // namespace hippo
