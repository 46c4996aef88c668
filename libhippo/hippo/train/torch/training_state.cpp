#include "hippo/train/torch/training_state.hpp"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstring>
#include <new>
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

at::Tensor bytes_as_tensor(const std::string& x) {
  auto result = at::empty({static_cast<std::int64_t>(x.size())}, at::kByte);
  std::memcpy(result.mutable_data_ptr(), x.data(), x.size());
  return result;
}

std::string to_bytes(const lane_state& x) {
  auto result = x.tensors;
  result["train_loss"] = at::scalar_tensor(x.train_loss, at::kDouble);
  result["optimizer.kind"] =
    at::scalar_tensor(static_cast<int>(x.updates.kind), at::kLong);
  result["optimizer.count"] =
    at::scalar_tensor(static_cast<std::int64_t>(x.updates.count), at::kLong);
  result["workload"] = bytes_as_tensor(x.workload);
  return hippo::to_bytes(result);
}

lane_state lane_state_from_bytes(const std::string& bytes) {
  lane_state result;
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

/// A lane's state in memory of its own.
class copied_state final : public workload_state {
public:
  /// @param from shares memory with what is trained
  explicit copied_state(lane_state from) : state_(std::move(from)) {
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

  [[nodiscard]] const lane_state& state() const { return state_; }

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
  lane_state state_;
  std::uint64_t size_ = 0;
  std::optional<c10::Event> copied_; ///< set off the CPU, where copying is late
};

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

void training_state::clip_gradients(const lane_table& rows) const {
  const at::NoGradGuard no_grad;
  const auto limits = rows.clip();
  for (std::size_t lane = 0; lane < train_loss.size(); ++lane) {
    std::vector<at::Tensor> gradients;
    for (const auto& [name, x] : weights_)
      gradients.push_back(part(x.grad(), lane));
    const auto norm =
      at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients)));
    const auto limit = limits[static_cast<std::int64_t>(lane)];
    const auto factor = (limit / (norm + 1e-6)).clamp_max(1);
    at::_foreach_mul_(gradients, factor);
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

const tensor_map& training_state::tensors(std::size_t lane) const {
  const auto kind = optimizer_.at(lane).kind;
  auto& result = tensors_[{lane, kind}];
  if (!result.empty())
    return result;
  for (const auto& [name, x] : buffers_)
    result["model." + name] = part(x, lane);
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

lane_state training_state::state_of(std::size_t lane) const {
  return {workload_, optimizer_.at(lane), train_loss[lane], tensors(lane)};
}

std::string training_state::save(std::size_t lane) const {
  return to_bytes(state_of(lane));
}

void training_state::load(std::size_t lane, const std::string& bytes) {
  assign(lane, lane_state_from_bytes(bytes));
}

std::shared_ptr<const workload_state>
training_state::snapshot(std::size_t lane) const {
  try {
    return std::make_shared<copied_state>(state_of(lane));
  } catch (const c10::OutOfMemoryError&) {
    throw std::bad_alloc{};
  }
}

void training_state::restore(std::size_t lane, const workload_state& x) {
  if (const auto* copied = dynamic_cast<const copied_state*>(&x)) {
    copied->be_read();
    assign(lane, copied->state());
  } else {
    load(lane, x.bytes());
  }
}

void training_state::assign(std::size_t lane, const lane_state& x) {
  if (x.workload != workload_)
    throw std::runtime_error("a state of " + x.workload + ", not of "
                             + workload_);
  // Moments that are there already need not be cleared to be replaced.
  if (optimizer_.at(lane).kind != x.updates.kind)
    optimizer_.restart(lane, x.updates.kind);
  copy_into(tensors(lane), x.tensors);
  optimizer_.set_count(lane, x.updates.count);
  train_loss[lane] = x.train_loss;
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
