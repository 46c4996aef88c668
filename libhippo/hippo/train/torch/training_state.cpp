#include "hippo/train/torch/training_state.hpp"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstring>
#include <new>
#include <optional>
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

/// The tensors of a state by name; they share memory with its pieces.
tensor_map tensors_in(const state_layout& layout,
                      const std::vector<at::Tensor>& pieces) {
  tensor_map result;
  for (const auto& x : layout)
    result.emplace(x.name, x.where.of(pieces[x.piece]));
  return result;
}

std::string to_bytes(const state_header& x, const state_layout& layout,
                     const std::vector<at::Tensor>& pieces) {
  std::vector<at::Tensor> here;
  for (const auto& piece : pieces)
    here.push_back(piece.to(at::kCPU));
  auto result = tensors_in(layout, here);
  result["train_loss"] = at::scalar_tensor(x.train_loss, at::kDouble);
  result["optimizer.kind"] =
    at::scalar_tensor(static_cast<int>(x.updates.kind), at::kLong);
  result["optimizer.count"] =
    at::scalar_tensor(static_cast<std::int64_t>(x.updates.count), at::kLong);
  result["workload"] = bytes_as_tensor(x.workload);
  if (x.kept > 0)
    result["average.count"] =
      at::scalar_tensor(static_cast<std::int64_t>(x.kept), at::kLong);
  return hippo::to_bytes(result);
}

/// Takes what is no tensor of the model out of what was read.
state_header take_header(tensor_map& tensors) {
  state_header result;
  const auto take = [&](const char* name) {
    auto x = tensors.extract(name);
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
  if (tensors.contains("average.count"))
    result.kept =
      static_cast<std::uint64_t>(take("average.count").item<std::int64_t>());
  return result;
}

/// A state in memory of its own.
class copied_state final : public workload_state {
public:
  /// @param pieces are copied
  copied_state(state_header header, std::shared_ptr<const state_layout> layout,
               const std::vector<at::Tensor>& pieces)
    : header_(std::move(header)), layout_(std::move(layout)) {
    for (const auto& x : pieces) {
      pieces_.push_back(x.clone());
      size_ += x.nbytes();
    }
    if (const auto device = pieces.front().device(); !device.is_cpu()) {
      const c10::impl::VirtualGuardImpl streams{device.type()};
      copied_.emplace(device.type());
      copied_->record(streams.getStream(device));
    }
  }

  [[nodiscard]] const state_header& header() const { return header_; }

  [[nodiscard]] std::uint64_t content_size() const override { return size_; }

  [[nodiscard]] std::string bytes() const override {
    if (!copied_)
      return to_bytes(header_, *layout_, pieces_);
    // On a stream that nobody trains on: their priority is the normal one. Each
    // piece is there before the next is asked for, so that nothing reads the
    // copies when this returns.
    const auto device = copied_->device();
    const c10::impl::VirtualGuardImpl streams{device.type()};
    const auto stream =
      streams.getStreamFromGlobalPool(device, /*isHighPriority=*/true);
    const c10::StreamGuard use{stream}; // of the device as well
    copied_->block(stream);
    return to_bytes(header_, *layout_, pieces_);
  }

  /// Copies the pieces to others like them in the order of the present stream,
  /// whichever workload's that is: they are there by then, and their memory is
  /// used again only after that.
  void copy_to(const std::vector<at::Tensor>& pieces) const {
    if (pieces.size() != pieces_.size())
      throw std::runtime_error("a state of another model");
    for (std::size_t i = 0; i < pieces.size(); ++i)
      if (pieces[i].sizes() != pieces_[i].sizes())
        throw std::runtime_error("a state of another model");
    if (copied_) {
      const auto device = copied_->device();
      const c10::impl::VirtualGuardImpl streams{device.type()};
      const auto stream = streams.getStream(device);
      copied_->block(stream);
      for (const auto& x : pieces_)
        streams.recordDataPtrOnStream(x.storage().data_ptr(), stream);
    }
    for (std::size_t i = 0; i < pieces.size(); ++i)
      pieces[i].copy_(pieces_[i], /*non_blocking=*/true);
  }

  [[nodiscard]] std::uint64_t size() const override { return size_; }

private:
  const state_header header_;
  const std::shared_ptr<const state_layout> layout_;
  std::vector<at::Tensor> pieces_;
  std::uint64_t size_ = 0;
  std::optional<c10::Event> copied_; ///< set off the CPU, where copying is late
};

} // namespace

