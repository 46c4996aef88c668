#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "hippo/train/torch/kernels/cuda_kernels.hpp"
#include "hippo/train/torch/step_values.hpp"

namespace hippo {

/// Weights with what updates them. Tensors of one place have the
/// same shape and the same order in memory.
struct weight_update {
  std::vector<at::Tensor> weights;
  std::vector<at::Tensor> gradients;
  std::vector<at::Tensor> first;  ///< SGD's momentum, AdamW's mean
  std::vector<at::Tensor> second; ///< AdamW's mean of squares; empty: SGD
  std::vector<bool> decays; ///< whether a weight decays
};

/// The kernels of a training step beside LibTorch's operations. Results are the
/// same on every device, bit for bit: floats are rounded after each operation,
/// and random numbers come from addresses.
///
/// Nothing here waits for a GPU. Errors of one are `std::runtime_error`s.
class step_kernels {
public:
  virtual ~step_kernels() = default;

  /// Those of a device's kind. REQUIRES: it is ready (`prepare_device`).
  static const step_kernels& of(at::Device device);

  /// Writes the next images, augmented and normalised, and what is to be said
  /// of them: shares of the classes.
  /// @param images (images x height x width x channels)
  /// @param targets (images x classes)
  virtual void put_batch(const hippo_cuda_images& set,
                         const step_values& values, const at::Tensor& images,
                         const at::Tensor& targets) const = 0;

  /// Drops activations of a layer, or their gradients: 0, or scaled, rounded
  /// once.
  /// @param from,to of one type and shape, without gaps in memory; where
  ///                subnetworks drop, the first dimension is that of examples
  virtual void drop(const step_values& values, std::uint64_t layer,
                    const at::Tensor& from, const at::Tensor& to) const = 0;

  /// Updates the weights.
  virtual void update(const weight_update& update,
                      const step_values& values) const = 0;
};

/// Makes kernels that go by a table of functions, on its device's current
/// stream.
std::unique_ptr<step_kernels> make_step_kernels(const cuda_kernels& table);

} // namespace hippo
