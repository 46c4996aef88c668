#include "hippo/train/torch/optimizer.hpp"

#include <cmath>
#include <utility>

#include "hippo/train/torch/kernels/step_kernels.hpp"

namespace hippo {

namespace {

/// Returns how the `count`-th update of its kind is done.
hippo_cuda_rule kernel_rule(const update_rule& x, std::uint64_t count) {
  hippo_cuda_rule result{};
  if (x.kind == optimizer_kind::sgd) {
    result.kind = hippo_cuda_sgd;
    result.nesterov = x.nesterov ? 1 : 0;
    result.lr = static_cast<float>(x.lr);
    result.momentum = static_cast<float>(x.momentum);
    result.weight_decay = static_cast<float>(x.weight_decay);
    return result;
  }
  const auto n = static_cast<double>(count);
  result.kind = hippo_cuda_adamw;
  result.decay = static_cast<float>(1 - x.lr * x.weight_decay);
  result.beta1 = static_cast<float>(x.momentum);
  result.beta2 = static_cast<float>(x.beta2);
  result.step_size = static_cast<float>(x.lr / (1 - std::pow(x.momentum, n)));
  result.root = static_cast<float>(std::sqrt(1 - std::pow(x.beta2, n)));
  result.epsilon = 1e-8F;
  return result;
}

} // namespace

optimizer::optimizer(std::vector<at::Tensor> weights, decay_predicate decays)
  : weights_(std::move(weights)) {
  for (const auto& x : weights_)
    decays_.push_back(decays(x));
}

void optimizer::restart(optimizer_kind rule) {
  progress_ = {rule, 0};
  const auto clear = [&](tensor_piece& moments) {
    if (moments.empty())
      moments = tensor_piece::zeros_like(weights_);
    else
      moments.all().zero_();
  };
  if (rule != optimizer_kind::none)
    clear(first_);
  if (rule == optimizer_kind::adamw)
    clear(second_);
}

void optimizer::plan(const update_rule& rule, step_values& values) {
  if (rule.kind != progress_.kind)
    restart(rule.kind);
  values->rule = kernel_rule(rule, ++progress_.count);
}

void optimizer::apply(const step_values& values) const {
  const at::NoGradGuard no_grad;
  weight_update x{weights_, {}, first_.tensors(), second_.tensors(), decays_};
  for (const auto& weight : weights_) {
    auto gradient = weight.grad();
    if (gradient.strides() != weight.strides())
      gradient = at::empty_like(weight).copy_(gradient);
    x.gradients.push_back(std::move(gradient));
  }
  step_kernels::of(weights_.front().device()).update(x, values);
}

} // namespace hippo
