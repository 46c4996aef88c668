#include "hippo/search/sampler/permutation.hpp"

#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace hippo {
namespace {

TEST(Permutation, IsABijectionForEverySmallSize) {
  for (std::uint64_t size = 1; size <= 500; ++size)
    for (std::uint64_t seed : {0ull, 1ull, ~0ull}) {
      const permutation order{size, seed};
      std::vector<bool> seen(size, false);
      for (std::uint64_t i = 0; i < size; ++i) {
        const auto to = order(i);
        ASSERT_LT(to, size);
        ASSERT_FALSE(seen[to]) << size << ": " << to << " twice";
        seen[to] = true;
      }
    }
}

TEST(Permutation, GivesNoDuplicatesInBigSizes) {
  for (const auto size : {std::uint64_t{1} << 20, (std::uint64_t{1} << 20) + 1,
                          std::uint64_t{1'000'000'007}, std::uint64_t{1} << 62,
                          (std::uint64_t{1} << 62) + 1,
                          std::uint64_t{1} << 63}) {
    const permutation order{size, 7};
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < 20000; ++i) {
      const auto to = order(i * (size / 20000));
      ASSERT_LT(to, size);
      ASSERT_TRUE(seen.insert(to).second);
    }
  }
}

TEST(Permutation, DependsOnTheSeed) {
  const permutation x{1000, 1}, y{1000, 2}, again{1000, 1};
  int same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    same += x(i) == y(i);
    EXPECT_EQ(x(i), again(i));
  }
  EXPECT_LT(same, 20);
}

TEST(Permutation, EveryPlaceIsEquallyLikely) {
  // Where index 0 of 6 goes, over many seeds: 2,000 each, give or take.
  std::vector<int> counts(6);
  for (std::uint64_t seed = 0; seed < 12000; ++seed)
    ++counts[permutation{6, seed}(0)];
  for (auto count : counts)
    EXPECT_NEAR(count, 2000, 200);
}

TEST(Permutation, IsTheSameOnEveryMachine) {
  const permutation order{12, 1};
  std::vector<std::uint64_t> found;
  for (std::uint64_t i = 0; i < 12; ++i)
    found.push_back(order(i));
  EXPECT_EQ(found, (std::vector<std::uint64_t>{4, 8, 1, 7, 10, 2, 3, 6, 11, 0,
                                               5, 9}));
}

} // namespace
} // namespace hippo
