#include "hippo/search/surrogate/parzen_estimator.hpp"

#include <cmath>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "search/studies.hpp"

namespace hippo {
namespace {

constexpr auto high = space_leaf::high_end;

/// Calls `use` with the only leaf of a space.
template <class Use>
void with_leaf(const std::string& space, Use use) {
  const auto x = study(space, "random", "budget: {trials: 1}");
  int leaves = 0;
  x.space.walk([&](const space_leaf& leaf) {
    ++leaves;
    use(leaf);
    return std::uint64_t{0};
  });
  EXPECT_EQ(leaves, 1);
}

TEST(AddressedDraws, FollowFromTheirAddress) {
  counter_rng x{{1, 2}, "a"}, again{{1, 2}, "a"}, y{{2, 1}, "a"},
    z{{1, 2}, "b"};
  const auto first = x.next();
  EXPECT_EQ(again.next(), first);
  EXPECT_NE(x.next(), first);
  EXPECT_NE(y.next(), first);
  EXPECT_NE(z.next(), first);
  double sum = 0;
  std::vector<int> counts(5);
  for (int i = 0; i < 10000; ++i) {
    const auto share = x.unit();
    ASSERT_GE(share, 0);
    ASSERT_LT(share, 1);
    sum += share;
    ++counts[x.below(5)];
  }
  EXPECT_NEAR(sum, 5000, 100);
  for (auto count : counts)
    EXPECT_NEAR(count, 2000, 150);
  EXPECT_LT(x.below(~std::uint64_t{0}), ~std::uint64_t{0});
}

TEST(LeafDensity, OfARangeIsADensity) {
  with_leaf(endless, [](const space_leaf& leaf) {
    for (const auto& taken : std::vector<std::vector<std::uint64_t>>{
           {}, {high / 4}, {0, high, high / 3}, {5, 5, 5, high / 2}}) {
      parzen_estimator x{leaf, taken};
      double sum = 0;
      constexpr int cells = 4000;
      for (int i = 0; i < cells; ++i)
        sum += std::exp(x.log_of(high / cells * static_cast<unsigned>(i)
                                 + high / cells / 2))
               / cells;
      EXPECT_NEAR(sum, 1, 1e-3);
    }
  });
}

TEST(LeafDensity, OfPointsIsAProbability) {
  with_leaf("{x: {log_uniform: [0.001, 1], points: 7}}",
            [](const space_leaf& leaf) {
              EXPECT_TRUE(leaf.is_logarithmic());
              parzen_estimator x{leaf, {6, 6, 6, 5}};
              double sum = 0;
              for (std::uint64_t i = 0; i < 7; ++i)
                sum += std::exp(x.log_of(i));
              EXPECT_NEAR(sum, 1, 1e-9);
              EXPECT_GT(x.log_of(6), x.log_of(5));
              EXPECT_GT(x.log_of(5), x.log_of(4));
              EXPECT_GT(x.log_of(4), x.log_of(0));
            });
}

TEST(LeafDensity, KernelsAreAsWideAsTheFartherNeighbourIsAway) {
  with_leaf(endless, [](const space_leaf& leaf) {
    // Around the ends: as wide as they are away from the middle of the range.
    // Around 1/4 alone: that would be narrower than 1 / (n + 2).
    parzen_estimator x{leaf, {0, high}}, y{leaf, {high / 4}};
    const auto normal = [](double z) { return std::exp(-z * z / 2); };
    const auto below = [](double z) {
      return std::erfc(-z / std::sqrt(2)) / 2;
    };
    const auto root = std::sqrt(2 * std::acos(-1.0));
    const auto kernel = [&](double at, double middle, double width) {
      return normal((at - middle) / width) / root / width
             / (below((1 - middle) / width) - below(-middle / width));
    };
    for (const auto at : {0.0, 0.25, 0.75}) {
      const auto decision =
        static_cast<std::uint64_t>(at * static_cast<double>(high));
      EXPECT_NEAR(std::exp(x.log_of(decision)),
                  (kernel(at, 0, 0.5) + kernel(at, 1, 0.5) + kernel(at, 0.5, 1))
                    / 3,
                  1e-9)
        << at;
      EXPECT_NEAR(std::exp(y.log_of(decision)),
                  (kernel(at, 0.25, 1.0 / 3) + kernel(at, 0.5, 1)) / 2, 1e-9)
        << at;
    }
  });
}

TEST(LeafDensity, OfAChoiceCountsAndAddsOne) {
  with_leaf("{x: {choice: [1, 2, 5]}}", [](const space_leaf& leaf) {
    parzen_estimator x{leaf, {1, 1, 2}};
    EXPECT_DOUBLE_EQ(std::exp(x.log_of(0)), 1.0 / 6);
    EXPECT_DOUBLE_EQ(std::exp(x.log_of(1)), 3.0 / 6);
    EXPECT_DOUBLE_EQ(std::exp(x.log_of(2)), 2.0 / 6);
  });
}

TEST(LeafDensity, DrawsAsOftenAsItSays) {
  for (const auto* space :
       {"{x: {choice: [1, 2, 5, 6]}}", "{x: {uniform: [1, 2], points: 4}}"})
    with_leaf(space, [](const space_leaf& leaf) {
      parzen_estimator x{leaf, {0, 0, 2, 0}};
      std::map<std::uint64_t, int> counts;
      for (std::uint64_t i = 0; i < 20000; ++i) {
        counter_rng draws{{i}};
        ++counts[x.draw(draws)];
      }
      for (std::uint64_t i = 0; i < 4; ++i)
        EXPECT_NEAR(counts[i], 20000 * std::exp(x.log_of(i)), 400) << i;
    });
}

TEST(LeafDensity, DrawsOnTheRange) {
  with_leaf(endless, [](const space_leaf& leaf) {
    parzen_estimator x{leaf, {0, high / 10}};
    int low = 0;
    for (std::uint64_t i = 0; i < 20000; ++i) {
      counter_rng draws{{i}};
      const auto found = x.draw(draws);
      ASSERT_LE(found, high);
      low += found <= high / 5;
    }
    double expected = 0;
    for (std::uint64_t i = 0; i < 2000; ++i)
      expected += std::exp(x.log_of(high / 10000 * i + high / 20000)) / 10000;
    EXPECT_NEAR(low, 20000 * expected, 300);
  });
}

} // namespace
} // namespace hippo
