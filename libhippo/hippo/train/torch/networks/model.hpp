#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hippo/train/torch/data/image_data.hpp"
#include "hippo/train/torch/networks/dropout.hpp"
#include "hippo/train/torch/networks/normalisation.hpp"
#include "hippo/train/torch/tensor_file.hpp"

namespace hippo {

/// A network from images to the scores of classes, as several lanes
/// (`laned_workload`): copies that share no number, computed together.
///
/// Each weight and each statistic is one tensor, in which dimension 0 holds the
/// lanes' own ones behind each other (`lane_of`). Activations have the lanes'
/// own channels behind each other, in channels-last order; for linear layers
/// they are lanes x images x features.
class model {
public:
  virtual ~model() = default;

  /// Returns the scores (lanes x images x classes); when training, updates
  /// normalisation statistics, also of lanes that rest.
  /// @param images images x (lanes * channels) x height x width
  /// @param rows null for evaluation, which uses those statistics
  virtual at::Tensor forward(const at::Tensor& images,
                             const lane_table* rows) = 0;

  /// Sets a lane's weights and statistics to what `seed` gives; before that
  /// they are anything.
  void init(std::size_t lane, std::uint64_t seed);

  [[nodiscard]] std::size_t lanes() const { return lanes_; }

  /// What is trained, named as in a PyTorch module's `state_dict()`.
  [[nodiscard]] const named_tensors& parameters() const { return parameters_; }

  /// How many weights a lane has.
  [[nodiscard]] double parameter_count() const;

  /// Floating-point operations that a lane takes to train on an image: those of
  /// linear layers and convolutions, beside which all others are few, and twice
  /// as many to go back.
  [[nodiscard]] double operations() const { return 3 * forward_operations_; }

  /// Normalisation statistics, named alike.
  [[nodiscard]] const named_tensors& buffers() const { return buffers_; }

protected:
  model(at::Device device, std::size_t lanes)
    : device_(device), lanes_(lanes) {}

  /// The sides of images, in pixels.
  struct sides {
    std::int64_t height, width;
    /// Those after a convolution or pooling of a stride.
    [[nodiscard]] sides after(std::int64_t stride) const {
      return {(height + stride - 1) / stride, (width + stride - 1) / stride};
    }
  };
  static sides sides_of(const image_form& form) {
    return {static_cast<std::int64_t>(form.height),
            static_cast<std::int64_t>(form.width)};
  }

  struct linear_layer {
    at::Tensor weight, bias;
    std::int64_t lanes;
    at::Tensor operator()(const at::Tensor& x) const;
  };

  struct convolution {
    at::Tensor weight;
    std::int64_t stride;
    std::int64_t groups; ///< of all lanes together
    at::Tensor operator()(const at::Tensor& x) const;
  };

  // Layers by what they are for one lane.

  linear_layer add_linear(const std::string& name, std::int64_t in,
                          std::int64_t out);
  /// @param images that it gets
  convolution add_convolution(const std::string& name, sides images,
                              std::int64_t in, std::int64_t out,
                              std::int64_t size, std::int64_t stride,
                              std::int64_t groups = 1);
  batch_norm add_batch_norm(const std::string& name, std::int64_t channels);

  /// Returns channels, with or without pixels, as lanes x images x features: a
  /// lane's features are in the order of channel, row, column.
  [[nodiscard]] at::Tensor by_lane(const at::Tensor& x) const;

private:
  at::Tensor add_tensor(named_tensors& to, const std::string& name,
                        std::vector<std::int64_t> shape_of_lane,
                        at::MemoryFormat format
                        = at::MemoryFormat::Contiguous);

  at::Device device_;
  std::size_t lanes_;
  double forward_operations_ = 0; ///< of a lane's image
  named_tensors parameters_;
  named_tensors buffers_;
};

} // namespace hippo
