// What threads of a GPU would compute, computed on the CPU, and how the library
// is found. With HIPPO_TEST_DEVICE=cuda:0, what that GPU computes.

#include "hippo/train/torch/kernels/cuda_kernels.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "hippo/train/torch/cuda/element_updates.hpp"
#include "hippo/train/torch/data/image_data.hpp"
#include "hippo/train/torch/data/image_files.hpp"
#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/kernels/step_kernels.hpp"
#include "hippo/train/torch/networks/dropout.hpp"
#include "hippo/train/torch/optimizer.hpp"
#include "hippo/train/torch/training.hpp"

namespace hippo {
namespace {

/// So many threads work: fewer than there are pieces, and no divisor of their
/// number.
constexpr std::int64_t threads = 13;

/// Calls `work` with the share of every thread.
template <class Work>
int launched(const Work& work) {
  for (std::int64_t i = 0; i < threads; ++i)
    work(cuda::share{i, threads});
  return 0;
}

int image_batch(const hippo_cuda_images* set, const hippo_cuda_step* values,
                std::int64_t count, float* images, float* targets,
                void* /*stream*/) {
  return launched([&](cuda::share mine) {
    cuda::put_images(*set, *values, count, images, mine);
    cuda::put_targets(*set, *values, count, targets, mine);
  });
}

int dropout(const hippo_cuda_step* values, std::uint64_t layer,
            std::int64_t examples, std::int64_t size, std::int32_t type,
            const void* from, void* to, void* /*stream*/) {
  const auto drop = [&](auto any) {
    using number = decltype(any);
    return launched([&](cuda::share mine) {
      cuda::drop(*values, layer, examples, size,
                 static_cast<const number*>(from), static_cast<number*>(to),
                 mine);
    });
  };
  return type == hippo_cuda_float32    ? drop(float{})
         : type == hippo_cuda_bfloat16 ? drop(c10::BFloat16{})
                                       : drop(c10::Half{});
}

int update(const hippo_cuda_weights* weights, const hippo_cuda_step* values,
           void* /*stream*/) {
  return launched([&](cuda::share mine) {
    for (std::int32_t i = 0; i < weights->count; ++i)
      cuda::update_weight(*weights, *values, i, mine);
  });
}

const char* error_text(int error) {
  return error == 7 ? "out of luck" : "no error";
}

const step_kernels& cpu() {
  return step_kernels::of(at::kCPU);
}

/// The kernels that are tested: those of HIPPO_TEST_DEVICE, or what their
/// threads compute.
struct subject {
  at::Device device = at::kCPU;
  std::shared_ptr<const step_kernels> kernels =
    make_step_kernels({error_text, image_batch, dropout, update});

  subject() {
    const auto* name = std::getenv("HIPPO_TEST_DEVICE");
    if (name == nullptr)
      return;
    EXPECT_TRUE(prepare_device(name));
    device = at::Device{name};
    kernels = {std::shared_ptr<void>{}, &step_kernels::of(device)};
  }

  [[nodiscard]] std::vector<at::Tensor>
  there(const std::vector<at::Tensor>& xs) const {
    std::vector<at::Tensor> result;
    for (const auto& x : xs)
      result.push_back(x.to(device));
    return result;
  }

