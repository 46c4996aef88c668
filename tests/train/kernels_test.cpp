#include <gtest/gtest.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "hippo/train/torch/kernels/kernels.hpp"
#include "hippo/train/torch/networks/normalisation.hpp"
#include "hippo/train/torch/optimizer.hpp"
#include "hippo/train/torch/random.hpp"
#include "train/compute_threads.hpp"
#include "train/training_steps.hpp"

namespace hippo {
namespace {

constexpr auto nan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> numbers(std::size_t size, std::uint64_t seed) {
  random_numbers from{seed, purpose::weights, {}};
  std::vector<float> result;
  for (std::size_t i = 0; i < size; ++i)
    result.push_back(static_cast<float>(2 * from.uniform() - 1));
  return result;
}

at::Tensor tensor(at::IntArrayRef shape, std::uint64_t seed) {
  auto x = at::empty(shape, at::kFloat);
  const auto from = numbers(static_cast<std::size_t>(x.numel()), seed);
  std::copy(from.begin(), from.end(), x.mutable_data_ptr<float>());
  return x;
}

/// One layer with everything that has a gradient. Doubles are normalised by
/// LibTorch's own operations, so they are the reference.
struct layer {
  at::Tensor x, residual;
  batch_norm norm;

  layer(bool pool, bool with_residual, at::ScalarType type = at::kFloat) {
    // More rows than are added up in one go, and no multiple of anything.
    x = (tensor({7, 32, 10, 14}, 1) * 3 + 50)
          .contiguous(at::MemoryFormat::ChannelsLast);
    const std::int64_t by = pool ? 2 : 1;
    if (with_residual)
      residual = tensor({7, 32, 10 / by, 14 / by}, 2)
                   .contiguous(at::MemoryFormat::ChannelsLast);
    norm = {tensor({32}, 3) + 1, tensor({32}, 4), tensor({32}, 5),
            tensor({32}, 6).abs()};
    for (auto* y :
         {&x, &residual, &norm.weight, &norm.bias, &norm.mean, &norm.variance})
      if (y->defined())
        *y = y->to(type);
    for (auto* y : {&x, &residual, &norm.weight, &norm.bias})
      if (y->defined())
        y->set_requires_grad(true);
  }

