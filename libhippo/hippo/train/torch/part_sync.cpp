#include "hippo/train/torch/part_sync.hpp"

#include <cassert>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>

#include "hippo/base/number.hpp"

namespace hippo {

namespace {

bool has_centre(sync_kind kind) {
  return kind == sync_kind::elastic || kind == sync_kind::bmuf;
}

/// Returns memory on the machine, which a device may copy to.
at::Tensor empty_on_machine(at::IntArrayRef shape, bool is_pinned) {
  return at::empty(
    shape, at::TensorOptions().dtype(at::kFloat).pinned_memory(is_pinned));
}

std::span<float> values_of(const at::Tensor& tensor) {
  return {tensor.mutable_data_ptr<float>(),
          static_cast<std::size_t>(tensor.numel())};
}

} // namespace

sync_rule sync_rule_at(const configuration& config, sync_kind kind,
                       step_t step) {
  const auto number = [&](const char* name, double fallback, double min,
                          double max) {
    const auto i = config.find(name);
    if (i == config.end())
      return fallback;
    const auto value = std::get<double>(i->second.at(step));
    if (value < min || value > max)
      throw std::invalid_argument(std::string{name} + " is " + to_text(value)
                                  + " at step " + std::to_string(step)
                                  + ": it must be "
                                  + (value < min ? "at least " + to_text(min)
                                                 : "at most " + to_text(max)));
    return value;
  };
  const auto whole = [&](const char* name, std::uint64_t fallback, double min) {
    return static_cast<std::uint64_t>(
      number(name, static_cast<double>(fallback), min, 0x1p53));
  };
  sync_rule x;
  x.kind = kind;
  x.every = whole(sync_every_name, x.every, 1);
  x.lag = whole(sync_lag_name, x.lag, 0);
  x.alpha = number(sync_alpha_name, x.alpha, 0, 1);
  x.momentum = number(sync_momentum_name, x.momentum, 0, 1);
  x.lr = number(sync_lr_name, x.lr, 0, std::numeric_limits<double>::max());
  if (x.lag >= x.every)
    throw std::invalid_argument(
      std::string{sync_lag_name} + " is " + std::to_string(x.lag) + " at step "
      + std::to_string(step) + ": it must be below " + sync_every_name
      + ", which is " + std::to_string(x.every));
  return x;
}

at::Tensor sum_of_parts(at::Tensor parts) {
  if (parts.size(0) == 1)
    return parts.clone();
  while (parts.size(0) > 1)
    parts =
      parts.slice(0, 0, std::nullopt, 2) + parts.slice(0, 1, std::nullopt, 2);
  return parts;
}

at::Tensor mean_of_parts(const at::Tensor& parts) {
  return sum_of_parts(parts).div_(static_cast<double>(parts.size(0)));
}

void set_to_mean_of_parts(const at::Tensor& parts) {
  const at::NoGradGuard no_grad;
  parts.copy_(mean_of_parts(parts).expand_as(parts));
}

part_sync::part_sync(named_tensors weights, bool has_buffers)
  : weights_(std::move(weights)), own_{parts(), 0, parts()} {
  if (parts() == 1 || !has_buffers)
    return;
  for (const auto& [name, weight] : weights_)
    for (const char* what : {"centre.", "velocity."})
      buffers_.emplace_back(what + name,
                            at::empty_like(weight.detach().narrow(0, 0, 1)));
}

void part_sync::share(gang* members, const own_parts& own) {
  assert(own.all == parts());
  members_ = members;
  own_ = own;
}

at::Tensor part_sync::own(std::size_t index) const {
  return weights_[index].second.detach().narrow(0, own_.first, own_.count);
}

void part_sync::init() {
  drop();
  settle();
}

void part_sync::settle() {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; 2 * i < buffers_.size(); ++i) {
    centre(i).copy_(mean_of_parts(weights_[i].second));
    velocity(i).zero_();
  }
}

void part_sync::begin(const sync_rule& rule) {
  assert(rule.lag < rule.every);
  rule_ = rule;
  drop();
  if (parts() == 1 || !is_one_model())
    return;
  for (const auto& [name, weight] : weights_)
    set_to_mean_of_parts(weight);
}