  [[nodiscard]] weight_update there(const weight_update& x) const {
    return {there(x.weights), there(x.gradients), there(x.first),
            there(x.second), x.decays};
  }
};

/// Whether two tensors of floats have the same bits, NaN included.
bool have_same_bits(const at::Tensor& x, const at::Tensor& y) {
  const auto bits = [](const at::Tensor& z) {
    return z.to(at::kCPU).contiguous().view(at::kInt);
  };
  return x.sizes() == y.sizes() && bits(x).equal(bits(y));
}

/// Weights with what updates them; more than one launch takes.
weight_update some_weights() {
  weight_update x;
  const auto numbers = [](std::int64_t size, std::uint64_t seed) {
    random_numbers from{seed, purpose::weights, {}};
    auto y = at::empty({size}, at::kFloat);
    for (std::int64_t i = 0; i < y.numel(); ++i)
      y.mutable_data_ptr<float>()[i] =
        static_cast<float>(2 * from.uniform() - 1);
    return y;
  };
  for (std::uint64_t i = 0; i < HIPPO_CUDA_WEIGHTS_MAX + 3; ++i) {
    const auto size = static_cast<std::int64_t>(1 + i * 7 % 40);
    x.weights.push_back(numbers(size, 4 * i));
    x.gradients.push_back(numbers(size, 4 * i + 1));
    x.first.push_back(numbers(size, 4 * i + 2));
    x.second.push_back(numbers(size, 4 * i + 3).abs());
    x.decays.push_back(i % 3 != 0);
  }
  return x;
}

/// Two ways of SGD, and one of AdamW.
const std::vector<update_rule> rules{
  {optimizer_kind::sgd, 0.1, 0.9, 0, 0.01, true},
  {optimizer_kind::adamw, 0.02, 0.9, 0.99, 0.1, false},
  {optimizer_kind::sgd, 0.3, 0.7, 0, 0.5, false}};

/// Values of a step whose update is the `count`-th of its kind.
step_values planned(const update_rule& rule, int count, at::Device device) {
  step_values values{device};
  optimizer any{{at::zeros({1})}};
  for (int i = 0; i < count; ++i)
    any.plan(rule, values);
  values.publish();
  return values;
}

TEST(CudaKernels, UpdateAsTheCpu) {
  const subject gpu;
  for (const auto& rule : rules) {
    const auto ours = gpu.there(some_weights()), theirs = some_weights();
    for (int count = 1; count <= 20; ++count) {
      gpu.kernels->update(ours, planned(rule, count, gpu.device));
      cpu().update(theirs, planned(rule, count, at::kCPU));
    }
    const auto before = some_weights();
    for (std::size_t i = 0; i < ours.weights.size(); ++i) {
      EXPECT_TRUE(have_same_bits(ours.weights[i], theirs.weights[i])) << i;
      EXPECT_TRUE(have_same_bits(ours.first[i], theirs.first[i])) << i;
      EXPECT_TRUE(have_same_bits(ours.second[i], theirs.second[i])) << i;
      EXPECT_FALSE(theirs.weights[i].equal(before.weights[i])) << i;
    }
  }
}

TEST(CudaKernels, WithoutASecondMomentAsTheCpu) {
  const subject gpu;
  auto ours = gpu.there(some_weights());
  ours.second.clear();
  const auto theirs = some_weights();
  gpu.kernels->update(ours, planned(rules.front(), 1, gpu.device));
  cpu().update(theirs, planned(rules.front(), 1, at::kCPU));
  for (std::size_t i = 0; i < ours.weights.size(); ++i)
    EXPECT_TRUE(have_same_bits(ours.weights[i], theirs.weights[i])) << i;
}

TEST(CudaKernels, DropAsTheCpu) {
  const subject gpu;
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf})
    for (const std::int64_t size : {1, 2, 101, 256})
      for (const std::uint64_t layer : {0, 5})
        for (const double share : {0.0, 0.25, 0.9}) {
          const auto x = at::linspace(-3, 3, size).to(type);
          const auto by = [&](const step_kernels& kernels, at::Device device) {
            step_values values{device};
            values.reset({1, 2, 3, share});
            values.publish();
            auto input = x.clone().to(device).set_requires_grad(true);
            const auto y = dropped_by(kernels, input, values, layer);
            (y * 2).sum().backward();
            EXPECT_EQ(y.scalar_type(), type);
            return std::pair{y.detach().to(at::kCPU),
                             input.grad().to(at::kCPU)};
          };
          const auto [y, gradient] = by(*gpu.kernels, gpu.device);
          const auto [cpu_y, cpu_gradient] = by(cpu(), at::kCPU);
          EXPECT_TRUE(y.equal(cpu_y)) << size;
          EXPECT_TRUE(gradient.equal(cpu_gradient)) << size;
          EXPECT_TRUE(share > 0 || y.equal(x)) << size;
          EXPECT_TRUE((y == 0).equal((gradient == 0) | (x == 0)));
        }
}

TEST(CudaKernels, SubnetworksDropAsOnTheCpu) {
  const subject gpu;
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf})
    for (const std::int64_t examples : {1, 6, 33})
      for (const std::uint32_t slots : {1U, 4U, 64U})
        for (const std::uint32_t block : {1U, 5U, 20U}) {
          const auto x =
            at::linspace(-3, 3, examples * 20).to(type).view({examples, 20});
          const auto by = [&](const step_kernels& kernels, at::Device device) {
            step_values values{device};
            values.reset({1, 2, 3, 0.4});
            values->dropout_slots = slots;
            values->dropout_block = block;
            for (std::uint32_t i = 0; i < slots; ++i)
              values->subnetworks[i] = 100 - i;
            values.publish();
            return dropped_by(kernels, x.to(device), values, 3).to(at::kCPU);
          };
          const auto y = by(*gpu.kernels, gpu.device);
          EXPECT_TRUE(y.equal(by(cpu(), at::kCPU)))
            << examples << ' ' << slots << ' ' << block;
          EXPECT_EQ(y.scalar_type(), type);
        }
}

