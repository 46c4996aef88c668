#include "hippo/train/torch/training_state.hpp"

#include <cstring>
#include <stdexcept>
#include <utility>

#include "hippo/train/torch/lane_of.hpp"
#include "hippo/train/torch/weights_file.hpp"

namespace hippo {

namespace {

std::vector<at::Tensor> tensors_of(const named_tensors& xs) {
  std::vector<at::Tensor> result;
  for (const auto& [name, x] : xs)
    result.push_back(x);
  return result;
}

} // namespace

training_state::training_state(std::string workload, named_tensors weights,
                               named_tensors buffers, std::size_t lanes,
                               decay_predicate decays)
  : train_loss(lanes), workload_(std::move(workload)),
    weights_(std::move(weights)), buffers_(std::move(buffers)),
    optimizer_(tensors_of(weights_), lanes, decays) {}

void training_state::restart(std::size_t lane, double loss) {
  optimizer_.restart(lane, optimizer_kind::none);
  train_loss[lane] = loss;
}

void training_state::go_back(const at::Tensor& loss, double scale) const {
  if (scale == 1) {
    loss.backward();
    return;
  }
  (loss * scale).backward();
  const at::NoGradGuard no_grad;
  for (const auto& [name, x] : weights_)
    x.mutable_grad().div_(scale);
}

void training_state::clip_gradients(const lane_table& rows) const {
  const at::NoGradGuard no_grad;
  const auto limits = rows.clip();
  for (std::size_t lane = 0; lane < train_loss.size(); ++lane) {
    std::vector<at::Tensor> norms;
    for (const auto& [name, x] : weights_)
      norms.push_back(at::linalg_vector_norm(part(x.grad(), lane)));
    const auto norm = at::linalg_vector_norm(at::stack(norms));
    const auto limit = limits[static_cast<std::int64_t>(lane)];
    const auto factor = (limit / (norm + 1e-6)).clamp_max(1);
    for (const auto& [name, x] : weights_)
      part(x.grad(), lane).mul_(factor);
  }
}

void training_state::apply(const lane_table& rows) {
  optimizer_.apply(rows);
  for (const auto& [name, x] : weights_)
    x.mutable_grad().reset();
}

at::Tensor training_state::part(const at::Tensor& x, std::size_t lane) const {
  return lane_of(x, lane, train_loss.size());
}

tensor_map training_state::tensors(std::size_t lane) const {
  tensor_map result;
  for (const auto& [name, x] : buffers_)
    result["model." + name] = part(x, lane);
  const auto kind = optimizer_.at(lane).kind;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const auto& [name, x] = weights_[i];
    result["model." + name] = part(x, lane);
    if (kind != optimizer_kind::none)
      result["optimizer.first." + name] = part(optimizer_.first()[i], lane);
    if (kind == optimizer_kind::adamw)
      result["optimizer.second." + name] = part(optimizer_.second()[i], lane);
  }
  return result;
}

std::string training_state::save(std::size_t lane) const {
  const auto& updates = optimizer_.at(lane);
  auto result = tensors(lane);
  result["train_loss"] = at::scalar_tensor(train_loss[lane], at::kDouble);
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

void training_state::load(std::size_t lane, const std::string& bytes) {
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
  optimizer_.restart(lane, static_cast<optimizer_kind>(kind));
  copy_into(tensors(lane), from);
  optimizer_.set_count(lane, static_cast<std::uint64_t>(count));
  train_loss[lane] = loss;
}

void training_state::export_weights(std::size_t lane,
                                    const std::string& path) const {
  named_tensors result;
  // Copies: a file would hold all lanes with what is only a part of them.
  for (const auto* xs : {&weights_, &buffers_})
    for (const auto& [name, x] : *xs)
      result.emplace_back(name, part(x, lane).clone());
  write_weights(path, result);
}

} // namespace hippo
