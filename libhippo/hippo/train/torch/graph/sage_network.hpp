#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "hippo/train/torch/graph/neighbour_sampler.hpp"
#include "hippo/train/torch/step_values.hpp"
#include "hippo/train/torch/tensor_file.hpp"

namespace hippo {

/// A layer of GraphSAGE with the mean as its aggregator: W_l mean(neighbours) +
/// b + W_r self, with the names that PyTorch Geometric's `SAGEConv` has.
///
/// All is computed by loops of one order: the same bits on every CPU.
class sage_layer {
public:
  /// The tensors are weights that others set; matrices are out x in.
  sage_layer(at::Tensor left, at::Tensor bias, at::Tensor right)
    : left_(std::move(left)), bias_(std::move(bias)), right_(std::move(right)) {
  }

  /// The inputs of a row: its own, of the first rows of `all`, and the mean of
  /// its neighbours.
  struct inputs {
    at::Tensor all;
    at::Tensor means;
  };

  /// Returns the means that edges lead to.
  static inputs gathered(const at::Tensor& all, const edge_rows& edges);

  [[nodiscard]] at::Tensor forward(const inputs& of) const;

  /// Sets the gradients of the weights.
  void put_gradients(const inputs& of, const at::Tensor& gradient) const;

  /// Returns the gradient of the inputs `all`.
  /// @param change unless empty gets the gradient of the means, to make it that
  ///        of the means that edges lead to
  [[nodiscard]] at::Tensor input_gradient(
    const inputs& of, const edge_rows& edges, const at::Tensor& gradient,
    const std::function<void(const at::Tensor&)>& change = {}) const;

private:
  at::Tensor left_, bias_, right_;
};

/// GraphSAGE: layers with a ReLU and dropout between them.
class sage_network {
public:
  struct form {
    std::int64_t features = 0, hidden = 0, classes = 0, layers = 0;
  };

  explicit sage_network(const form& sizes);

  /// The trained tensors, named as in PyTorch Geometric's `GraphSAGE`.
  [[nodiscard]] const named_tensors& parameters() const { return parameters_; }

  [[nodiscard]] const std::vector<sage_layer>& layers() const {
    return layers_;
  }

  /// Returns the scores of a batch (nodes x classes), and keeps the inputs of
  /// layers for `go_back`.
  /// @param features rows x features, those of `sampled_nodes::nodes`
  at::Tensor forward(const at::Tensor& features,
                     const std::vector<layer_edges>& layers,
                     const step_values& values);

  /// Makes the gradient of a layer's output that of its scores before ReLU and
  /// dropout.
  /// @param output after both: where it is 0 the gradient is
  static void pass_back(const at::Tensor& gradient, const at::Tensor& output,
                        const step_values& values);

  /// Sets the gradients of all weights.
  /// @param gradient of the scores of the last `forward`
  void go_back(at::Tensor gradient, const std::vector<layer_edges>& layers,
               const step_values& values);

  /// Returns the scores of a batch, without dropout.
  [[nodiscard]] at::Tensor scores(const at::Tensor& features,
                                  const std::vector<layer_edges>& layers) const;

  /// Returns the scores of all nodes, from all of their neighbours.
  [[nodiscard]] at::Tensor scores(const at::Tensor& features,
                                  const graph& edges) const;

private:
  named_tensors parameters_;
  std::vector<sage_layer> layers_;
  std::vector<sage_layer::inputs> inputs_; ///< of each layer
};

} // namespace hippo