TEST(CudaKernels, BatchesAreThoseOfTheCpu) {
  const subject gpu;
  for (const std::size_t channels : {1, 3})
    for (const std::uint64_t kind : {0, 1, 3}) {
      const image_form form{channels, 20, 12, 7};
      const auto data = make_images(form, 1, {50, 10});
      const auto batch_by = [&](const step_kernels& kernels,
                                at::Device device) {
        const resident_images set{data, data.training, device};
        image_order order{set, device};
        order.set(epoch_order(kind, 5, 50));
        step_values values{device};
        values.reset({kind, 5, 2, 0});
        values->crop = static_cast<std::int32_t>(2 * kind);
        values->flip = 0.5;
        values->cutout = kind == 3 ? 9 : 0;
        values->smoothing = 0.1F * static_cast<float>(kind);
        values->first = static_cast<std::int64_t>(10 * kind);
        values.publish();
        const auto options = at::TensorOptions(device).dtype(at::kFloat);
        auto images = at::full(
          {20, 20, 12, static_cast<std::int64_t>(channels)}, 7, options);
        auto targets = at::full({20, 7}, 7, options);
        kernels.put_batch(order.arrays(), values, images, targets);
        // The same, where pixels are there in the order of the batch alone.
        const auto size = static_cast<std::int64_t>(form.size());
        const auto all =
          at::from_blob(const_cast<std::uint8_t*>(data.training.pixels.data()),
                        {50, size}, at::kByte);
        auto rows = at::empty({20}, at::kLong);
        for (std::int64_t i = 0; i < 20; ++i)
          rows[i] = static_cast<std::int64_t>(epoch_order(
            kind, 5, 50)[static_cast<std::size_t>(values->first + i)]);
        const auto some = all.index_select(0, rows).to(device);
        auto arrays = order.arrays();
        arrays.pixels = some.const_data_ptr<std::uint8_t>();
        arrays.of_batch = 1;
        auto same_images = at::full_like(images, 3),
             same_targets = at::full_like(targets, 3);
        kernels.put_batch(arrays, values, same_images, same_targets);
        EXPECT_TRUE(
          have_same_bits(same_images.to(at::kCPU), images.to(at::kCPU)));
        EXPECT_TRUE(
          have_same_bits(same_targets.to(at::kCPU), targets.to(at::kCPU)));
        return std::pair{images.to(at::kCPU), targets.to(at::kCPU)};
      };
      const auto [images, targets] = batch_by(*gpu.kernels, gpu.device);
      const auto [cpu_images, cpu_targets] = batch_by(cpu(), at::kCPU);
      EXPECT_TRUE(have_same_bits(images, cpu_images));
      EXPECT_TRUE(have_same_bits(targets, cpu_targets));
      EXPECT_TRUE(targets.sum(1).allclose(at::ones({20})));
    }
}

TEST(CudaKernels, WhatFailsIsSaid) {
  const auto kernels = make_step_kernels(
    {error_text, image_batch,
     [](const hippo_cuda_step*, std::uint64_t, std::int64_t, std::int64_t,
        std::int32_t, const void*, void*, void*) { return 7; },
     update});
  try {
    kernels->drop(step_values{at::kCPU}, 0, at::zeros({2}), at::zeros({2}));
    ADD_FAILURE() << "no error";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "a kernel for GPUs: out of luck");
  }
}

TEST(CudaKernels, AMissingLibraryIsNamed) {
  const auto x = load_cuda_kernels("/nowhere/libhippo_cuda.so");
  ASSERT_FALSE(x);
  EXPECT_EQ(x.failure().code, errc::io_failed);
  EXPECT_NE(x.failure().message.find("/nowhere/libhippo_cuda.so"),
            std::string::npos)
    << x.failure().message;
}

TEST(CudaKernels, AnotherLibraryIsRefused) {
  const auto x = load_cuda_kernels("libc.so.6");
  ASSERT_FALSE(x);
  EXPECT_EQ(x.failure().code, errc::incompatible_version);
}

#ifdef HIPPO_CUDA_KERNELS
TEST(CudaKernels, TheLibraryNeedsNoGpuToBeLoaded) {
  const auto x = load_cuda_kernels(HIPPO_CUDA_KERNELS);
  ASSERT_TRUE(x) << x.failure().message;
  EXPECT_STREQ(x->error_text(0), "no error");
}
#endif

} // namespace
} // namespace hippo