  std::vector<at::Tensor> train(bool pool, activation last) {
    const auto y = normalise(x, norm, {pool, residual, last}, true);
    (y * tensor(y.sizes(), 7)).sum().backward();
    std::vector<at::Tensor> result{y.detach(),         x.grad(),
                                   norm.weight.grad(), norm.bias.grad(),
                                   norm.mean,          norm.variance};
    if (residual.defined())
      result.push_back(residual.grad());
    return result;
  }
};

class Normalisation : public testing::TestWithParam<int> {
protected:
  const bool pool = (GetParam() & 1) != 0;
  const bool residual = (GetParam() & 2) != 0;
  const activation last{static_cast<std::uint8_t>(GetParam() / 4)};
};

TEST_P(Normalisation, TrainsAsTheOperationsThatItStandsFor) {
  const auto ours = layer{pool, residual}.train(pool, last);
  const auto theirs = layer{pool, residual, at::kDouble}.train(pool, last);
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i)
    EXPECT_TRUE(at::allclose(ours[i].to(at::kDouble), theirs[i], 1e-4, 1e-5))
      << "result " << i << " is off by "
      << (ours[i] - theirs[i]).abs().max().item<double>();
}

TEST_P(Normalisation, EvaluatesAsTheOperationsThatItStandsFor) {
  const c10::InferenceMode guard;
  const auto result = [&](at::ScalarType type) {
    const layer z{pool, residual, type};
    return normalise(z.x, z.norm, {pool, z.residual, last}, false);
  };
  EXPECT_TRUE(at::allclose(result(at::kFloat).to(at::kDouble),
                           result(at::kDouble), 1e-5, 1e-5));
}

TEST_P(Normalisation, TheNumberOfThreadsDoesNotMatter) {
  const auto alone = layer{pool, residual}.train(pool, last);
  const compute_threads three{3};
  const auto together = layer{pool, residual}.train(pool, last);
  for (std::size_t i = 0; i < alone.size(); ++i)
    EXPECT_TRUE(at::equal(alone[i], together[i])) << "result " << i;
}

TEST_P(Normalisation, DivergenceIsSeen) {
  layer z{pool, residual};
  z.x.mutable_data_ptr<float>()[0] = nan;
  const auto y = normalise(z.x, z.norm, {pool, z.residual, last}, true);
  EXPECT_TRUE(y.isnan().any().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(Ways, Normalisation, testing::Range(0, 12));

TEST(NormalisationShapes, ChannelsThatFillNoVector) {
  const batch_norm norm{at::ones({3}), at::zeros({3}), at::zeros({3}),
                        at::ones({3})};
  const auto x = tensor({4, 3, 6, 6}, 1);
  const auto y = normalise(x, norm, {.pool = true}, true);
  EXPECT_EQ(y.sizes(), (at::IntArrayRef{4, 3, 3, 3}));
  EXPECT_GE(y.min().item<float>(), 0);
}

TEST(Kernels, EveryCpuGivesTheSameBits) {
  const std::int64_t images = 2, side = 6, channels = 32;
  const auto rows = images * side * side, size = rows * channels;
  const auto n = static_cast<std::size_t>(size);
  auto x = numbers(n, 1);
  x[5] = nan;
  const auto residual = numbers(n, 2), dy = numbers(n, 3),
             factors = numbers(channels, 4), shifts = numbers(channels, 5);
  const std::vector<float> large(channels, 20);
  std::vector<std::vector<float>> first;
  for (const auto* set : kernels::usable()) {
    std::vector<std::vector<float>> results(18, std::vector<float>(n));
    auto* out = results.data();
    std::vector<std::uint8_t> which(n / 4);
    set->max_pool(x.data(), images, side, side, channels, out[0].data(),
                  which.data());
    set->max_pool_backward(dy.data(), which.data(), images, side, side,
                           channels, out[1].data());
    set->sums(x.data(), rows, channels, shifts.data(), out[2].data(),
              out[3].data());
    set->normalise(x.data(), rows, channels, shifts.data(), factors.data(),
                   shifts.data(), residual.data(), activation::relu,
                   out[4].data());
    set->gradient_sums(dy.data(), out[4].data(), x.data(), rows, channels,
                       shifts.data(), activation::relu, out[5].data(),
                       out[6].data());
    set->normalise_backward(dy.data(), out[4].data(), x.data(), rows, channels,
                            shifts.data(), factors.data(), shifts.data(),
                            factors.data(), activation::relu, out[7].data(),
                            out[8].data());
    // As large as ReLU6 cuts off.
    set->normalise(out[4].data(), rows, channels, shifts.data(), large.data(),
                   shifts.data(), nullptr, activation::relu6, out[13].data());
    set->gradient_sums(dy.data(), out[13].data(), x.data(), rows, channels,
                       shifts.data(), activation::relu6, out[14].data(),
                       out[15].data());
    set->dropout_mask(12345, 6, size - 1, 1U << 30, 1.25F, out[9].data());
    set->subnetwork_mask(12345, size, 8, 1U << 30, 1.25F, out[16].data());
    set->mask_rows(x.data(), rows, channels, factors.data(), out[17].data());
    out[10] = residual;
    out[11] = numbers(n, 6);
    set->sgd(out[10].data(), dy.data(), out[11].data(), size, 0.1F, 0.9F, 0.01F,
             true);
    out[12] = numbers(n, 7);
    for (auto& y : out[12])
      y = std::abs(y);
    set->adamw(out[10].data(), dy.data(), out[11].data(), out[12].data(), size,
               {0.99F, 0.9F, 0.999F, 0.01F, 0.5F, 1e-8F});
    if (first.empty())
      first = results;
    for (std::size_t i = 0; i < results.size(); ++i)
      for (std::size_t k = 0; k < n; ++k)
        ASSERT_EQ(std::bit_cast<std::uint32_t>(results[i][k]),
                  std::bit_cast<std::uint32_t>(first[i][k]))
          << "result " << i << ", number " << k;
  }
}

TEST(Kernels, PoolingPrefersTheFirstOfEqualsAndNaN) {
  std::vector<float> x(4 * kernels::vector_width, 1), y(kernels::vector_width);
  x[1] = 0; // channel 1: the second pixel is larger
  x[2 * kernels::vector_width + 2] = nan; // channel 2, third pixel
  std::vector<std::uint8_t> which(kernels::vector_width);
  for (const auto* set : kernels::usable()) {
    set->max_pool(x.data(), 1, 2, 2, kernels::vector_width, y.data(),
                  which.data());
    EXPECT_EQ(which[0], 0);
    EXPECT_EQ(which[1], 1);
    EXPECT_EQ(which[2], 2);
    EXPECT_EQ(y[0], 1);
    EXPECT_TRUE(std::isnan(y[2]));
  }
}

TEST(Kernels, ExponentialsAreThoseOfDoubles) {
  std::vector<float> x{3, 2.9F, -81.9F, -82.1F, -1e30F};
  for (const auto i : numbers(1000, 1))
    x.push_back(3 - 40 * (1 + i));
  for (const auto* set : kernels::usable()) {
    std::vector<float> y(x.size(), nan);
    set->exponentials(x.data(), 3, static_cast<std::int64_t>(x.size()),
                      y.data());
    EXPECT_EQ(y[0], 1);
    EXPECT_EQ(y[3], 0);
    EXPECT_EQ(y[4], 0);
    for (std::size_t i = 0; i < x.size(); ++i)
      if (y[i] != 0) {
        const auto expected = std::exp(static_cast<double>(x[i]) - 3);
        EXPECT_NEAR(y[i] / expected, 1, 1e-6) << x[i];
      }
    std::vector<float> first(x.size());
    kernels::usable().front()->exponentials(
      x.data(), 3, static_cast<std::int64_t>(x.size()), first.data());
    EXPECT_EQ(y, first);
  }
}

/// Adds up the products of two matrices in plain loops.
std::vector<float> plain_product(const kernels::matrix& a,
                                 const kernels::matrix& b, std::int64_t rows,
                                 std::int64_t inner, std::int64_t columns,
                                 std::vector<float> c) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t k = 0; k < inner; ++k) {
        const volatile float product =
          a.at[i * a.row + k * a.column] * b.at[k * b.row + j * b.column];
        c[static_cast<std::size_t>(i * columns + j)] += product;
      }
  return c;
}

TEST(Kernels, ProductsAreAddedUpInOneOrder) {
  for (const auto& [rows, inner, columns] :
       {std::array<std::int64_t, 3>{1, 1, 1},
        {7, 300, 37},
        {8, 256, 64},
        {5, 257, 16},
        {13, 5, 10},
        {3, 0, 4}}) {
    const auto x = numbers(static_cast<std::size_t>(rows * inner) + 1, 1),
               y = numbers(static_cast<std::size_t>(inner * columns) + 1, 2),
               c = numbers(static_cast<std::size_t>(rows * columns), 3);
    // The same memory as a matrix, and as a transposed one.
    for (const auto& a :
         {kernels::matrix{x.data(), inner}, kernels::matrix{x.data(), 1, rows}})
      for (const auto& b : {kernels::matrix{y.data(), columns},
                            kernels::matrix{y.data(), inner}.transposed()}) {
        const auto expected = plain_product(a, b, rows, inner, columns, c);
        for (const auto* set : kernels::usable()) {
          auto sums = c;
          set->add_product(a, b, rows, inner, columns, sums.data());
          EXPECT_EQ(sums, expected) << rows << ' ' << inner << ' ' << columns;
        }
      }
  }
}

TEST(Kernels, MeansOfRowsAndTheirGradients) {
  const std::vector<std::int64_t> offsets{0, 3, 3, 4, 9};
  const std::vector<std::uint32_t> list{2, 0, 1, 4, 0, 1, 2, 3, 3};
  for (const std::int64_t width : {1, 16, 70, 147}) {
    const auto size = static_cast<std::size_t>(width);
    const auto x = numbers(5 * size, 1), dy = numbers(4 * size, 2);
    std::vector<float> means(4 * size), gradient = numbers(5 * size, 3);
    const auto before = gradient;
    for (std::size_t row = 0; row < 4; ++row)
      for (std::size_t i = 0; i < size; ++i) {
        const auto first = static_cast<std::size_t>(offsets[row]),
                   end = static_cast<std::size_t>(offsets[row + 1]);
        float sum = 0;
        for (auto e = first; e < end; ++e)
          sum += x[list[e] * size + i];
        const auto count =
          static_cast<float>(std::max<std::size_t>(end - first, 1));
        means[row * size + i] = sum / count;
        for (auto e = first; e < end; ++e)
          gradient[list[e] * size + i] += dy[row * size + i] / count;
      }
    for (const auto* set : kernels::usable()) {
      std::vector<float> y(4 * size, nan);
      set->mean_rows(x.data(), width, offsets.data(), list.data(), 4, y.data());
      EXPECT_EQ(y, means) << width;
      auto from = dy, to = before;
      set->add_mean_gradient(from.data(), width, offsets.data(), list.data(), 4,
                             to.data());
      EXPECT_EQ(to, gradient) << width;
    }
  }
}

TEST(Kernels, MasksAreAddressed) {
  const random_numbers source{3, purpose::dropout, {1, 2, 3}};
  std::vector<float> whole(101), part(51);
  kernels::best().dropout_mask(source.key(), 0, 101, 1U << 31, 2, whole.data());
  kernels::best().dropout_mask(source.key(), 50, 51, 1U << 31, 2, part.data());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 50));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const auto both = source.at(i / 2);
    const auto number = static_cast<std::uint32_t>(i % 2 ? both >> 32 : both);
    EXPECT_EQ(whole[i], number < 1U << 31 ? 0 : 2) << i;
  }
}

