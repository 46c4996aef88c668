#pragma once

#include <torch/types.h>

#include <cstdint>

#include "hippo/model/workload_spec.hpp"

namespace hippo {

/// In which numbers a network multiplies. Weights, moments, normalisation
/// statistics and losses are `float32` in any case.
enum class precision : std::uint8_t {
  float32,
  tf32,     ///< factors with 10 bits; float32 where a device has none of these
  bfloat16, ///< activations and factors, by autocast
  float16   ///< the same; GPUs only
};

/// The order in memory in which activations are convolved fastest: on a GPU
/// cuDNN has no deterministic ways for float32 that are channels-last; pooling
/// on a CPU is many times faster in that order.
at::MemoryFormat layout_for(precision numerics, at::Device device);

/// Returns a workload's option `precision`, or float32 without it.
/// Throws `std::invalid_argument` if the device cannot compute so.
precision precision_of(const workload_spec& spec, at::Device device);

/// The factor of losses before their gradients are computed, so that
/// these do not become 0 in float16 (Micikevicius et al., 2018): a constant.
double loss_scale(precision numerics);

/// While it lives, this thread's way forward through a network goes by that
/// precision. Autograd goes back through it by the same.
class autocast_scope {
public:
  autocast_scope(precision numerics, at::Device device);
  autocast_scope(const autocast_scope&) = delete;
  autocast_scope& operator=(const autocast_scope&) = delete;
  ~autocast_scope();

private:
  bool is_on_;
  at::DeviceType device_;
};

/// While it lives, LibTorch's products of float32 are of TF32 or not. That is
/// one setting for the process: whoever wants the other one waits.
class tf32_scope {
public:
  explicit tf32_scope(precision numerics);
  tf32_scope(const tf32_scope&) = delete;
  tf32_scope& operator=(const tf32_scope&) = delete;
  ~tf32_scope();
};

} // namespace hippo
