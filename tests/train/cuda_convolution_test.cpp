// Convolutions by kernels for GPUs: by an emulation, or on the GPU in
// HIPPO_TEST_DEVICE.

#include <ATen/Context.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hippo/train/torch/cuda/convolution_launch.hpp"
#include "hippo/train/torch/networks/gpu_convolution.hpp"
#include "hippo/train/torch/networks/networks.hpp"
#include "hippo/train/torch/precision.hpp"
#include "train/block_emulation.hpp"
#include "train/gpu_kernels.hpp"
#include "train/training_steps.hpp"

namespace hippo {
namespace {

const char* error_text(int /*error*/) {
  return "refused";
}

/// The kernels of an emulated GPU, with threads and blocks in the order of a
/// seed.
template <std::uint64_t Seed>
const cuda_kernels& emulated() {
  static const auto result = [] {
    cuda_kernels x{};
    x.error_text = error_text;
    x.conv_rows = [](const hippo_cuda_conv* conv) {
      return cuda::rows_bytes(*conv);
    };
    x.conv_workspace = [](const hippo_cuda_conv* conv) {
      return cuda::slices_size(*conv);
    };
    x.conv_prepare = [](const hippo_cuda_conv_weights* weights, void*) {
      return cuda::prepare_rows(emulated_gpu{Seed}, *weights);
    };
    x.convolve = [](const hippo_cuda_conv* conv, const void* from,
                    const void* rows, void* y, void*) {
      return cuda::convolve(emulated_gpu{Seed}, *conv, from, rows, y);
    };
    x.convolve_input = [](const hippo_cuda_conv* conv, const void* dy,
                          const void* rows, void* dx, void*) {
      return cuda::convolve_input(emulated_gpu{Seed}, *conv, dy, rows, dx);
    };
    x.convolve_weight = [](const hippo_cuda_conv* conv, const void* from,
                           const void* dy, float* dweight, float* workspace,
                           void*) {
      return cuda::convolve_weight(emulated_gpu{Seed}, *conv, from, dy, dweight,
                                   workspace);
    };
    return x;
  }();
  return result;
}

/// The kernels that are tested.
struct subject : tested_kernels {
  subject() : tested_kernels(emulated<1>()) {}
};

constexpr auto last_order = at::MemoryFormat::ChannelsLast;

struct batch_shape {
  std::int64_t images, height, width, in, out, side, stride;

  [[nodiscard]] std::string name() const {
    std::string result = "images";
    for (const auto x : {images, height, width, in, out, side, stride})
      result += ' ' + std::to_string(x);
    return result;
  }
  [[nodiscard]] std::int64_t after(std::int64_t size) const {
    return (size + stride - 1) / stride;
  }
};

/// A layer with everything that has a gradient, and the gradient of its result.
struct layer {
  batch_shape shape;
  at::Tensor x, dy;
  std::shared_ptr<convolution_weights> weights =
    std::make_shared<convolution_weights>();

  layer(const batch_shape& s, at::ScalarType type, bool weights_last)
    : shape(s), x(random_tensor({s.images, s.in, s.height, s.width}, 1)),
      dy(random_tensor({s.images, s.out, s.after(s.height), s.after(s.width)},
                       2)) {
    for (auto* y : {&x, &dy})
      *y = y->to(type).contiguous(last_order);
    weights->weight =
      random_tensor({s.out, s.in, s.side, s.side}, 3)
        .contiguous(weights_last ? last_order : at::MemoryFormat::Contiguous);
  }

  void to(at::Device device) {
    for (auto* y : {&x, &dy, &weights->weight})
      *y = y->to(device);
  }