/// PyTorch's own optimisers are the reference.
template <class Options, class Reference>
void compare_updates(update_rule rule, const Options& options) {
  auto ours =
    tensor({64, 8, 3, 3}, 1).contiguous(at::MemoryFormat::ChannelsLast);
  auto theirs = ours.clone();
  for (auto* x : {&ours, &theirs})
    x->set_requires_grad(true);
  optimizer mine{{ours}};
  Reference reference{{theirs}, options};
  for (std::uint64_t i = 0; i < 5; ++i) {
    // In another order in memory than the weights: it is the value that counts.
    const auto gradient = tensor({64, 8, 3, 3}, 10 + i);
    ours.mutable_grad() = gradient.clone();
    theirs.mutable_grad() = gradient.clone();
    update(mine, rule);
    reference.step();
  }
  EXPECT_TRUE(at::allclose(ours, theirs, 1e-5, 1e-7));
}

TEST(Optimizer, SgdEqualsPyTorchs) {
  for (const bool nesterov : {false, true}) {
    update_rule rule{optimizer_kind::sgd, 0.1, 0.9, 0, 0.01, nesterov};
    compare_updates<torch::optim::SGDOptions, torch::optim::SGD>(
      rule,
      torch::optim::SGDOptions(0.1).momentum(0.9).weight_decay(0.01).nesterov(
        nesterov));
  }
}

TEST(Optimizer, AdamwEqualsPyTorchs) {
  compare_updates<torch::optim::AdamWOptions, torch::optim::AdamW>(
    {optimizer_kind::adamw, 0.01, 0.8, 0.95, 0.1, false},
    torch::optim::AdamWOptions(0.01).betas({0.8, 0.95}).weight_decay(0.1));
}

} // namespace
} // namespace hippo
