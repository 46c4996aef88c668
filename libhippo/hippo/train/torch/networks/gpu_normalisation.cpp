#include "hippo/train/torch/networks/gpu_normalisation.hpp"

#include <cstdint>
#include <optional>

#include <torch/csrc/autograd/custom_function.h>

#include "hippo/train/torch/kernels/launch.hpp"
#include "hippo/train/torch/networks/memory_layout.hpp"

namespace hippo {

namespace {

bool is_channels_last(const at::Tensor& x) {
  return x.is_contiguous(at::MemoryFormat::ChannelsLast);
}

/// Returns `x` as kernels take it, in the order that it has or is nearest to.
at::Tensor laid_out_as_is(const at::Tensor& x) {
  return laid_out(x,
                  x.suggest_memory_format() == at::MemoryFormat::ChannelsLast);
}

const float* readable(const at::Tensor& x) {
  return x.const_data_ptr<float>();
}

float* writable(const at::Tensor& x) {
  return x.mutable_data_ptr<float>();
}

/// A batch as kernels know it. @param x as `laid_out` returns it
hippo_cuda_norm batch_of(const at::Tensor& x, activation last) {
  return {x.size(0),
          x.size(1),
          x.size(2) * x.size(3),
          is_channels_last(x) ? 1 : 0,
          type_of(x),
          static_cast<std::int32_t>(last),
          batch_norm::epsilon,
          batch_norm::momentum};
}

at::Tensor workspace_for(const cuda_kernels& kernels,
                         const hippo_cuda_norm& batch, const at::Tensor& x) {
  const auto size = kernels.norm_workspace(&batch);
  TORCH_CHECK(size > 0, "normalisation: it takes a batch of 1 to 2^30 pixels");
  return at::empty({size}, x.options().dtype(at::kFloat));
}

hippo_cuda_norm_forward tensors_of(const at::Tensor& x,
                                   const at::Tensor& residual,
                                   const at::Tensor& y,
                                   const batch_norm& norm) {
  return {x.const_data_ptr(),
          residual.defined() ? residual.const_data_ptr() : nullptr,
          y.mutable_data_ptr(),
          readable(norm.weight),
          readable(norm.bias),
          writable(norm.mean),
          writable(norm.variance),
          nullptr,
          nullptr,
          nullptr};
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class trained_normalisation
  : public torch::autograd::Function<trained_normalisation> {
public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const std::optional<at::Tensor>& residual,
                            const at::Tensor& mean, const at::Tensor& variance,
                            activation last, const cuda_kernels* kernels) {
    const auto x = laid_out_as_is(given);
    const auto batch = batch_of(x, last);
    const auto channels_last = batch.channels_last != 0;
    const auto summand =
      residual ? laid_out(*residual, channels_last) : at::Tensor{};
    const auto workspace = workspace_for(*kernels, batch, x);
    const auto y = at::empty_like(x), batch_mean = at::empty_like(weight),
               inverse = at::empty_like(weight);
    auto tensors = tensors_of(x, summand, y, {weight, bias, mean, variance});
    tensors.mean = writable(batch_mean);
    tensors.inverse = writable(inverse);
    tensors.workspace = writable(workspace);
    check_launch(*kernels, kernels->normalise(&batch, &tensors, stream_of(x)));
    context->save_for_backward({x, last == activation::none ? at::Tensor{} : y,
                                weight, batch_mean, inverse});
    context->saved_data["residual"] = residual.has_value();
    context->saved_data["last"] = static_cast<std::int64_t>(last);
    context->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
    return y;
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &y = saved[1], &weight = saved[2],
               &mean = saved[3], &inverse = saved[4];
    const auto* kernels = reinterpret_cast<const cuda_kernels*>(
      context->saved_data["kernels"].toInt());
    const auto batch =
      batch_of(x, static_cast<activation>(context->saved_data["last"].toInt()));
    const auto dy = laid_out(gradients[0], batch.channels_last != 0);
    const auto workspace = workspace_for(*kernels, batch, x);
    const auto dx = at::empty_like(x), dweight = at::empty_like(weight),
               dbias = at::empty_like(weight);
    at::Tensor dresidual;
    if (context->saved_data["residual"].toBool())
      dresidual = at::empty_like(x);
    const hippo_cuda_norm_backward tensors{
      dy.const_data_ptr(),
      y.defined() ? y.const_data_ptr() : nullptr,
      x.const_data_ptr(),
      readable(weight),
      readable(mean),
      readable(inverse),
      dx.mutable_data_ptr(),
      dresidual.defined() ? dresidual.mutable_data_ptr() : nullptr,
      writable(dweight),
      writable(dbias),
      writable(workspace)};
    check_launch(*kernels,
                 kernels->normalise_backward(&batch, &tensors, stream_of(x)));
    return {dx, dweight, dbias, dresidual, {}, {}, {}, {}};
  }
};

} // namespace

at::Tensor normalise_by(const cuda_kernels& kernels, const at::Tensor& given,
                        const batch_norm& norm, const normalisation& how,
                        bool training) {
  const auto x = how.pool ? at::max_pool2d(given, 2) : given;
  const auto residual =
    how.residual.defined() ? how.residual.to(x.scalar_type()) : at::Tensor{};
  if (training)
    return trained_normalisation::apply(
      x, norm.weight, norm.bias,
      residual.defined() ? std::optional{residual} : std::nullopt, norm.mean,
      norm.variance, how.last, &kernels);
  const auto input = laid_out_as_is(x);
  const auto batch = batch_of(input, how.last);
  const auto summand = residual.defined()
                         ? laid_out(residual, batch.channels_last != 0)
                         : residual;
  auto y = at::empty_like(input);
  const auto tensors = tensors_of(input, summand, y, norm);
  check_launch(kernels, kernels.normalise(&batch, &tensors, stream_of(x)));
  return y;
}

} // namespace hippo
