#include "hippo/train/torch/training_state.hpp"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "hippo/train/torch/weights_file.hpp"

namespace hippo {

namespace {

std::vector<at::Tensor> tensors_of(const named_tensors& xs) {
  std::vector<at::Tensor> result;
  for (const auto& [name, x] : xs)
    result.push_back(x);
  return result;
}

at::Tensor bytes_as_tensor(const std::string& x) {
  auto result = at::empty({static_cast<std::int64_t>(x.size())}, at::kByte);
  std::memcpy(result.mutable_data_ptr(), x.data(), x.size());
  return result;
}

std::string to_bytes(const state_parts& x) {
  auto result = x.tensors;
  result["train_loss"] = at::scalar_tensor(x.train_loss, at::kDouble);
  result["optimizer.kind"] =
    at::scalar_tensor(static_cast<int>(x.updates.kind), at::kLong);
  result["optimizer.count"] =
    at::scalar_tensor(static_cast<std::int64_t>(x.updates.count), at::kLong);
  result["workload"] = bytes_as_tensor(x.workload);
  return hippo::to_bytes(result);
}

state_parts parts_from_bytes(const std::string& bytes) {
  state_parts result;
  result.tensors = tensors_from_bytes(bytes);
  const auto take = [&](const char* name) {
    auto x = result.tensors.extract(name);
    if (!x)
      throw std::runtime_error("a state without " + std::string{name});
    return x.mapped();
  };
  const auto name = take("workload");
  result.workload.assign(static_cast<const char*>(name.const_data_ptr()),
                         name.nbytes());
  const auto kind = take("optimizer.kind").item<std::int64_t>();
  if (kind < 0 || kind > static_cast<int>(optimizer_kind::adamw))
    throw std::runtime_error("a state with an unknown optimizer");
  const auto count = take("optimizer.count").item<std::int64_t>();
  result.updates = {static_cast<optimizer_kind>(kind),
                    static_cast<std::uint64_t>(count)};
  result.train_loss = take("train_loss").item<double>();
  return result;
}

/// A state in memory of its own.
class copied_state final : public workload_state {
public:
  /// @param from shares memory with what is trained
  explicit copied_state(state_parts from) : state_(std::move(from)) {
    const auto shared = state_.tensors;
    for (auto& [name, x] : state_.tensors) {
      x = at::empty_like(x);
      size_ += x.nbytes();
    }
    copy_into(state_.tensors, shared);
    if (const auto device = shared.begin()->second.device(); !device.is_cpu()) {
      const c10::impl::VirtualGuardImpl streams{device.type()};
      copied_.emplace(device.type());
      copied_->record(streams.getStream(device));
    }
  }

  [[nodiscard]] const state_parts& state() const { return state_; }

  [[nodiscard]] std::string bytes() const override {
    if (!copied_)
      return to_bytes(state_);
    // On a stream that nobody trains on: their priority is the normal one. Each
    // tensor is there before the next is asked for, so that nothing reads the
    // copies when this returns.
    const auto device = copied_->device();
    const c10::impl::VirtualGuardImpl streams{device.type()};
    const auto stream =
      streams.getStreamFromGlobalPool(device, /*isHighPriority=*/true);
    const c10::StreamGuard use{stream}; // of the device as well
    copied_->block(stream);
    return to_bytes(state_);
  }

  /// Lets the present stream, of whichever workload, read the copies: they are
  /// there by then, and their memory is used again only after that.
  void be_read() const {
    if (!copied_)
      return;
    const auto device = copied_->device();
    const c10::impl::VirtualGuardImpl streams{device.type()};
    const auto stream = streams.getStream(device);
    copied_->block(stream);
    for (const auto& [name, x] : state_.tensors)
      streams.recordDataPtrOnStream(x.storage().data_ptr(), stream);
  }

  [[nodiscard]] std::uint64_t size() const override { return size_; }

private:
  state_parts state_;
  std::uint64_t size_ = 0;
  std::optional<c10::Event> copied_; ///< set off the CPU, where copying is late
};

} // namespace

training_state::training_state(std::string workload, named_tensors weights,
                               named_tensors buffers, decay_predicate decays)
  : workload_(std::move(workload)), weights_(std::move(weights)),
    buffers_(std::move(buffers)), optimizer_(tensors_of(weights_), decays) {}

void training_state::restart(double loss) {
  optimizer_.restart(optimizer_kind::none);
  train_loss = loss;
}

void training_state::go_back(const at::Tensor& loss, double scale) const {
  // A step that has failed may have left some.
  for (const auto& [name, x] : weights_)
    x.mutable_grad().reset();
  if (scale == 1) {
    loss.backward();
    return;
  }
  (loss * scale).backward();
  const at::NoGradGuard no_grad;
  for (const auto& [name, x] : weights_)
    x.mutable_grad().div_(scale);
}

void training_state::clip_gradients(const step_values& values) const {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (const auto& [name, x] : weights_)
    gradients.push_back(x.grad());
  const auto norm =
    at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients)));
  const auto factor = (values.clip() / (norm + 1e-6)).clamp_max(1);
  at::_foreach_mul_(gradients, factor);
}

void training_state::apply(const step_values& values) {
  optimizer_.apply(values);
  for (const auto& [name, x] : weights_)
    x.mutable_grad().reset();
}

const tensor_map& training_state::tensors() const {
  const auto kind = optimizer_.present().kind;
  auto& result = tensors_[kind];
  if (!result.empty())
    return result;
  for (const auto& [name, x] : buffers_)
    result["model." + name] = x;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const auto& [name, x] = weights_[i];
    result["model." + name] = x.detach();
    if (kind != optimizer_kind::none)
      result["optimizer.first." + name] = optimizer_.first()[i];
    if (kind == optimizer_kind::adamw)
      result["optimizer.second." + name] = optimizer_.second()[i];
  }
  return result;
}

state_parts training_state::parts() const {
  return {workload_, optimizer_.present(), train_loss, tensors()};
}

std::string training_state::save() const {
  return to_bytes(parts());
}

void training_state::load(const std::string& bytes) {
  assign(parts_from_bytes(bytes));
}

std::shared_ptr<const workload_state> training_state::snapshot() const {
  try {
    return std::make_shared<copied_state>(parts());
  } catch (const c10::OutOfMemoryError&) {
    throw std::bad_alloc{};
  }
}

void training_state::restore(const workload_state& x) {
  if (const auto* copied = dynamic_cast<const copied_state*>(&x)) {
    copied->be_read();
    assign(copied->state());
  } else {
    load(x.bytes());
  }
}

void training_state::assign(const state_parts& x) {
  if (x.workload != workload_)
    throw std::runtime_error("a state of " + x.workload + ", not of "
                             + workload_);
  // Moments that are there already need not be cleared to be replaced.
  if (optimizer_.present().kind != x.updates.kind)
    optimizer_.restart(x.updates.kind);
  copy_into(tensors(), x.tensors);
  optimizer_.set_count(x.updates.count);
  train_loss = x.train_loss;
}

void training_state::export_weights(const std::string& path) const {
  named_tensors result;
  for (const auto* xs : {&weights_, &buffers_})
    for (const auto& [name, x] : *xs)
      result.emplace_back(name, x.detach());
  write_weights(path, result);
}

} // namespace hippo
