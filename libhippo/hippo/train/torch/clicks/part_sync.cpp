#include "hippo/train/torch/clicks/part_sync.hpp"

#include <cassert>
#include <utility>

namespace hippo {

namespace {

bool has_centre(sync_kind kind) {
  return kind == sync_kind::elastic || kind == sync_kind::bmuf;
}

at::Tensor mean_of_parts(const at::Tensor& parts) {
  return sum_of_parts(parts).div_(static_cast<double>(parts.size(0)));
}

} // namespace

at::Tensor sum_of_parts(at::Tensor parts) {
  if (parts.size(0) == 1)
    return parts.clone();
  while (parts.size(0) > 1)
    parts =
      parts.slice(0, 0, std::nullopt, 2) + parts.slice(0, 1, std::nullopt, 2);
  return parts;
}

void set_to_mean_of_parts(const at::Tensor& parts) {
  const at::NoGradGuard no_grad;
  parts.copy_(mean_of_parts(parts).expand_as(parts));
}

part_sync::part_sync(named_tensors weights) : weights_(std::move(weights)) {
  if (weights_.front().second.size(0) == 1)
    return;
  for (const auto& [name, weight] : weights_)
    for (const char* what : {"centre.", "velocity."})
      buffers_.emplace_back(what + name,
                            at::empty_like(weight.detach().narrow(0, 0, 1)));
}

void part_sync::init() {
  under_way_.reset();
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
  assert(rule.lag <= rule.every);
  rule_ = rule;
  under_way_.reset(); // of a step that has failed
  if (buffers_.empty() || !is_one_model())
    return;
  for (const auto& [name, weight] : weights_)
    set_to_mean_of_parts(weight);
}

void part_sync::mix_gradients(const at::Tensor& share) const {
  if (buffers_.empty() || !is_one_model())
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

void part_sync::exchange(std::uint64_t iteration, bool is_last) {
  if (buffers_.empty())
    return;
  const at::NoGradGuard no_grad;
  if (!is_one_model()) {
    if (under_way_ && (is_last || under_way_->arrives == iteration))
      arrive();
    if (is_last || (iteration + 1) % rule_.every == 0)
      depart(iteration + (is_last ? 0 : rule_.lag));
    if (under_way_ && under_way_->arrives == iteration)
      arrive();
  }
  if (is_last && !has_centre(rule_.kind))
    settle();
}

void part_sync::depart(std::uint64_t arrives) {
  exchanged result{arrives, {}};
  for (const auto& [name, weight] : weights_)
    result.copies.push_back(weight.detach().clone());
  under_way_ = std::move(result);
}

void part_sync::arrive() {
  const auto arrived = *std::exchange(under_way_, std::nullopt);
  for (std::size_t i = 0; i < weights_.size(); ++i)
    arrive_at(i, arrived.copies[i]);
}

void part_sync::arrive_at(std::size_t index, const at::Tensor& copies) {
  const auto& weight = weights_[index].second;
  if (rule_.kind == sync_kind::elastic) {
    for (std::int64_t part = 0; part < copies.size(0); ++part) {
      const auto off =
        (copies.narrow(0, part, 1) - centre(index)).mul_(rule_.alpha);
      centre(index).add_(off);
      weight.narrow(0, part, 1).sub_(off);
    }
    velocity(index).zero_();
    return;
  }
  auto goal = mean_of_parts(copies);
  if (rule_.kind == sync_kind::bmuf) {
    velocity(index).mul_(rule_.momentum).add_(goal - centre(index));
    goal = centre(index).add_(velocity(index));
  }
  weight.add_((goal - copies).mul_(rule_.alpha));
}

named_tensors part_sync::mean() const {
  const at::NoGradGuard no_grad;
  named_tensors result;
  for (const auto& [name, weight] : weights_)
    result.emplace_back(name, mean_of_parts(weight.detach()));
  return result;
}

} // namespace hippo
