// What blocks of a GPU's threads would compute to normalise batches, computed
// on the CPU. With HIPPO_TEST_DEVICE=cuda:0, what that GPU computes.

#include "hippo/train/torch/cuda/normalisation.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cstring>
#include <initializer_list>
#include <memory>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include "hippo/train/torch/networks/gpu_normalisation.hpp"
#include "train/gpu_kernels.hpp"

namespace hippo {
namespace {

constexpr int refused = 1, misaligned = 2;

/// A block's threads, one after the other.
struct block_threads {
  template <class Work>
  void operator()(const Work& work) const {
    for (int i = 0; i < cuda::norm_threads; ++i)
      work(i);
  }
};

/// Calls `work(block, memory)` for every block, from the last one on if
/// `Backwards`, with memory that is full of NaN.
template <bool Backwards, class Memory, class Work>
void each_block(const cuda::norm_plan& plan, const Work& work) {
  const auto memory = std::make_unique<Memory>();
  const auto count = plan.chunks * plan.parts;
  for (std::int32_t i = 0; i < count; ++i) {
    const auto block = Backwards ? count - 1 - i : i;
    std::memset(memory.get(), 0xff, sizeof(Memory));
    work(cuda::norm_block{block % plan.chunks, block / plan.chunks}, *memory);
  }
}

template <class Result, class F>
Result with_plan(const hippo_cuda_norm& batch, Result otherwise, const F& f) {
  const auto planned = [&](auto layout) {
    const auto plan = cuda::plan_of<decltype(layout)>(batch);
    return plan.is_valid ? f(layout, plan) : otherwise;
  };
  return batch.type == hippo_cuda_float32
           ? cuda::with_norm_layout<float>(batch, planned)
         : batch.type == hippo_cuda_bfloat16
           ? cuda::with_norm_layout<c10::BFloat16>(batch, planned)
           : cuda::with_norm_layout<c10::Half>(batch, planned);
}

bool are_aligned(std::initializer_list<const void*> pointers) {
  for (const auto* x : pointers)
    if (reinterpret_cast<std::uintptr_t>(x) % 16 != 0)
      return false;
  return true;
}

std::int64_t norm_workspace(const hippo_cuda_norm* batch) {
  return with_plan(*batch, std::int64_t{0}, [&](auto, const auto& plan) {
    return cuda::norm_workspace(*batch, plan);
  });
}

template <bool Backwards>
int forward(const hippo_cuda_norm* batch, const hippo_cuda_norm_forward* x,
            void* /*stream*/) {
  if (!are_aligned({x->x, x->residual, x->y}))
    return misaligned;
  return with_plan(*batch, refused, [&](auto layout, const auto& plan) {
    using kind = decltype(layout);
    if (x->workspace != nullptr)
      each_block<Backwards, cuda::norm_sums_memory<kind>>(
        plan, [&](cuda::norm_block where, auto& memory) {
          cuda::norm_sums<kind>(block_threads{}, *batch, *x, plan, where,
                                memory);
        });
    each_block<Backwards, cuda::norm_memory>(
      plan, [&](cuda::norm_block where, auto& memory) {
        cuda::norm_results<kind>(block_threads{}, *batch, *x, plan, where,
                                 memory);
      });
    return 0;
  });
}

template <bool Backwards>
int backward(const hippo_cuda_norm* batch, const hippo_cuda_norm_backward* x,
             void* /*stream*/) {
  if (!are_aligned({x->dy, x->y, x->x, x->dx, x->dresidual}))
    return misaligned;
  return with_plan(*batch, refused, [&](auto layout, const auto& plan) {
    using kind = decltype(layout);
    each_block<Backwards, cuda::norm_sums_memory<kind>>(
      plan, [&](cuda::norm_block where, auto& memory) {
        cuda::norm_gradient_sums<kind>(block_threads{}, *batch, *x, plan, where,
                                       memory);
      });
    each_block<Backwards, cuda::norm_memory>(
      plan, [&](cuda::norm_block where, auto& memory) {
        cuda::norm_gradients<kind>(block_threads{}, *batch, *x, plan, where,
                                   memory);
      });
    return 0;
  });
}

const char* error_text(int error) {
  return error == misaligned ? "misaligned" : "refused";
}

/// What a GPU's kernels would compute, with blocks in one order or the other.
template <bool Backwards>
const cuda_kernels& emulated() {
  static const auto result = [] {
    cuda_kernels x{};
    x.error_text = error_text;
    x.norm_workspace = norm_workspace;
    x.normalise = forward<Backwards>;
    x.normalise_backward = backward<Backwards>;
    return x;
  }();
  return result;
}

/// The kernels that are tested.
struct subject : tested_kernels {
  subject() : tested_kernels(emulated<false>()) {}
};

/// A layer with everything that has a gradient, and the gradient of its result.
struct layer {
  at::Tensor x, residual, dy;
  batch_norm norm;

