#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "hippo/train/lanes.hpp"
#include "hippo/train/torch/training_state.hpp"

namespace hippo {

/// Lanes that hold a `training_state`, which keeps and writes what they are in.
class stateful_workload : public laned_workload {
public:
  std::string save(std::size_t lane) final { return state().save(lane); }

  void load(std::size_t lane, const std::string& bytes) final {
    state().load(lane, bytes);
  }

  std::shared_ptr<const workload_state> snapshot(std::size_t lane) final {
    return state().snapshot(lane);
  }

  void restore(std::size_t lane, const workload_state& x) final {
    state().restore(lane, x);
  }

  void export_weights(std::size_t lane, const std::string& path) final {
    state().export_weights(lane, path);
  }

protected:
  virtual training_state& state() = 0;
};

} // namespace hippo