  /// Everything that training writes: y, dx, dweight.
  std::vector<at::Tensor> train(const cuda_kernels& kernels) {
    x.set_requires_grad(shape.in >= 16);
    weights->weight.set_requires_grad(true);
    prepare_rows(kernels, {weights}, x.scalar_type());
    const auto y = convolve_by(kernels, x, *weights, shape.stride);
    y.backward(dy);
    std::vector<at::Tensor> result{y.detach(), weights->weight.grad()};
    if (shape.in >= 16)
      result.push_back(x.grad());
    for (auto& z : result)
      z = z.to(at::kCPU);
    return result;
  }
};

/// The same by LibTorch in double precision, of rounded weights.
std::vector<at::Tensor> reference(const layer& z) {
  auto x = z.x.detach().to(at::kCPU, at::kDouble),
       weight = z.weights->weight.detach()
                  .to(at::kCPU)
                  .to(z.x.scalar_type())
                  .to(at::kDouble);
  x.set_requires_grad(true);
  weight.set_requires_grad(true);
  const auto y = at::conv2d(x, weight, {}, z.shape.stride, z.shape.side / 2);
  y.backward(z.dy.to(at::kCPU, at::kDouble));
  std::vector<at::Tensor> result{y.detach(), weight.grad()};
  if (z.shape.in >= 16)
    result.push_back(x.grad());
  return result;
}

double distance(const at::Tensor& ours, const at::Tensor& theirs) {
  return ((ours.to(at::kDouble) - theirs).norm() / theirs.norm())
    .item<double>();
}

/// Images of one and three channels, both sides and strides, one block and
/// several of channels, tiles of several images, tiles that are not full, more
/// images than fit and sides that are no multiple of anything.
const std::vector<batch_shape> shapes{
  {3, 8, 8, 3, 16, 3, 1},    {2, 12, 11, 1, 32, 3, 2},
  {3, 8, 8, 16, 16, 3, 1},   {2, 12, 12, 16, 32, 3, 2},
  {5, 7, 9, 32, 48, 3, 2},   {1, 8, 8, 64, 64, 3, 1},
  {1, 13, 37, 48, 16, 3, 1}, {3, 9, 9, 32, 64, 1, 2},
  {70, 1, 1, 16, 16, 3, 1},  {2, 5, 40, 64, 16, 1, 1},
  {9, 3, 2, 16, 80, 3, 2},   {17, 4, 4, 32, 32, 3, 1}};

struct CudaConvolution : testing::TestWithParam<precision> {
  const subject gpu;
  const tf32_scope products{GetParam()};

  [[nodiscard]] at::ScalarType type() const {
    switch (GetParam()) {
      case precision::bfloat16:
        return at::kBFloat16;
      case precision::float16:
        return at::kHalf;
      default:
        return at::kFloat;
    }
  }

