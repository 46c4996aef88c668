#pragma once

// What tests of kernels for GPUs have in common.

#include <cstdint>
#include <cstdlib>
#include <stdexcept>

#include <torch/types.h>

#include "hippo/train/torch/kernels/launch.hpp"
#include "hippo/train/torch/random.hpp"
#include "hippo/train/torch/training.hpp"

namespace hippo {

/// The kernels that are tested: those of HIPPO_TEST_DEVICE, or what they would
/// compute.
struct tested_kernels {
  at::Device device = at::kCPU;
  const cuda_kernels* kernels;

  explicit tested_kernels(const cuda_kernels& emulated) : kernels(&emulated) {
    const auto* name = std::getenv("HIPPO_TEST_DEVICE");
    if (name == nullptr)
      return;
    const auto ready = prepare_device(name);
    if (!ready)
      throw std::runtime_error(ready.failure().message);
    device = at::Device{name};
    if (!device.is_cpu())
      kernels = &needed_cuda_kernels();
  }
};

/// Numbers of [-1, 1).
inline at::Tensor random_tensor(at::IntArrayRef shape, std::uint64_t seed) {
  random_numbers from{seed, purpose::weights, {}};
  auto result = at::empty(shape, at::kFloat);
  for (std::int64_t i = 0; i < result.numel(); ++i)
    result.mutable_data_ptr<float>()[i] =
      static_cast<float>(2 * from.uniform() - 1);
  return result;
}

inline bool have_same_bits(const at::Tensor& left, const at::Tensor& right) {
  const auto bits = [](const at::Tensor& x) {
    return x.to(at::kCPU).contiguous().view(
      x.scalar_type() == at::kFloat ? at::kInt : at::kShort);
  };
  return left.sizes() == right.sizes()
         && left.scalar_type() == right.scalar_type()
         && bits(left).equal(bits(right));
}

} // namespace hippo
