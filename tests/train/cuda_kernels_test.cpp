// What threads of a GPU would compute, computed on the CPU, and how the library
// is found. With a GPU the kernels themselves are tested by who trains on it.

#include "hippo/train/torch/cuda_kernels.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "hippo/train/torch/cuda/element_updates.hpp"
#include "hippo/train/torch/kernels.hpp"
#include "hippo/train/torch/random.hpp"

namespace hippo {
namespace {

using floats = std::vector<float>;

floats numbers(std::size_t size, std::uint64_t seed) {
  random_numbers from{seed, purpose::weights, {}};
  floats result;
  for (std::size_t i = 0; i < size; ++i)
    result.push_back(static_cast<float>(2 * from.uniform() - 1));
  return result;
}

std::vector<std::uint32_t> bits_of(const floats& x) {
  std::vector<std::uint32_t> result;
  for (auto y : x)
    result.push_back(std::bit_cast<std::uint32_t>(y));
  return result;
}

/// Two weights of several lanes with their gradients and moments.
struct joined_weights {
  static constexpr std::int32_t lanes = 4;
  std::vector<std::int64_t> sizes{37, 5};
  std::vector<floats> weight, gradient, first, second;

  joined_weights() {
    for (std::uint64_t i = 0; i < sizes.size(); ++i) {
      const auto n = static_cast<std::size_t>(lanes * sizes[i]);
      weight.push_back(numbers(n, 4 * i));
      gradient.push_back(numbers(n, 4 * i + 1));
      first.push_back(numbers(n, 4 * i + 2));
      second.push_back(numbers(n, 4 * i + 3));
      for (auto& x : second.back())
        x = std::abs(x);
    }
  }

  /// As a launch does, of so many threads for each weight and lane.
  void update(const std::vector<hippo_cuda_rule>& rules, std::int64_t threads) {
    const auto pointers = [](std::vector<floats>& xs) {
      std::vector<float*> result;
      for (auto& x : xs)
        result.push_back(x.data());
      return result;
    };
    const auto w = pointers(weight), g = pointers(gradient),
               m = pointers(first), v = pointers(second);
    const hippo_cuda_weights all{w.data(),     g.data(), m.data(), v.data(),
                                 sizes.data(), 37,       2,        lanes};
    for (std::int32_t i = 0; i < all.count; ++i)
      for (std::int32_t lane = 0; lane < lanes; ++lane)
        for (std::int64_t thread = 0; thread < threads; ++thread)
          cuda::update_lane(all, rules[static_cast<std::size_t>(lane)], i, lane,
                            {thread, threads});
  }

  /// Calls `f(weight, gradient, first, second, size)` for a lane's numbers.
  template <class F>
  void of_lane(std::int64_t lane, const F& f) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto at = lane * sizes[i];
      f(weight[i].data() + at, gradient[i].data() + at, first[i].data() + at,
        second[i].data() + at, sizes[i]);
    }
  }
};

TEST(CudaKernels, LanesAreUpdatedAsEachAloneOnTheCpu) {
  const kernels::adamw_factors factors{0.999F, 0.9F,  0.99F,
                                       0.013F, 0.31F, 1e-8F};
  const auto resting = [] {
    auto x = sgd_rule(1, 1, 1, false);
    x.active = 0;
    return x;
  }();
  joined_weights ours, theirs;
  const auto before = ours;
  ours.update({sgd_rule(0.1F, 0.9F, 0.01F, true), adamw_rule(factors), resting,
               sgd_rule(0.3F, 0.7F, 0, false)},
              16);
  const auto& cpu = kernels::best();
  theirs.of_lane(0, [&](float* w, float* g, float* m, float*, std::int64_t n) {
    cpu.sgd(w, g, m, n, 0.1F, 0.9F, 0.01F, true);
  });
  theirs.of_lane(1, [&](float* w, float* g, float* m, float* v,
                        std::int64_t n) { cpu.adamw(w, g, m, v, n, factors); });
  theirs.of_lane(3, [&](float* w, float* g, float* m, float*, std::int64_t n) {
    cpu.sgd(w, g, m, n, 0.3F, 0.7F, 0, false);
  });
  for (std::size_t i = 0; i < ours.sizes.size(); ++i) {
    EXPECT_EQ(bits_of(ours.weight[i]), bits_of(theirs.weight[i])) << i;
    EXPECT_EQ(bits_of(ours.first[i]), bits_of(theirs.first[i])) << i;
    EXPECT_EQ(bits_of(ours.second[i]), bits_of(theirs.second[i])) << i;
    EXPECT_NE(ours.weight[i], before.weight[i]) << i;
  }
}

TEST(CudaKernels, ManyUpdatesStayTheSame) {
  joined_weights ours, theirs;
  for (int count = 1; count <= 50; ++count) {
    const auto root = static_cast<float>(std::sqrt(1 - std::pow(0.99, count)));
    const kernels::adamw_factors factors{0.9999F, 0.9F, 0.99F,
                                         0.01F,   root, 1e-8F};
    ours.update(std::vector(joined_weights::lanes, adamw_rule(factors)), 7);
    for (std::int64_t lane = 0; lane < joined_weights::lanes; ++lane)
      theirs.of_lane(
        lane, [&](float* w, float* g, float* m, float* v, std::int64_t n) {
          kernels::best().adamw(w, g, m, v, n, factors);
        });
  }
  EXPECT_EQ(bits_of(ours.weight[0]), bits_of(theirs.weight[0]));
}

TEST(CudaKernels, MasksAreThoseOfTheCpu) {
  for (const std::int64_t size : {1, 2, 101, 256}) {
    const auto n = static_cast<std::size_t>(size);
    floats ours(n, 7), theirs(n, 8);
    constexpr std::uint64_t key = 0xfeedfacefeedface;
    constexpr std::int64_t first = 50, threads = 16;
    for (std::int64_t thread = 0; thread < threads; ++thread)
      cuda::make_mask({key, 1U << 30, 1.25F}, first, size, ours.data(),
                      {thread, threads});
    kernels::best().dropout_mask(key, first, size, 1U << 30, 1.25F,
                                 theirs.data());
    EXPECT_EQ(ours, theirs) << size;
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