  /// The largest distance from the results of double precision.
  [[nodiscard]] double tolerance() const {
    switch (GetParam()) {
      case precision::bfloat16:
        return 3e-3;
      case precision::float16:
        return 4e-4;
      case precision::tf32:
        return 5e-4;
      default:
        return 1.5e-6;
    }
  }
};

TEST_P(CudaConvolution, TrainsAsLibTorchInDoubles) {
  for (const auto& shape : shapes) {
    const testing::ScopedTrace trace{__FILE__, __LINE__, shape.name()};
    layer z{shape, type(), shape.in == 16};
    z.to(gpu.device);
    const auto ours = z.train(*gpu.kernels), theirs = reference(z);
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i)
      EXPECT_LT(distance(ours[i], theirs[i]), tolerance()) << "result " << i;
    EXPECT_EQ(ours[0].scalar_type(), type());
    EXPECT_TRUE(ours[0].is_contiguous(last_order));
    EXPECT_EQ(ours[1].strides(), z.weights->weight.strides());
  }
}

TEST_P(CudaConvolution, NoOrderOfThreadsChangesABit) {
  const auto& again = gpu.device.is_cpu() ? emulated<2>() : *gpu.kernels;
  for (const auto& shape : {shapes[4], shapes[7], shapes[11]}) {
    const testing::ScopedTrace trace{__FILE__, __LINE__, shape.name()};
    layer z{shape, type(), false}, other{shape, type(), true};
    z.to(gpu.device);
    other.to(gpu.device);
    const auto ours = z.train(*gpu.kernels), theirs = other.train(again);
    for (std::size_t i = 0; i < ours.size(); ++i)
      EXPECT_TRUE(have_same_bits(ours[i], theirs[i])) << "result " << i;
  }
}

std::string name_of(const testing::TestParamInfo<precision>& info) {
  constexpr const char* names[]{"float32", "tf32", "bfloat16", "float16"};
  return names[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Precisions, CudaConvolution,
                         testing::Values(precision::float32, precision::tf32,
                                         precision::bfloat16,
                                         precision::float16),
                         name_of);

/// Blocks of another form, with one stage of memory and with two.
TEST(CudaConvolutionBlocks, FormsGiveTheSameBits) {
  using type = cuda::factors<c10::BFloat16, cuda::factor_kind::bfloat16>;
  using large = cuda::correlation_block<type, 3, 32, 32, 2, 8>;
  using small = cuda::correlation_block<type, 3, 32, 32, 1, 4>;
  const hippo_cuda_conv conv{2, 9, 33, 64, 32, 3, 1, hippo_cuda_bfloat16, 0, 0};
  const auto x = random_tensor({2, 9, 33, 64}, 1).to(at::kBFloat16),
             weight = random_tensor({32, 64, 3, 3}, 2);
  auto rows = at::empty({cuda::rows_bytes(conv)}, at::kByte);
  hippo_cuda_conv_weights weights{};
  weights.weight[0] = weight.const_data_ptr<float>();
  weights.rows[0] = rows.mutable_data_ptr();
  weights.in[0] = 64;
  weights.out[0] = 32;
  weights.side[0] = 3;
  weights.count = 1;
  weights.type = hippo_cuda_bfloat16;
  const emulated_gpu gpu{3};
  ASSERT_EQ(cuda::prepare_rows(gpu, weights), 0);
  const auto by = [&](auto block, int pixels, int stages) {
    using kind = decltype(block);
    const auto plan = cuda::plan_of(conv, false, pixels);
    auto y = at::full({2, 9, 33, 32}, NAN, at::kBFloat16);
    gpu.launch<kind>(plan.tiles, 1, cuda::conv_memory_max, plan, stages,
                     x.const_data_ptr(), rows.const_data_ptr(),
                     y.mutable_data_ptr());
    return y;
  };
  const auto y = by(small{}, 64, 2);
  EXPECT_FALSE(y.isnan().any().item<bool>());
  EXPECT_TRUE(have_same_bits(y, by(small{}, 64, 1)));
  EXPECT_TRUE(have_same_bits(y, by(large{}, 256, 1)));
  EXPECT_TRUE(have_same_bits(y, by(large{}, 256, 2)));
}

/// Blocks that add up several tiles each, with one stage of memory and with
/// two.
TEST(CudaConvolutionBlocks, TakeSeveralTilesInTurn) {
  using type = cuda::factors<c10::BFloat16, cuda::factor_kind::bfloat16>;
  using block = cuda::gradient_block<type, 3>;
  using adding = cuda::adding_block<3>;
  layer z{{5, 9, 15, 16, 16, 3, 1}, at::kBFloat16, false};
  const hippo_cuda_conv conv{5, 9, 15, 16, 16, 3, 1, hippo_cuda_bfloat16, 0, 0};
  const auto plan = cuda::plan_of(conv, false, cuda::conv_gradient_pixels);
  constexpr std::int32_t blocks = 2, size = cuda::gradient_sums<3>::of_pair;
  ASSERT_GT(plan.tiles, 3 * blocks);
  const emulated_gpu gpu{4};
  const auto by = [&](int stages) {
    auto slices = at::full({blocks, size}, NAN),
         sum = at::full({16, 16, 9}, NAN);
    gpu.launch<block>(blocks, 1, cuda::conv_memory_max, plan, stages,
                      z.x.const_data_ptr(), z.dy.const_data_ptr(),
                      slices.mutable_data_ptr<float>());
    gpu.launch<adding>(size / adding::columns, 1, adding::bytes, plan,
                       slices.const_data_ptr<float>(), blocks, size, false,
                       sum.mutable_data_ptr<float>());
    return sum.view({16, 16, 3, 3});
  };
  const auto one = by(1), two = by(2);
  EXPECT_TRUE(have_same_bits(one, two));
  EXPECT_LT(distance(one, reference(z)[1]), 1e-6);
}

TEST(CudaConvolutionBlocks, ManyPixelsTakeLargeOnes) {
  const tf32_scope products{precision::bfloat16};
  const batch_shape many{1, 257, 256, 16, 16, 3, 1};
  layer z{many, at::kBFloat16, false};
  prepare_rows(emulated<1>(), {z.weights}, at::kBFloat16);
  const at::NoGradGuard no_grad;
  const auto ours = convolve_by(emulated<1>(), z.x, *z.weights, 1);
  const auto theirs =
    at::conv2d(z.x.to(at::kDouble),
               z.weights->weight.to(at::kBFloat16).to(at::kDouble), {}, 1, 1);
  EXPECT_LT(distance(ours, theirs), 3e-3);
}

hippo_cuda_conv any_convolution(std::mt19937& random) {
  const auto one_of = [&](int first, int last) {
    return std::uniform_int_distribution<>{first, last}(random);
  };
  const auto channels = [&] { return 16 * one_of(1, one_of(1, 20)); };
  hippo_cuda_conv result{};
  result.images = one_of(1, 90);
  result.height = one_of(1, one_of(1, 70));
  result.width = one_of(1, one_of(1, 90));
  result.in = one_of(0, 4) == 0 ? one_of(1, 4) : channels();
  result.out = channels();
  result.side = one_of(0, 3) == 0 ? 1 : 3;
  result.stride = one_of(1, 2);
  return result;
}

/// Each pixel of the target is in one tile, once, and its window has the pixels
/// of the source that the convolution adds up.
TEST(CudaConvolutionPlan, CoversEachPixelOnceWithItsWindow) {
  std::mt19937 random{5};
  for (int n = 0; n < 300; ++n) {
    const auto conv = any_convolution(random);
    const bool is_backward = n % 2 == 0 && conv.in >= 16;
    const int pixels = n % 3 == 0 ? 64 : n % 3 == 1 ? 128 : 256;
    const auto plan = cuda::plan_of(conv, is_backward, pixels);
    ASSERT_TRUE(plan.is_valid);
    ASSERT_LE(plan.tile_pixels(), pixels);
    const auto& [height, width, channels] = plan.target;
    std::vector<int> seen(
      static_cast<std::size_t>(plan.images * height * width));
    bool is_right = true;
    for (std::int32_t tile = 0; tile < plan.tiles; ++tile) {
      const auto place = cuda::place_of(plan, tile);
      for (std::int32_t i = 0; i < plan.tile_pixels(); ++i) {
        const auto at = cuda::target_line(plan, place, i / plan.tile_width)
                          .pixel(i % plan.tile_width);
        if (at < 0)
          continue;
        ++seen[static_cast<std::size_t>(at)];
        const auto image = at / (height * width), row = at / width % height,
                   column = at % width;
        for (int tap = 0; tap < plan.side * plan.side; ++tap) {
          const auto down = row * plan.stride + tap / plan.side - plan.padding,
                     right =
                       column * plan.stride + tap % plan.side - plan.padding;
          const auto is_there = down >= 0 && right >= 0
                                && down % plan.dilation == 0
                                && right % plan.dilation == 0
                                && down / plan.dilation < plan.source.height
                                && right / plan.dilation < plan.source.width;
          const auto expected =
            is_there ? (image * plan.source.height + down / plan.dilation)
                           * plan.source.width
                         + right / plan.dilation
                     : -1;
          const auto halo = cuda::window_of(plan, i)
                            + tap / plan.side * plan.halo_width
                            + tap % plan.side;
          is_right &= halo < plan.halo_pixels()
                      && cuda::source_line(plan, place, halo / plan.halo_width)
                             .pixel(halo % plan.halo_width)
                           == expected;
        }
      }
    }
    for (const auto times : seen)
      is_right &= times == 1;
    ASSERT_TRUE(is_right) << "plan " << n << ": " << conv.images << " x "
                          << conv.height << " x " << conv.width << ", "
                          << conv.in << " to " << conv.out << ", side "
                          << conv.side << ", stride " << conv.stride;
  }
}

TEST(CudaConvolutionPlan, SmallBlocksFitIntoTheMemoryOfEveryGpu) {
  using exact = cuda::factors<float, cuda::factor_kind::tf32, true>;
  using gradient = cuda::gradient_block<exact, 3>;
  using block = cuda::correlation_block<exact, 3, 32, 32, 1, 4>;
  std::mt19937 random{6};
  for (int n = 0; n < 5000; ++n) {
    const auto conv = any_convolution(random);
    if (conv.side != 3)
      continue;
    EXPECT_LE(
      block::bytes(cuda::plan_of(conv, conv.in >= 16 && n % 2 == 0, 64)),
      cuda::conv_memory_max);
    EXPECT_LE(
      gradient::bytes(cuda::plan_of(conv, false, cuda::conv_gradient_pixels)),
      cuda::conv_memory_max);
  }
}

TEST(CudaConvolutionPlan, RowsOfWeightsAreApart) {
  for (const std::int32_t source : {3, 16, 48, 64, 96})
    for (const std::int32_t target : {16, 32, 80})
      for (const std::int32_t number : {2, 4}) {
        const cuda::conv_rows rows{source, target, 3, number};
        std::set<std::int64_t> seen;
        for (std::int32_t t = 0; t < target; ++t)
          for (std::int32_t s = 0; s < source; ++s)
            for (std::int32_t tap = 0; tap < 9; ++tap) {
              const auto at = rows.place(t, s, tap);
              EXPECT_LT(at, rows.size(target));
              seen.insert(at);
            }
        EXPECT_EQ(seen.size(), static_cast<std::size_t>(source * target * 9));
        EXPECT_EQ(rows.size(target) * number % cuda::vector_bytes, 0);
      }
}

TEST(CudaConvolutionPlan, DividesAsDivisionDoes) {
  std::mt19937 random{7};
  const auto any = [&](std::int32_t most) {
    return std::uniform_int_distribution<std::int32_t>{1, most}(random);
  };
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  for (int n = 0; n < 20000; ++n) {
    const auto by = any(n % 2 == 0 ? 100 : most);
    const cuda::conv_divisor divisor{by};
    for (const auto number : {0, any(most) - 1, by - 1, by, most}) {
      ASSERT_EQ(divisor.of(number).quotient, number / by)
        << number << ' ' << by;
      ASSERT_EQ(divisor.of(number).remainder, number % by);
    }
  }
}

TEST(CudaConvolutionInput, KernelsRefuseWhatTheyCannotDo) {
  const subject gpu;
  const hippo_cuda_conv good{2, 8, 8, 16, 32, 3, 1, hippo_cuda_float32, 0, 0};
  EXPECT_GT(gpu.kernels->conv_rows(&good), 0);
  EXPECT_GT(gpu.kernels->conv_workspace(&good), 0);
  const auto refused = [&](auto change) {
    auto conv = good;
    change(conv);
    EXPECT_EQ(gpu.kernels->conv_rows(&conv), 0);
    EXPECT_EQ(gpu.kernels->conv_workspace(&conv), 0);
    EXPECT_NE(gpu.kernels->convolve(&conv, nullptr, nullptr, nullptr, nullptr),
              0);
    EXPECT_NE(
      gpu.kernels->convolve_input(&conv, nullptr, nullptr, nullptr, nullptr),
      0);
    EXPECT_NE(gpu.kernels->convolve_weight(&conv, nullptr, nullptr, nullptr,
                                           nullptr, nullptr),
              0);
  };
  refused([](auto& x) { x.images = 0; });
  refused([](auto& x) { x.images = std::int64_t{1} << 40; });
  refused([](auto& x) { x.height = 0; });
  refused([](auto& x) { x.width = 1 << 20; });
  refused([](auto& x) { x.in = 24; });
  refused([](auto& x) { x.in = 5; });
  refused([](auto& x) { x.in = 0; });
  refused([](auto& x) { x.out = 3; });
  refused([](auto& x) { x.out = 1 << 20; });
  refused([](auto& x) { x.side = 5; });
  refused([](auto& x) { x.stride = 3; });
  auto image = good;
  image.in = 3;
  EXPECT_NE(
    gpu.kernels->convolve_input(&image, nullptr, nullptr, nullptr, nullptr), 0);
  auto odd = good;
  odd.type = 9;
  EXPECT_NE(gpu.kernels->convolve(&odd, nullptr, nullptr, nullptr, nullptr), 0);
  hippo_cuda_conv_weights none{};
  EXPECT_NE(gpu.kernels->conv_prepare(&none, nullptr), 0);
}

TEST(CudaConvolutionInput, ShapesOfNetworksThatHaveKernels) {
  EXPECT_TRUE(has_kernels({3, 16, 3, 1, 1}));
  EXPECT_TRUE(has_kernels({32, 64, 1, 2, 1}));
  EXPECT_FALSE(has_kernels({64, 128, 3, 2, 1})) << "cuDNN's are fast";
  EXPECT_FALSE(has_kernels({32, 32, 3, 1, 32})) << "of groups";
  EXPECT_FALSE(has_kernels({24, 48, 1, 1, 1}));
  EXPECT_FALSE(has_kernels({16, 32, 5, 1, 1}));
}

TEST(CudaConvolutionInput, BatchesOfManyActivationsAreLeftToOthers) {
  const convolution_weights weights{random_tensor({16, 16, 3, 3}, 1), {}};
  const auto takes = [&](std::int64_t images) {
    return take_batch(at::zeros({1, 1, 1, 1}).expand({images, 16, 512, 512}),
                      weights, 1);
  };
  EXPECT_TRUE(takes(128));
  EXPECT_TRUE(takes(255));
  EXPECT_FALSE(takes(256));
}

TEST(CudaConvolutionInput, DivergenceStaysInItsImage) {
  const subject gpu;
  layer z{{3, 8, 8, 16, 16, 3, 1}, at::kBFloat16, false};
  z.x.mutable_data_ptr<c10::BFloat16>()[(8 * 8 + 20) * 16 + 5] = NAN;
  z.to(gpu.device);
  const auto ours = z.train(*gpu.kernels);
  EXPECT_EQ(ours[0].isnan().sum().item<std::int64_t>(), 9 * 16);
  EXPECT_TRUE(ours[0][1].isnan().any().item<bool>());
  EXPECT_TRUE(ours[1].select(1, 5).isnan().all().item<bool>());
  EXPECT_EQ(ours[1].isnan().sum().item<std::int64_t>(), 16 * 9);
}

TEST(CudaConvolutionInput, AnyPlaceAndOrderInMemory) {
  const subject gpu;
  const batch_shape shape{2, 6, 6, 16, 16, 3, 1};
  layer plain{shape, at::kBFloat16, false}, odd = plain;
  odd.weights = std::make_shared<convolution_weights>(
    convolution_weights{plain.weights->weight.clone(), {}});
  odd.dy = odd.dy.contiguous().to(at::kFloat);
  plain.to(gpu.device);
  odd.to(gpu.device);
  const auto behind = at::empty({odd.x.numel() + 1}, odd.x.options());
  auto moved = behind.narrow(0, 1, odd.x.numel())
                 .as_strided(odd.x.sizes(), odd.x.strides(), 1);
  moved.copy_(plain.x);
  odd.x = moved.detach();
  const auto ours = odd.train(*gpu.kernels), theirs = plain.train(*gpu.kernels);
  for (std::size_t i = 0; i < ours.size(); ++i)
    EXPECT_TRUE(have_same_bits(ours[i], theirs[i])) << "result " << i;
}

TEST(CudaConvolutionInput, WeightsMustBePreparedForTheType) {
  const subject gpu;
  layer z{{2, 4, 4, 16, 16, 3, 1}, at::kBFloat16, false};
  z.to(gpu.device);
  prepare_rows(*gpu.kernels, {z.weights}, at::kFloat);
  EXPECT_THROW(convolve_by(*gpu.kernels, z.x, *z.weights, 1), c10::Error);
}

/// More convolutions than one launch takes, in both orders.
TEST(CudaConvolutionInput, ManyWeightsArePreparedAtOnce) {
  const subject gpu;
  std::vector<std::shared_ptr<convolution_weights>> all;
  for (int i = 0; i < HIPPO_CUDA_CONVS_MAX + 10; ++i) {
    layer z{{1, 2, 2, 16, i % 2 == 0 ? 16 : 48, i % 3 == 0 ? 1 : 3, 1},
            at::kFloat,
            i >= HIPPO_CUDA_CONVS_MAX / 2};
    z.to(gpu.device);
    all.push_back(z.weights);
  }
  prepare_rows(*gpu.kernels, all, at::kBFloat16);
  for (const auto& x : all) {
    const auto rows = x->rows.to(at::kCPU);
    x->rows = at::Tensor{};
    prepare_rows(*gpu.kernels, {x}, at::kBFloat16);
    layer z{{1, 3, 3, 16, x->weight.size(0), x->weight.size(2), 1},
            at::kBFloat16,
            false};
    z.to(gpu.device);
    const auto alone = convolve_by(*gpu.kernels, z.x, *x, 1);
    x->rows = rows.to(gpu.device);
    EXPECT_TRUE(have_same_bits(
      convolve_by(*gpu.kernels, z.x, *x, 1).detach().to(at::kCPU),
      alone.detach().to(at::kCPU)));
  }
}

/// A network by these kernels and by LibTorch; evaluated first, so that its
/// rows are made without gradients.
TEST(CudaConvolutionNetwork, TrainsAsByLibTorch) {
  const subject gpu;
  const tf32_scope products{precision::float32};
  const image_form form{1, 12, 12, 4};
  network_place place{gpu.device, at::MemoryFormat::Contiguous};
  place.kernels = gpu.kernels;
  const auto ours = make_network("cnn", form, place),
             theirs = make_network("cnn", form, {at::kCPU});
  EXPECT_EQ(ours->layout(), last_order);
  const auto none = dropping({});
  const auto images = random_tensor({3, 1, 12, 12}, 1);
  const auto trained = [&](model& net, at::Device device) {
    net.init(1);
    const auto x = images.to(device).contiguous(net.layout());
    {
      const c10::InferenceMode guard;
      EXPECT_EQ(net.forward(x, nullptr).size(1), 4);
    }
    const auto scores = net.forward(x, &none);
    scores.square().sum().backward();
    std::vector<at::Tensor> result{scores.detach()};
    for (const auto& [name, weight] : net.parameters())
      result.push_back(weight.grad());
    return result;
  };
  const auto first = trained(*ours, gpu.device),
             second = trained(*theirs, at::kCPU);
  for (std::size_t i = 0; i < first.size(); ++i)
    EXPECT_TRUE(first[i].to(at::kCPU).allclose(second[i], 1e-3, 1e-4))
      << "result " << i;
}

TEST(CudaConvolutionNetwork, ALayoutForAllOfItsConvolutions) {
  network_place place{at::kCPU, at::MemoryFormat::Contiguous};
  const auto layout = [&](const char* name) {
    return make_network(name, {3, 32, 32, 10}, place)->layout();
  };
  EXPECT_EQ(layout("resnet20"), at::MemoryFormat::Contiguous);
  place.kernels = &emulated<1>();
  EXPECT_EQ(layout("resnet20"), last_order);
  EXPECT_EQ(layout("wrn16-4"), at::MemoryFormat::Contiguous)
    << "128 channels have none";
  EXPECT_EQ(layout("mobilenetv2"), at::MemoryFormat::Contiguous);
  EXPECT_EQ(layout("mlp"), at::MemoryFormat::Contiguous);
}

TEST(CudaConvolutionInput, ReplaysGiveTheSameBits) {
  const subject gpu;
  expect_replays_give_the_same_bits(gpu.device, [&] {
    const auto z = std::make_shared<layer>(batch_shape{3, 8, 8, 32, 16, 3, 1},
                                           at::kBFloat16, false);
    z->to(gpu.device);
    for (auto* x : {&z->x, &z->weights->weight}) {
      x->set_requires_grad(true);
      x->mutable_grad() = at::zeros_like(*x);
    }
    const auto step = [&gpu, z] {
      prepare_rows(*gpu.kernels, {z->weights}, at::kBFloat16);
      convolve_by(*gpu.kernels, z->x, *z->weights, 1).backward(z->dy);
      const at::NoGradGuard no_grad;
      z->weights->weight.sub_(z->weights->weight.grad(), 1e-3);
    };
    return std::pair{
      step, [z] {
        return std::vector{z->weights->weight.detach(), z->x.grad()};
      }};
  });
}

} // namespace
} // namespace hippo
