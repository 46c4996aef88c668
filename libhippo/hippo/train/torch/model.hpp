#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hippo/train/torch/normalisation.hpp"

namespace hippo {

using named_tensors = std::vector<std::pair<std::string, at::Tensor>>;

/// Where the dropout masks of one iteration come from.
struct dropout_source {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint64_t iteration = 0;
  double share = 0; ///< of activations dropped
};

/// A network from images (batch x 1 x 28 x 28) to the scores of ten classes.
class model {
public:
  virtual ~model() = default;

  /// Returns the scores; updates normalisation statistics when training.
  /// @param drop null for evaluation, which uses those statistics
  virtual at::Tensor forward(const at::Tensor& images,
                             const dropout_source* drop) = 0;

  /// Sets weights and statistics to what `seed` gives; before that they are
  /// anything.
  void init(std::uint64_t seed);

  /// What is trained, named as in a PyTorch module's `state_dict()`.
  [[nodiscard]] const named_tensors& parameters() const { return parameters_; }

  /// Normalisation statistics, named alike.
  [[nodiscard]] const named_tensors& buffers() const { return buffers_; }

protected:
  explicit model(at::Device device) : device_(device) {}

  struct linear_layer {
    at::Tensor weight, bias;
    at::Tensor operator()(const at::Tensor& x) const;
  };

  struct convolution {
    at::Tensor weight;
    std::int64_t stride;
    at::Tensor operator()(const at::Tensor& x) const;
  };

  linear_layer add_linear(const std::string& name, std::int64_t in,
                          std::int64_t out);
  convolution add_convolution(const std::string& name, std::int64_t in,
                              std::int64_t out, std::int64_t size,
                              std::int64_t stride);
  batch_norm add_batch_norm(const std::string& name, std::int64_t channels);

  /// Drops a share of `x`, scaling the rest; layers are told apart by `layer`.
  static at::Tensor dropped(const at::Tensor& x, const dropout_source* drop,
                            std::uint64_t layer);

private:
  at::Tensor
  add_parameter(const std::string& name, at::IntArrayRef shape,
                at::MemoryFormat format = at::MemoryFormat::Contiguous);

  at::Device device_;
  named_tensors parameters_;
  named_tensors buffers_;
};

/// Makes the network of the built-in workload `name`.
/// REQUIRES: there is one of that name.
std::unique_ptr<model> make_model(const std::string& name, at::Device device);

} // namespace hippo
