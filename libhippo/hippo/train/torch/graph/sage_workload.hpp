#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "hippo/train/torch/graph/graph_data.hpp"
#include "hippo/train/torch/graph/sage_network.hpp"
#include "hippo/train/torch/stateful_workload.hpp"

namespace hippo {

/// Sums over nodes.
struct node_sums {
  double loss = 0;
  double right = 0;

  void operator+=(const node_sums& other) {
    loss += other.loss;
    right += other.right;
  }
};

/// Returns the sums of nodes by their scores; a loss that is no number if a
/// score is none.
/// @param scores nodes x classes
/// @param gradient unless null gets the gradient of the mean loss
node_sums sums_of(const at::Tensor& scores,
                  std::span<const std::uint32_t> labels,
                  float* gradient = nullptr);

/// The common part of the workloads that train GraphSAGE.
class sage_workload : public stateful_workload {
public:
  void init() override;

  [[nodiscard]] workload_size size() const final;

protected:
  /// @param buffers the state beside the weights
  sage_workload(const workload_spec& spec, device_stream& stream,
                std::shared_ptr<const graph_data> data,
                named_tensors buffers = {});

  training_state& state() final { return state_; }

  /// Measures by all neighbours, layer by layer for all nodes.
  metrics measure() override;

  /// Returns the metrics of sums over the validation nodes.
  [[nodiscard]] metrics metrics_of(const node_sums& all) const;

  /// The features of all nodes, in their memory.
  [[nodiscard]] at::Tensor features() const;

  const std::uint64_t seed_;
  const std::shared_ptr<const graph_data> data_;
  sage_network network_;
  training_state state_;
  step_values values_;
};

} // namespace hippo
