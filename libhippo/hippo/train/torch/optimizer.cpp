#include "hippo/train/torch/optimizer.hpp"

#include <cmath>
#include <utility>

#include "hippo/train/torch/kernels.hpp"
#include "hippo/train/torch/lane_of.hpp"

namespace hippo {

namespace {

/// One pass over the memory of a lane's `size` weights.
/// @param second null: by SGD
void update_on_cpu(const update_rule& rule, std::uint64_t count, float* weight,
                   const float* gradient, float* first, float* second,
                   std::int64_t size) {
  const auto lr = rule.lr, beta = rule.momentum;
  if (second == nullptr) {
    kernels::best().sgd(weight, gradient, first, size, static_cast<float>(lr),
                        static_cast<float>(beta),
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
  kernels::best().adamw(weight, gradient, first, second, size, factors);
}

// The same by LibTorch's operations, wherever the weights are and whatever
// their type.

void update_sgd(const update_rule& rule, const at::Tensor& weight,
                at::Tensor gradient, const at::Tensor& moment) {
  if (rule.weight_decay != 0)
    gradient = gradient.add_(weight, rule.weight_decay);
  moment.mul_(rule.momentum).add_(gradient);
  weight.add_(rule.nesterov ? gradient.add_(moment, rule.momentum) : moment,
              -rule.lr);
}

void update_adamw(const update_rule& rule, std::uint64_t count,
                  const at::Tensor& weight, const at::Tensor& gradient,
                  const at::Tensor& first, const at::Tensor& second) {
  const auto n = static_cast<double>(count);
  const auto correction1 = 1 - std::pow(rule.momentum, n);
  const auto correction2 = 1 - std::pow(rule.beta2, n);
  weight.mul_(1 - rule.lr * rule.weight_decay);
  first.mul_(rule.momentum).add_(gradient, 1 - rule.momentum);
  second.mul_(rule.beta2).addcmul_(gradient, gradient, 1 - rule.beta2);
  const auto spread = second.sqrt().div_(std::sqrt(correction2)).add_(1e-8);
  weight.addcdiv_(first, spread, -rule.lr / correction1);
}

/// Adds a moment for each weight, unless there are some.
void ensure(std::vector<at::Tensor>& moments,
            const std::vector<at::Tensor>& weights) {
  if (moments.empty())
    for (const auto& weight : weights)
      moments.push_back(at::zeros_like(weight));
}

} // namespace

optimizer::optimizer(std::vector<at::Tensor> weights, std::size_t lanes,
                     decay_predicate decays)
  : weights_(std::move(weights)), lanes_(lanes), decays_(decays) {}

void optimizer::restart(std::size_t lane, optimizer_kind x) {
  lanes_[lane] = {x, 0};
  const auto clear = [&](std::vector<at::Tensor>& moments) {
    ensure(moments, weights_);
    for (const auto& moment : moments)
      lane_of(moment, lane, lanes_.size()).zero_();
  };
  if (x != optimizer_kind::none)
    clear(first_);
  if (x == optimizer_kind::adamw)
    clear(second_);
}

void optimizer::update(const std::vector<std::optional<update_rule>>& rules) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (const auto& rule = rules[i]) {
      if (rule->kind != lanes_[i].kind)
        restart(i, rule->kind);
      ++lanes_[i].count;
    }
  for (std::size_t k = 0; k < weights_.size(); ++k) {
    const auto& weight = weights_[k];
    auto gradient = weight.grad();
    if (gradient.strides() != weight.strides())
      gradient = at::empty_like(weight).copy_(gradient);
    const bool has_kernels =
      weight.is_cpu() && weight.scalar_type() == at::kFloat;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (!rules[i])
        continue;
      auto rule = *rules[i];
      if (!decays_(weight))
        rule.weight_decay = 0;
      const auto count = lanes_[i].count;
      const bool is_sgd = rule.kind == optimizer_kind::sgd;
      const auto part = [&](const at::Tensor& x) {
        return lane_of(x, i, lanes_.size());
      };
      if (has_kernels) {
        const auto size =
          weight.numel() / static_cast<std::int64_t>(lanes_.size());
        const auto at = static_cast<std::int64_t>(i) * size;
        update_on_cpu(rule, count, weight.mutable_data_ptr<float>() + at,
                      gradient.const_data_ptr<float>() + at,
                      first_[k].mutable_data_ptr<float>() + at,
                      is_sgd ? nullptr
                             : second_[k].mutable_data_ptr<float>() + at,
                      size);
      } else if (is_sgd) {
        update_sgd(rule, part(weight), part(gradient), part(first_[k]));
      } else {
        update_adamw(rule, count, part(weight), part(gradient),
                     part(first_[k]), part(second_[k]));
      }
    }
  }
}

} // namespace hippo
