#pragma once

#include <torch/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "hippo/train/data_wait.hpp"
#include "hippo/train/torch/device_stream.hpp"
#include "hippo/train/torch/training_state.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// A workload that holds a `training_state`, which keeps and writes its own,
/// and launches all that it does on a stream of its own.
/// REQUIRES: a class that derives from it is made, and let go of, by `run` of
/// that stream.
class stateful_workload : public workload, public data_wait {
public:
  void train(const configuration& config, step_t from, step_t to) final {
    waited_ = {};
    for (auto step = from; step < to; ++step) {
      train_step(config, step);
      if (state().average().takes(step + 1))
        stream_.run([this] { state().keep_weights(); });
    }
  }

  [[nodiscard]] std::uint64_t waited_ns() const noexcept final {
    return static_cast<std::uint64_t>(waited_.count());
  }

  metrics evaluate() final {
    if (state().average().of == 0)
      return measure();
    stream_.run([this] { state().enter_mean(); });
    auto result = measure();
    stream_.run([this] { state().leave_mean(); });
    return result;
  }

  std::string save() final {
    return stream_.run([this] { return state().save(); });
  }

  void load(const std::string& bytes) final {
    stream_.run([&] { state().load(bytes); });
  }

  std::shared_ptr<const workload_state> snapshot() final {
    return stream_.run([this] { return state().snapshot(); });
  }

  void restore(const workload_state& saved) final {
    stream_.run([&] { state().restore(saved); });
  }

  void export_weights(const std::string& path) override {
    stream_.run([&] { state().export_weights(path); });
  }

protected:
  explicit stateful_workload(device_stream& stream) : stream_(stream) {}

  virtual training_state& state() = 0;
  /// Trains from state `step` to the next one.
  virtual void train_step(const configuration& config, step_t step) = 0;
  /// Measures the present weights.
  virtual metrics measure() = 0;

  /// Returns a copy of a tensor on the machine, once the device has it.
  at::Tensor read(const at::Tensor& tensor) {
    const auto result =
      at::empty(tensor.sizes(), at::TensorOptions()
                                  .dtype(tensor.scalar_type())
                                  .pinned_memory(!tensor.is_cpu()));
    stream_.finish([&] { result.copy_(tensor, /*non_blocking=*/true); });
    return result;
  }

  /// Notes that training has waited for data.
  void note_wait(std::chrono::nanoseconds time) { waited_ += time; }

  device_stream& stream_;

private:
  std::chrono::nanoseconds waited_{}; ///< since the last `train` began
};

} // namespace hippo
