#include "hippo/train/torch/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace hippo {

TEST(RandomNumbers, NeverChange) {
  // Recorded: another value here means that every result changes.
  random_numbers x{1, purpose::order, {5}};
  const auto first = x.next();
  EXPECT_EQ(first, x.at(0));
  EXPECT_EQ(first, 0x6ab940b5e3412b0d);
}

TEST(RandomNumbers, AddressesDiffer) {
  std::set<std::uint64_t> seen;
  std::size_t asked = 0;
  const auto look = [&](random_numbers x) {
    ++asked;
    seen.insert(x.next());
  };
  for (auto use :
       {purpose::weights, purpose::order, purpose::augment, purpose::dropout})
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      for (std::uint64_t a = 0; a < 20; ++a) {
        look({seed, use, {a}});
        for (std::uint64_t b = 0; b < 20; ++b)
          look({seed, use, {a, b}});
      }
  EXPECT_EQ(seen.size(), asked);
}

TEST(RandomNumbers, AreSpreadEvenly) {
  constexpr int n = 100000;
  random_numbers x{3, purpose::augment, {1, 2}};
  std::vector<int> counts(5);
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    ++counts.at(x.below(5));
    const auto u = x.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
  }
  // Within five standard deviations.
  for (auto count : counts)
    EXPECT_NEAR(count, n / 5, 5 * std::sqrt(n * 0.2 * 0.8));
  EXPECT_NEAR(sum / n, 0.5, 5 * std::sqrt(1.0 / 12 / n));
}

} // namespace hippo