void part_sync::mix_gradients(const at::Tensor& share) const {
  if (parts() == 1 || !is_one_model())
    return;
  const at::NoGradGuard no_grad;
  for (const auto& [name, weight] : weights_) {
    const auto gradient = weight.grad();
    std::vector<std::int64_t> shape(static_cast<std::size_t>(gradient.dim()),
                                    1);
    shape.front() = share.size(0);
    gradient.copy_(
      sum_of_parts(gradient * share.view(shape)).expand_as(gradient));
  }
}

bool part_sync::is_due(std::uint64_t iteration, bool is_last) const {
  return parts() > 1
         && (is_last || arrives(iteration, is_last)
             || (!is_one_model() && departs(iteration, is_last)));
}

void part_sync::exchange(device_stream& stream, std::uint64_t iteration,
                         bool is_last) {
  if (!is_due(iteration, is_last))
    return;
  if (!is_one_model()) {
    if (arrives(iteration, is_last))
      arrive(stream);
    if (departs(iteration, is_last))
      depart(stream, iteration + (is_last ? 0 : rule_.lag));
    if (arrives(iteration, is_last))
      arrive(stream);
  }
  if (is_last && !has_centre(rule_.kind))
    stream.run([this] { settle(); });
}

void part_sync::depart(device_stream& stream, std::uint64_t arrives) {
  exchanged x;
  x.arrives = arrives;
  const bool gathers = rule_.kind == sync_kind::elastic;
  const auto copy = [&] {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const auto& here = x.copies.emplace_back(own(i).clone());
      if (members_ == nullptr)
        continue;
      auto shape = here.sizes().vec();
      shape.front() = gathers ? parts() : 1;
      auto& all =
        x.of_all.emplace_back(empty_on_machine(shape, !here.is_cpu()));
      if (gathers)
        all.narrow(0, own_.first, own_.count).copy_(here, true);
      else
        all.copy_(sum_of_parts(here), true);
    }
  };
  if (members_ == nullptr) {
    stream.run(copy);
  } else {
    stream.finish(copy);
    x.journey = std::async(
      std::launch::async, [members = members_, gathers, all = x.of_all] {
        for (const auto& each : all) {
          const auto values = values_of(each);
          if (gathers)
            gather_from_members(*members, std::as_writable_bytes(values),
                                values.size_bytes() / members->size());
          else
            sum_over_members(*members, values);
        }
      });
  }
  under_way_ = std::move(x);
}

void part_sync::arrive(device_stream& stream) {
  auto arrived = *std::exchange(under_way_, std::nullopt);
  if (arrived.journey.valid())
    arrived.journey.get();
  stream.run([&] {
    for (std::size_t i = 0; i < weights_.size(); ++i)
      arrive_at(i, arrived);
  });
}

void part_sync::arrive_at(std::size_t index, const exchanged& arrived) {
  const at::NoGradGuard no_grad;
  const auto weights = own(index);
  const auto& copies = arrived.copies[index];
  const auto of_all =
    members_ == nullptr ? copies : arrived.of_all[index].to(copies.device());
  if (rule_.kind == sync_kind::elastic) {
    for (std::int64_t part = 0; part < parts(); ++part) {
      const auto off =
        (of_all.narrow(0, part, 1) - centre(index)).mul_(rule_.alpha);
      centre(index).add_(off);
      if (part >= own_.first && part < own_.first + own_.count)
        weights.narrow(0, part - own_.first, 1).sub_(off);
    }
    velocity(index).zero_();
    return;
  }
  auto goal = (members_ == nullptr ? sum_of_parts(of_all) : of_all)
                .div_(static_cast<double>(parts()));
  if (rule_.kind == sync_kind::bmuf) {
    velocity(index)
      .mul_(rule_.momentum)
      .add_((goal - centre(index)).mul_(rule_.lr));
    goal = centre(index).add_(velocity(index));
  }
  weights.add_((goal - copies).mul_(rule_.alpha));
}

named_tensors part_sync::mean() const {
  const at::NoGradGuard no_grad;
  named_tensors result;
  for (const auto& [name, weight] : weights_)
    result.emplace_back(name, mean_of_parts(weight.detach()));
  return result;
}

} // namespace hippo
