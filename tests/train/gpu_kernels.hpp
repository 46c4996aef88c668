#pragma once

// The common part of tests of kernels for GPUs.

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>
#include <torch/types.h>

#include "hippo/train/torch/device_stream.hpp"
#include "hippo/train/torch/kernels/launch.hpp"
#include "hippo/train/torch/kernels/step_recorder.hpp"
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

/// Expects a step that is recorded on a GPU, and replayed at the third run, to
/// give the same bits as one that is not.
/// @param make returns a step and the function of its results
template <class Make>
void expect_replays_give_the_same_bits(at::Device device, const Make& make) {
  device_stream stream{device};
  const auto trained = [&](bool records) {
    std::vector<at::Tensor> result;
    stream.finish([&] {
      const auto [step, results] = make();
      step_recorder recorder{records ? device : at::Device{at::kCPU}};
      for (int i = 0; i < 5; ++i)
        recorder.run({}, step);
      for (const auto& x : results())
        result.push_back(x.to(at::kCPU));
    });
    return result;
  };
  const auto replayed = trained(true), plain = trained(false);
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_TRUE(have_same_bits(replayed[i], plain[i])) << "result " << i;
}

} // namespace hippo