training_state::training_state(std::string workload, named_tensors weights,
                               named_tensors buffers, decay_predicate decays,
                               averaging average)
  : workload_(std::move(workload)), weights_(std::move(weights)),
    buffers_(std::move(buffers)), values_([this] {
      auto all = tensors_of(weights_);
      for (auto& x : tensors_of(buffers_))
        all.push_back(std::move(x));
      return tensor_piece{all};
    }()),
    optimizer_(tensors_of(weights_), decays), average_(average) {}

void training_state::divide(std::int64_t parts, sync_kind kind) {
  parts_.emplace(values_, weights_.size(), optimizer_, parts, kind);
}

void training_state::restart(double loss) {
  optimizer_.restart(optimizer_kind::none);
  if (parts_)
    parts_->restart();
  train_loss = loss;
  kept_.clear();
}

void training_state::plan(const update_rule& rule, step_values& values) {
  const auto before = optimizer_.present().kind;
  optimizer_.plan(rule, values);
  if (parts_ && optimizer_.present().kind != before)
    parts_->restart_moments();
}

void training_state::keep_weights() {
  const at::NoGradGuard no_grad;
  if (kept_.size() == average_.of)
    kept_.pop_front();
  kept_.push_back(values_.all().clone());
}

at::Tensor training_state::mean() const {
  // In twice the digits: the mean of equal weights is these weights.
  auto result = kept_.front().to(at::kDouble);
  for (std::size_t i = 1; i < kept_.size(); ++i)
    result.add_(kept_[i]);
  return result.div_(static_cast<double>(kept_.size())).to(at::kFloat);
}

void training_state::enter_mean() {
  if (kept_.empty())
    return;
  const at::NoGradGuard no_grad;
  measured_as_mean_ = values_.all().clone();
  values_.all().copy_(mean());
}