  layer(at::IntArrayRef shape, at::ScalarType type, at::MemoryFormat format,
        bool with_residual) {
    const auto made = [&](const at::Tensor& values) {
      return values.to(type).contiguous(format);
    };
    x = made(random_tensor(shape, 1) * 3 + 20);
    if (with_residual)
      residual = made(random_tensor(shape, 2) * 4);
    dy = made(random_tensor(shape, 3));
    const auto channels = shape[1];
    norm = {random_tensor({channels}, 4) + 2, random_tensor({channels}, 5),
            random_tensor({channels}, 6),
            random_tensor({channels}, 7).abs() + 0.1};
  }

  void to(at::Device device) {
    for (auto* y : {&x, &residual, &dy, &norm.weight, &norm.bias, &norm.mean,
                    &norm.variance})
      if (y->defined())
        *y = y->to(device);
  }

  /// Everything that training writes: y, the running statistics, dx, dweight,
  /// dbias, dresidual.
  std::vector<at::Tensor> train(const cuda_kernels& kernels, activation last,
                                bool pool = false) {
    for (auto* y : {&x, &residual, &norm.weight, &norm.bias})
      if (y->defined())
        y->set_requires_grad(true);
    const auto y = normalise_by(kernels, x, norm, {pool, residual, last}, true);
    y.backward(dy);
    std::vector<at::Tensor> result{y.detach(),         norm.mean,
                                   norm.variance,      x.grad(),
                                   norm.weight.grad(), norm.bias.grad()};
    if (residual.defined())
      result.push_back(residual.grad());
    for (auto& z : result)
      z = z.to(at::kCPU);
    return result;
  }
};

at::Tensor active(const at::Tensor& x, activation last) {
  return last == activation::none   ? x
         : last == activation::relu ? x.relu()
                                    : at::hardtanh(x, 0, 6);
}

/// What LibTorch computes in double precision. The result `y` says where the
/// activation lets a gradient pass: rounding may have set it to a limit.
std::vector<at::Tensor> reference(layer z, activation last,
                                  const at::Tensor& y) {
  const auto wide = [](at::Tensor& x) {
    if (x.defined())
      x = x.detach().to(at::kCPU, at::kDouble);
  };
  for (auto* x : {&z.x, &z.residual, &z.dy, &z.norm.weight, &z.norm.bias,
                  &z.norm.mean, &z.norm.variance})
    wide(*x);
  for (auto* x : {&z.x, &z.norm.weight, &z.norm.bias})
    x->set_requires_grad(true);
  auto sum = at::batch_norm(z.x, z.norm.weight, z.norm.bias, z.norm.mean,
                            z.norm.variance, true, batch_norm::momentum,
                            batch_norm::epsilon, false);
  if (z.residual.defined())
    sum = sum + z.residual;
  auto dy = z.dy;
  if (last != activation::none)
    dy = dy * (y > 0);
  if (last == activation::relu6)
    dy = dy * (y < 6);
  sum.backward(dy);
  std::vector<at::Tensor> result{
    active(sum.detach(), last), z.norm.mean,       z.norm.variance, z.x.grad(),
    z.norm.weight.grad(),       z.norm.bias.grad()};
  if (z.residual.defined())
    result.push_back(dy);
  return result;
}

/// The largest relative error of one rounding.
double rounding(at::ScalarType type) {
  return type == at::kFloat ? 6e-8 : type == at::kBFloat16 ? 4e-3 : 5e-4;
}

using batch_shape = std::vector<std::int64_t>;

/// No vectors, vectors of some types, one chunk and several, one part and
/// several, parts and chunks that are not full.
const std::vector<batch_shape> shapes{
  {2, 3, 5, 7},    {5, 5, 3, 3},    {3, 16, 1, 2},  {3, 24, 4, 6},
  {3, 4, 2, 2},    {7, 32, 10, 14}, {9, 4, 32, 32}, {3, 160, 6, 6},
  {2, 1280, 2, 1}, {10, 64, 8, 8},  {2, 67, 9, 9},  {1, 1, 40, 41}};

constexpr activation activations[]{activation::none, activation::relu,
                                   activation::relu6};

struct CudaNormalisation
  : testing::TestWithParam<std::tuple<at::ScalarType, at::MemoryFormat>> {
  const at::ScalarType type = std::get<0>(GetParam());
  const at::MemoryFormat format = std::get<1>(GetParam());
  const subject gpu;

  /// Calls `f(shape, with_residual, activation)` for all of these.
  template <class F>
  void each(const F& f) const {
    for (const auto& x : shapes)
      for (const bool residual : {false, true})
        for (const auto last : activations) {
          std::ostringstream out;
          out << at::IntArrayRef{x} << (residual ? ", residual" : "")
              << ", activation " << static_cast<int>(last);
          const testing::ScopedTrace trace{__FILE__, __LINE__, out.str()};
          f(x, residual, last);
        }
  }

  [[nodiscard]] layer made(const batch_shape& x, bool with_residual) const {
    return {x, type, format, with_residual};
  }
};

TEST_P(CudaNormalisation, TrainsAsLibTorchInDoubles) {
  each([&](const batch_shape& x, bool residual, activation last) {
    auto z = made(x, residual);
    z.to(gpu.device);
    const auto ours = z.train(*gpu.kernels, last);
    const auto theirs = reference(made(x, residual), last, ours[0]);
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const auto scale = std::max(1.0, theirs[i].abs().max().item<double>());
      EXPECT_TRUE(at::allclose(ours[i].to(at::kDouble), theirs[i],
                               1e-5 + rounding(ours[i].scalar_type()),
                               1e-5 * scale))
        << "result " << i << " is off by "
        << (ours[i] - theirs[i]).abs().max().item<double>();
    }
    EXPECT_EQ(ours[0].scalar_type(), type);
    EXPECT_EQ(ours[0].strides(), z.x.strides());
  });
}

TEST_P(CudaNormalisation, EvaluatesAsLibTorchInDoubles) {
  const c10::InferenceMode guard;
  each([&](const batch_shape& x, bool residual, activation last) {
    auto z = made(x, residual);
    const auto& n = z.norm;
    auto theirs = at::batch_norm(z.x.to(at::kDouble), n.weight.to(at::kDouble),
                                 n.bias.to(at::kDouble), n.mean.to(at::kDouble),
                                 n.variance.to(at::kDouble), false, 0,
                                 batch_norm::epsilon, false);
    if (residual)
      theirs = theirs + z.residual;
    z.to(gpu.device);
    const auto before = n.mean.clone();
    const auto ours =
      normalise_by(*gpu.kernels, z.x, z.norm, {false, z.residual, last}, false);
    EXPECT_TRUE(at::allclose(ours.to(at::kCPU, at::kDouble),
                             active(theirs, last), 1e-5 + rounding(type),
                             1e-4));
    EXPECT_TRUE(n.mean.equal(before));
  });
}

TEST_P(CudaNormalisation, NeitherTheOrderOfBlocksNorTheDeviceChangesABit) {
  each([&](const batch_shape& x, bool residual, activation last) {
    auto z = made(x, residual);
    z.to(gpu.device);
    const auto ours = z.train(*gpu.kernels, last);
    const auto backwards = made(x, residual).train(emulated<true>(), last);
    for (std::size_t i = 0; i < ours.size(); ++i)
      EXPECT_TRUE(have_same_bits(ours[i], backwards[i])) << "result " << i;
  });
}

INSTANTIATE_TEST_SUITE_P(
  Batches, CudaNormalisation,
  testing::Combine(testing::Values(at::kFloat, at::kBFloat16, at::kHalf),
                   testing::Values(at::MemoryFormat::Contiguous,
                                   at::MemoryFormat::ChannelsLast)));

constexpr auto last_order = at::MemoryFormat::ChannelsLast;

TEST(CudaNormalisationInput, OnePixelHasNoVariance) {
  const subject gpu;
  layer z{{1, 16, 1, 1}, at::kFloat, last_order, false};
  const auto before = z.norm.variance * (1 - batch_norm::momentum);
  const auto bias = z.norm.bias;
  z.to(gpu.device);
  const auto ours = z.train(*gpu.kernels, activation::none);
  EXPECT_TRUE(ours[0].flatten().equal(bias));
  EXPECT_TRUE(at::allclose(ours[2], before));
  EXPECT_LT(ours[3].abs().max().item<double>(), 1e-3);
}

TEST(CudaNormalisationInput, DivergenceIsSeen) {
  const subject gpu;
  for (const std::int64_t where : {0, 31, 32 * 20 + 7}) {
    layer z{{2, 32, 8, 8}, at::kBFloat16, last_order, true};
    z.x.mutable_data_ptr<c10::BFloat16>()[where] = NAN;
    z.to(gpu.device);
    const auto ours = z.train(*gpu.kernels, activation::relu6);
    EXPECT_TRUE(ours[0].select(1, where % 32).isnan().all().item<bool>());
    EXPECT_EQ(ours[0].isnan().sum().item<std::int64_t>(), 2 * 64);
    EXPECT_TRUE(ours[1][where % 32].isnan().item<bool>());
    EXPECT_TRUE(ours[2][where % 32].isnan().item<bool>());
  }
}

TEST(CudaNormalisationInput, AnyPlaceAndOrderInMemory) {
  const subject gpu;
  const std::vector<std::int64_t> shape{3, 16, 4, 4};
  layer plain{shape, at::kBFloat16, last_order, true}, odd = plain;
  // In the order of channels, as the next convolution's gradient may be.
  odd.dy = odd.dy.contiguous();
  odd.residual = odd.residual.contiguous().to(at::kFloat);
  odd.norm.mean = plain.norm.mean.clone();
  odd.norm.variance = plain.norm.variance.clone();
  plain.to(gpu.device);
  odd.to(gpu.device);
  const auto behind = at::empty({odd.x.numel() + 1}, odd.x.options());
  auto moved = behind.narrow(0, 1, odd.x.numel())
                 .as_strided(odd.x.sizes(), odd.x.strides(), 1);
  moved.copy_(odd.x);
  odd.x = moved.detach();
  odd.norm.weight = plain.norm.weight.clone();
  odd.norm.bias = plain.norm.bias.clone();
  auto ours = odd.train(*gpu.kernels, activation::relu);
  const auto theirs = plain.train(*gpu.kernels, activation::relu);
  ours[6] = ours[6].to(at::kBFloat16);
  for (std::size_t i = 0; i < ours.size(); ++i)
    EXPECT_TRUE(have_same_bits(ours[i], theirs[i])) << "result " << i;
}

TEST(CudaNormalisationInput, AGradientThatIsOneNumber) {
  const subject gpu;
  layer expanded{{2, 8, 4, 4}, at::kFloat, last_order, false}, full = expanded;
  full.norm = {expanded.norm.weight.clone(), expanded.norm.bias.clone(),
               expanded.norm.mean.clone(), expanded.norm.variance.clone()};
  full.x = expanded.x.clone();
  expanded.to(gpu.device);
  full.to(gpu.device);
  expanded.dy = at::ones({1}, expanded.x.options()).expand({2, 8, 4, 4});
  full.dy = at::ones_like(full.x);
  const auto ours = expanded.train(*gpu.kernels, activation::relu),
             theirs = full.train(*gpu.kernels, activation::relu);
  for (std::size_t i = 0; i < ours.size(); ++i)
    EXPECT_TRUE(have_same_bits(ours[i], theirs[i])) << "result " << i;
}

TEST(CudaNormalisationInput, PoolingComesFirst) {
  const subject gpu;
  layer z{{2, 16, 6, 10}, at::kBFloat16, last_order, false};
  const auto pooled = at::max_pool2d(z.x, 2);
  z.dy = random_tensor(pooled.sizes(), 3).to(at::kBFloat16);
  layer after = z;
  after.x = pooled;
  after.norm = {z.norm.weight.clone(), z.norm.bias.clone(), z.norm.mean.clone(),
                z.norm.variance.clone()};
  z.to(gpu.device);
  after.to(gpu.device);
  const auto ours = z.train(*gpu.kernels, activation::relu, true),
             theirs = after.train(*gpu.kernels, activation::relu);
  for (const std::size_t i : {0U, 1U, 2U, 4U, 5U})
    EXPECT_TRUE(have_same_bits(ours[i], theirs[i])) << "result " << i;
  EXPECT_EQ(ours[3].sizes(), (at::IntArrayRef{2, 16, 6, 10}));
  EXPECT_EQ((ours[3] != 0).sum().item<std::int64_t>(),
            (theirs[3] != 0).sum().item<std::int64_t>());
}

TEST(CudaNormalisationInput, AnotherTypeIsRefused) {
  const subject gpu;
  layer z{{2, 16, 2, 2}, at::kDouble, last_order, false};
  z.to(gpu.device);
  EXPECT_THROW(normalise_by(*gpu.kernels, z.x, z.norm, {}, true),
               std::invalid_argument);
  EXPECT_THROW(normalise_by(*gpu.kernels, z.x, z.norm, {}, false),
               std::invalid_argument);
}

TEST(CudaNormalisationInput, KernelsRefuseWhatTheyCannotDo) {
  const subject gpu;
  hippo_cuda_norm batch{2,    16, 4, 1, hippo_cuda_float32, hippo_cuda_relu,
                        1e-5, 0.1};
  EXPECT_GT(gpu.kernels->norm_workspace(&batch), 0);
  batch.images = std::int64_t{1} << 31;
  EXPECT_EQ(gpu.kernels->norm_workspace(&batch), 0);
  batch.images = 0;
  EXPECT_EQ(gpu.kernels->norm_workspace(&batch), 0);
  const hippo_cuda_norm_forward nothing{};
  EXPECT_NE(gpu.kernels->normalise(&batch, &nothing, nullptr), 0);
  batch.images = 2;
  hippo_cuda_norm_forward odd{};
  odd.x = reinterpret_cast<const void*>(std::uintptr_t{4});
  EXPECT_NE(gpu.kernels->normalise(&batch, &odd, nullptr), 0);
}

TEST(CudaNormalisationInput, ReplaysGiveTheSameBits) {
  const subject gpu;
  expect_replays_give_the_same_bits(gpu.device, [&] {
    const auto z = std::make_shared<layer>(batch_shape{16, 32, 8, 8},
                                           at::kBFloat16, last_order, true);
    z->to(gpu.device);
    for (auto* y : {&z->x, &z->residual, &z->norm.weight, &z->norm.bias}) {
      y->set_requires_grad(true);
      y->mutable_grad() = at::zeros_like(*y);
    }
    auto y = at::zeros_like(z->x);
    const auto step = [&gpu, z, y] {
      const auto made =
        normalise_by(*gpu.kernels, z->x, z->norm, {false, z->residual}, true);
      made.backward(z->dy);
      const at::NoGradGuard no_grad;
      y.copy_(made);
    };
    return std::pair{
      step, [z, y] {
        return std::vector{
          y,           z->norm.mean,          z->norm.variance,
          z->x.grad(), z->norm.weight.grad(), z->residual.grad()};
      }};
  });
}

} // namespace
} // namespace hippo
