#include "hippo/train/torch/networks/model.hpp"

#include <ATen/autocast_mode.h>

#include "hippo/train/torch/networks/block_linear.hpp"
#include "hippo/train/torch/networks/convolution.hpp"
#include "hippo/train/torch/networks/initial_weights.hpp"

namespace hippo {

at::Tensor model::linear_layer::operator()(const at::Tensor& tensor) const {
  return at::linear(tensor, weight, bias);
}

at::Tensor model::linear_layer::after_dropout(const at::Tensor& tensor,
                                              const step_values* values,
                                              std::uint64_t layer) const {
  return linear_after_dropout(tensor, values, layer, weight, bias);
}

namespace {

/// The type of activations, by autocast or without it.
at::ScalarType activation_type(const at::Tensor& x) {
  const auto device = x.device().type();
  return at::autocast::is_autocast_enabled(device)
           ? at::autocast::get_autocast_dtype(device)
           : x.scalar_type();
}

} // namespace

at::Tensor model::forward(const at::Tensor& images, const step_values* values) {
  if (!prepared_.empty())
    prepare_rows(*place_.kernels, prepared_, activation_type(images));
  return scores_of(images, values);
}

at::MemoryFormat model::layout() const {
  return !prepared_.empty() && without_kernels_ == 0
           ? at::MemoryFormat::ChannelsLast
           : place_.layout;
}

at::Tensor model::convolution::operator()(const at::Tensor& tensor) const {
  // The kernels know one order: others are not worth a copy.
  if (prepared
      && tensor.suggest_memory_format() == at::MemoryFormat::ChannelsLast
      && take_batch(tensor, *prepared, stride))
    return convolve_by(*kernels, tensor.to(activation_type(tensor)), *prepared,
                       stride);
  return convolved(tensor, weight, stride, groups);
}

at::Tensor model::add_tensor(named_tensors& to, const std::string& name,
                             at::IntArrayRef shape,
                             at::MemoryFormat format) {
  auto x = at::empty(
    shape, at::TensorOptions(place_.device).dtype(at::kFloat), format);
  x.set_requires_grad(&to == &parameters_);
  to.emplace_back(name, x);
  return x;
}

model::linear_layer model::add_linear(const std::string& name, std::int64_t in,
                                      std::int64_t out) {
  forward_operations_ += 2.0 * static_cast<double>(in * out);
  return {add_tensor(parameters_, name + ".weight", {out, in}),
          add_tensor(parameters_, name + ".bias", {out})};
}

model::convolution
model::add_convolution(const std::string& name, sides images,
                       std::int64_t in, std::int64_t out, std::int64_t size,
                       std::int64_t stride, std::int64_t groups) {
  const auto made = images.after(stride);
  forward_operations_
    += 2.0
       * static_cast<double>(out * (in / groups) * size * size * made.height
                             * made.width);
  const auto weight = add_tensor(parameters_, name + ".weight",
                                 {out, in / groups, size, size}, place_.layout);
  if (place_.kernels == nullptr
      || !has_kernels({in, out, size, stride, groups})) {
    ++without_kernels_;
    return {weight, stride, groups, nullptr, nullptr};
  }
  prepared_.push_back(
    std::make_shared<convolution_weights>(convolution_weights{weight, {}}));
  return {weight, stride, groups, prepared_.back(), place_.kernels};
}

batch_norm model::add_batch_norm(const std::string& name,
                                 std::int64_t channels) {
  return {add_tensor(parameters_, name + ".weight", {channels}),
          add_tensor(parameters_, name + ".bias", {channels}),
          add_tensor(buffers_, name + ".running_mean", {channels}),
          add_tensor(buffers_, name + ".running_var", {channels})};
}

double model::parameter_count() const {
  double result = 0;
  for (const auto& [name, x] : parameters_)
    result += static_cast<double>(x.numel());
  return result;
}

void model::init(std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  put_initial_weights(parameters_, seed);
  for (const auto& [name, x] : buffers_)
    x.fill_(name.ends_with(".running_var") ? 1 : 0);
}

} // namespace hippo