void training_state::leave_mean() {
  if (!measured_as_mean_.defined())
    return;
  const at::NoGradGuard no_grad;
  values_.all().copy_(measured_as_mean_);
  measured_as_mean_.reset();
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

std::vector<at::Tensor> training_state::moment_tensors() const {
  auto result = optimizer_.first().tensors();
  const auto& second = optimizer_.second().tensors();
  result.insert(result.end(), second.begin(), second.end());
  return result;
}

std::vector<at::Tensor> training_state::pieces() const {
  const auto kind = optimizer_.present().kind;
  std::vector<at::Tensor> result{values_.all()};
  if (parts_) {
    for (auto& x : parts_->rows())
      result.push_back(std::move(x));
    for (const auto& [name, x] : parts_->exchanged())
      result.push_back(x);
  } else {
    if (kind != optimizer_kind::none)
      result.push_back(optimizer_.first().all());
    if (kind == optimizer_kind::adamw)
      result.push_back(optimizer_.second().all());
  }
  result.insert(result.end(), kept_.begin(), kept_.end());
  return result;
}

const std::shared_ptr<const state_layout>& training_state::layout() const {
  const auto kind = optimizer_.present().kind;
  auto& result = layouts_[{kind, kept_.size()}];
  if (result)
    return result;
  state_layout fresh;
  const auto& values = values_.places();
  std::size_t piece = 0;
  // Moments and centres lie as weights do, without the buffers.
  const auto add = [&](const std::string& prefix, std::size_t count,
                       std::int64_t offset = 0) {
    for (std::size_t i = 0; i < count; ++i) {
      auto place = values[i];
      place.offset += offset;
      const auto& [name, tensor] =
        i < weights_.size() ? weights_[i] : buffers_[i - weights_.size()];
      fresh.push_back({prefix + name, piece, std::move(place)});
    }
  };
  const auto all = values.size(), weights = weights_.size();
  add("model.", all);
  ++piece;
  const std::vector<std::string> moments{"optimizer.first.",
                                         "optimizer.second."};
  if (parts_) {
    const auto rows = parts_->rows();
    for (std::size_t row = 0; row < rows.size(); ++row, ++piece)
      for (std::int64_t part = 0; part < parts_->count(); ++part)
        add("part" + std::to_string(part) + '.'
              + (row == 0 ? "model." : moments[row - 1]),
            row == 0 ? all : weights, part * rows[row].size(1));
    for (const auto& [name, tensor] : parts_->exchanged()) {
      add(name, weights);
      ++piece;
    }
  } else {
    const std::size_t count = kind == optimizer_kind::none  ? 0
                              : kind == optimizer_kind::sgd ? 1
                                                            : 2;
    for (std::size_t i = 0; i < count; ++i, ++piece)
      add(moments[i], weights);
  }
  for (std::size_t i = 0; i < kept_.size(); ++i, ++piece)
    add("average." + std::to_string(i) + '.', all);
  result = std::make_shared<const state_layout>(std::move(fresh));
  return result;
}

void training_state::expect(const state_header& header) {
  if (header.workload != workload_)
    throw std::runtime_error("a state of " + header.workload + ", not of "
                             + workload_);
  // Moments that are there already need not be cleared to be replaced.
  if (optimizer_.present().kind != header.updates.kind)
    optimizer_.restart(header.updates.kind);
  optimizer_.set_count(header.updates.count);
  if (parts_)
    parts_->expect();
  if (header.kept > average_.of)
    throw std::runtime_error("a state with more weights to average than "
                             + std::to_string(average_.of));
  while (kept_.size() > header.kept)
    kept_.pop_back();
  while (kept_.size() < header.kept)
    kept_.push_back(at::empty_like(values_.all()));
  train_loss = header.train_loss;
}

std::string training_state::save() const {
  return to_bytes(header(), *layout(), pieces());
}

void training_state::load(const std::string& bytes) {
  auto tensors = tensors_from_bytes(bytes);
  expect(take_header(tensors));
  const auto there = pieces();
  // By way of the machine's memory: one copy to the device for each piece.
  std::vector<at::Tensor> here;
  for (const auto& x : there)
    here.push_back(x.is_cpu() ? x
                              : at::empty(x.sizes(), x.options()
                                                       .device(at::kCPU)
                                                       .pinned_memory(true)));
  copy_into(tensors_in(*layout(), here), tensors);
  for (std::size_t i = 0; i < there.size(); ++i)
    if (!there[i].is_cpu())
      there[i].copy_(here[i], /*non_blocking=*/true);
}

std::shared_ptr<const workload_state> training_state::snapshot() const {
  try {
    return std::make_shared<copied_state>(header(), layout(), pieces());
  } catch (const c10::OutOfMemoryError&) {
    throw std::bad_alloc{};
  }
}

void training_state::restore(const workload_state& saved) {
  const auto* copied = dynamic_cast<const copied_state*>(&saved);
  if (copied == nullptr) {
    load(saved.bytes());
    return;
  }
  expect(copied->header());
  copied->copy_to(pieces());
}

void training_state::export_weights(const std::string& path) const {
  const auto values = kept_.empty() ? values_.all() : mean();
  named_tensors result;
  // Copies: a file would hold the whole piece with what is only a part of it.
  std::size_t i = 0;
  for (const auto* xs : {&weights_, &buffers_})
    for (const auto& [name, x] : *xs)
      result.emplace_back(name,
                          values_.places()[i++].of(values).detach().clone());
  write_weights(path, result);
}

} // namespace hippo
