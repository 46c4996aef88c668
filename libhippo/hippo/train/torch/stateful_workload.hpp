#pragma once

#include <memory>
#include <string>

#include "hippo/train/torch/device_stream.hpp"
#include "hippo/train/torch/training_state.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// A workload that holds a `training_state`, which keeps and writes its own,
/// and launches all that it does on a stream of its own.
/// REQUIRES: a class that derives from it is made, and let go of, by `run` of
/// that stream.
class stateful_workload : public workload {
public:
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

  void export_weights(const std::string& path) final {
    stream_.run([&] { state().export_weights(path); });
  }

protected:
  explicit stateful_workload(device_stream& stream) : stream_(stream) {}

  virtual training_state& state() = 0;

  device_stream& stream_;
};

} // namespace hippo
