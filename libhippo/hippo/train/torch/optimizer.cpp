#include "hippo/train/torch/optimizer.hpp"

#include <cmath>

#include "hippo/train/torch/kernels.hpp"

namespace hippo {

namespace {

/// One pass over memory for each weight.
/// @param second null: by SGD
void update_on_cpu(const update_rule& rule, std::uint64_t count,
                   const at::Tensor& weight, const at::Tensor& first,
                   const at::Tensor* second) {
  auto gradient = weight.grad();
  if (gradient.strides() != weight.strides())
    gradient = at::empty_like(weight).copy_(gradient);
  auto* to = weight.mutable_data_ptr<float>();
  const auto* from = gradient.const_data_ptr<float>();
  auto* moment = first.mutable_data_ptr<float>();
  const auto lr = rule.lr, beta = rule.momentum;
  if (second == nullptr) {
    kernels::best().sgd(to, from, moment, weight.numel(),
                        static_cast<float>(lr), static_cast<float>(beta),
                        static_cast<float>(rule.weight_decay), rule.nesterov);
    return;
  }
  const auto n = static_cast<double>(count);
  kernels::adamw_factors factors;
  factors.decay = static_cast<float>(1 - lr * rule.weight_decay);
  factors.beta1 = static_cast<float>(beta);
  factors.beta2 = static_cast<float>(rule.beta2);
  factors.step_size = static_cast<float>(lr / (1 - std::pow(beta, n)));
  factors.root = static_cast<float>(std::sqrt(1 - std::pow(rule.beta2, n)));
  factors.epsilon = 1e-8F;
  kernels::best().adamw(to, from, moment, second->mutable_data_ptr<float>(),
                        weight.numel(), factors);
}

// The same by LibTorch's operations, wherever the weights are and whatever their
// type.

void update_sgd(const update_rule& rule, const at::Tensor& weight,
                const at::Tensor& moment) {
  auto gradient = weight.grad();
  if (rule.weight_decay != 0)
    gradient = gradient.add_(weight, rule.weight_decay);
  moment.mul_(rule.momentum).add_(gradient);
  weight.add_(rule.nesterov ? gradient.add_(moment, rule.momentum) : moment,
              -rule.lr);
}

void update_adamw(const update_rule& rule, std::uint64_t count,
                  const at::Tensor& weight, const at::Tensor& first,
                  const at::Tensor& second) {
  const auto gradient = weight.grad();
  const auto n = static_cast<double>(count);
  const auto correction1 = 1 - std::pow(rule.momentum, n);
  const auto correction2 = 1 - std::pow(rule.beta2, n);
  weight.mul_(1 - rule.lr * rule.weight_decay);
  first.mul_(rule.momentum).add_(gradient, 1 - rule.momentum);
  second.mul_(rule.beta2).addcmul_(gradient, gradient, 1 - rule.beta2);
  const auto spread = second.sqrt().div_(std::sqrt(correction2)).add_(1e-8);
  weight.addcdiv_(first, spread, -rule.lr / correction1);
}

} // namespace

void optimizer::restart(optimizer_kind x,
                        const std::vector<at::Tensor>& weights) {
  kind = x;
  count = 0;
  first.clear();
  second.clear();
  for (const auto& weight : weights) {
    if (kind != optimizer_kind::none)
      first.push_back(at::zeros_like(weight));
    if (kind == optimizer_kind::adamw)
      second.push_back(at::zeros_like(weight));
  }
}

void optimizer::update(const update_rule& rule,
                       const std::vector<at::Tensor>& weights) {
  const at::NoGradGuard no_grad;
  if (rule.kind != kind)
    restart(rule.kind, weights);
  ++count;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i].is_cpu() && weights[i].scalar_type() == at::kFloat)
      update_on_cpu(rule, count, weights[i], first[i],
                    rule.kind == optimizer_kind::sgd ? nullptr : &second[i]);
    else if (rule.kind == optimizer_kind::sgd)
      update_sgd(rule, weights[i], first[i]);
    else
      update_adamw(rule, count, weights[i], first[i], second[i]);
}

} // namespace hippo
