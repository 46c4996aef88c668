#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hippo/train/torch/data/image_data.hpp"
#include "hippo/train/torch/kernels/launch.hpp"
#include "hippo/train/torch/networks/dropout.hpp"
#include "hippo/train/torch/networks/gpu_convolution.hpp"
#include "hippo/train/torch/networks/normalisation.hpp"
#include "hippo/train/torch/tensor_file.hpp"

namespace hippo {

/// Where a network is, and in which order its activations lie in memory if it
/// is convolved by LibTorch.
struct network_place {
  network_place(at::Device where,
                at::MemoryFormat order = at::MemoryFormat::ChannelsLast)
    : device(where), layout(order),
      kernels(where.is_cpu() ? nullptr : &needed_cuda_kernels()) {}
  network_place(at::DeviceType where) : network_place(at::Device{where}) {}

  at::Device device;
  at::MemoryFormat layout;
  const cuda_kernels* kernels; ///< null: the device is a CPU
};

/// A network from images to the scores of classes. For linear layers
/// activations are images x features.
class model {
public:
  virtual ~model() = default;

  /// Returns the scores (images x classes); when training, updates
  /// normalisation statistics.
  /// @param images images x channels x height x width, in the order of `layout`
  /// @param values null for evaluation, which uses those statistics
  at::Tensor forward(const at::Tensor& images, const step_values* values);

  /// The order in memory in which activations are to be.
  [[nodiscard]] at::MemoryFormat layout() const;

  /// Sets weights and statistics to what `seed` gives; before that they are
  /// anything.
  void init(std::uint64_t seed);

  /// The trained tensors, named as in a PyTorch module's `state_dict()`.
  [[nodiscard]] const named_tensors& parameters() const { return parameters_; }

  /// How many weights there are.
  [[nodiscard]] double parameter_count() const;

  /// Floating-point operations that it takes to train on an image: those of
  /// linear layers and convolutions, beside which all others are few, and twice
  /// as many to go back.
  [[nodiscard]] double operations() const { return 3 * forward_operations_; }

  /// Normalisation statistics, named alike.
  [[nodiscard]] const named_tensors& buffers() const { return buffers_; }

protected:
  explicit model(const network_place& place) : place_(place) {}

  /// As `forward`.
  virtual at::Tensor scores_of(const at::Tensor& images,
                               const step_values* values) = 0;

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
    at::Tensor operator()(const at::Tensor& tensor) const;
    /// Returns the same of `dropped(tensor, values, layer)`, without products
    /// of blocks that are dropped where that is faster.
    at::Tensor after_dropout(const at::Tensor& tensor,
                             const step_values* values,
                             std::uint64_t layer) const;
  };

  struct convolution {
    at::Tensor weight;
    std::int64_t stride;
    std::int64_t groups;
    std::shared_ptr<const convolution_weights> prepared; ///< null: no kernels
    const cuda_kernels* kernels;
    at::Tensor operator()(const at::Tensor& tensor) const;
  };

  linear_layer add_linear(const std::string& name, std::int64_t in,
                          std::int64_t out);
  /// @param images that it gets
  convolution add_convolution(const std::string& name, sides images,
                              std::int64_t in, std::int64_t out,
                              std::int64_t size, std::int64_t stride,
                              std::int64_t groups = 1);
  batch_norm add_batch_norm(const std::string& name, std::int64_t channels);

  /// Returns channels, with or without pixels, as images x features, in
  /// the order of channel, row, column.
  [[nodiscard]] static at::Tensor features(const at::Tensor& tensor) {
    return tensor.flatten(1).contiguous();
  }

private:
  at::Tensor add_tensor(named_tensors& to, const std::string& name,
                        at::IntArrayRef shape,
                        at::MemoryFormat format
                        = at::MemoryFormat::Contiguous);

  network_place place_;
  /// Those for which there are kernels, and how many have none.
  std::vector<std::shared_ptr<convolution_weights>> prepared_;
  std::size_t without_kernels_ = 0;
  double forward_operations_ = 0; ///< of an image
  named_tensors parameters_;
  named_tensors buffers_;
};

} // namespace hippo
