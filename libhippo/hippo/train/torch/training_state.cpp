#include "hippo/train/torch/training_state.hpp"

#include <cstring>
#include <stdexcept>
#include <utility>

namespace hippo {

training_state::training_state(std::string workload, named_tensors weights)
  : workload_(std::move(workload)) {
  for (auto& [name, x] : weights) {
    auto& to = x.dim() > 1 ? decaying_ : others_;
    to.weights.push_back(x);
    to.named.emplace_back(std::move(name), std::move(x));
  }
}

void training_state::restart_updates(optimizer_kind kind) {
  for (auto* x : {&decaying_, &others_})
    x->updates.restart(kind, x->weights);
}

void training_state::restart(double loss) {
  restart_updates(optimizer_kind::none);
  train_loss = loss;
}

void training_state::update(const update_rule& rule, double clip) {
  if (clip > 0)
    clip_gradients(clip);
  decaying_.updates.update(rule, decaying_.weights);
  auto others = rule;
  others.weight_decay = 0;
  others_.updates.update(others, others_.weights);
  for (auto* x : {&decaying_, &others_})
    for (auto& weight : x->weights)
      weight.mutable_grad().reset();
}

void training_state::clip_gradients(double limit) const {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> norms;
  for (const auto* x : {&decaying_, &others_})
    for (const auto& weight : x->weights)
      norms.push_back(at::linalg_vector_norm(weight.grad()));
  // As PyTorch's clip_grad_norm_.
  const auto norm = at::linalg_vector_norm(at::stack(norms));
  const auto factor = (limit / (norm + 1e-6)).clamp_max(1);
  for (const auto* x : {&decaying_, &others_})
    for (const auto& weight : x->weights)
      weight.grad().mul_(factor);
}

tensor_map training_state::tensors() const {
  tensor_map result;
  for (const auto* part : {&decaying_, &others_})
    for (std::size_t i = 0; i < part->named.size(); ++i) {
      const auto& [name, x] = part->named[i];
      const auto& updates = part->updates;
      result["model." + name] = x;
      if (!updates.first.empty())
        result["optimizer.first." + name] = updates.first[i];
      if (!updates.second.empty())
        result["optimizer.second." + name] = updates.second[i];
    }
  return result;
}

std::string training_state::save() const {
  auto result = tensors();
  // All groups are updated together, so one tells for all.
  const auto& updates = decaying_.updates;
  result["train_loss"] = at::scalar_tensor(train_loss, at::kDouble);
  result["optimizer.kind"] =
    at::scalar_tensor(static_cast<int>(updates.kind), at::kLong);
  result["optimizer.count"] =
    at::scalar_tensor(static_cast<std::int64_t>(updates.count), at::kLong);
  auto name =
    at::empty({static_cast<std::int64_t>(workload_.size())}, at::kByte);
  std::memcpy(name.mutable_data_ptr(), workload_.data(), workload_.size());
  result["workload"] = name;
  return to_bytes(result);
}

void training_state::load(const std::string& bytes) {
  auto from = tensors_from_bytes(bytes);
  const auto take = [&](const char* name) {
    auto x = from.extract(name);
    if (!x)
      throw std::runtime_error("a state without " + std::string{name});
    return x.mapped();
  };
  const auto name = take("workload");
  const std::string writer(static_cast<const char*>(name.const_data_ptr()),
                           name.nbytes());
  if (writer != workload_)
    throw std::runtime_error("a state of " + writer + ", not of " + workload_);
  const auto kind = take("optimizer.kind").item<std::int64_t>();
  if (kind < 0 || kind > static_cast<int>(optimizer_kind::adamw))
    throw std::runtime_error("a state with an unknown optimizer");
  const auto count = take("optimizer.count").item<std::int64_t>();
  const auto loss = take("train_loss").item<double>();
  restart_updates(static_cast<optimizer_kind>(kind));
  copy_into(tensors(), from);
  for (auto* x : {&decaying_, &others_})
    x->updates.count = static_cast<std::uint64_t>(count);
  train_loss = loss;
}

} // namespace hippo
