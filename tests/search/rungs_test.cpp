#include "hippo/search/algorithm/rungs.hpp"

#include <gtest/gtest.h>

namespace hippo {
namespace {

using steps = std::vector<step_t>;

TEST(Rungs, GrowByEtaAndEndInMax) {
  EXPECT_EQ(rung_steps(1, 81, 3), (steps{1, 3, 9, 27, 81}));
  EXPECT_EQ(rung_steps(1, 243, 3), (steps{1, 3, 9, 27, 81, 243}));
  EXPECT_EQ(rung_steps(3, 27, 3), (steps{3, 9, 27}));
  EXPECT_EQ(rung_steps(15, 120, 4), (steps{15, 60, 120}));
  EXPECT_EQ(rung_steps(1, 16, 4), (steps{1, 4, 16}));
  EXPECT_EQ(rung_steps(1, 12, 3), (steps{1, 3, 9, 12}));
  EXPECT_EQ(rung_steps(5, 5, 2), (steps{5}));
  EXPECT_EQ(rung_steps(5, 6, 2), (steps{5, 6}));
}

TEST(Rungs, PowersAreExactForEveryEta) {
  for (std::uint64_t eta = 2; eta <= 12; ++eta) {
    step_t max = 1;
    for (std::size_t k = 0; max < (1ull << 53) / eta; ++k, max *= eta) {
      ASSERT_EQ(rung_steps(1, max, eta).size(), k + 1) << max;
      ASSERT_EQ(rung_steps(1, max + 1, eta).size(), k + 2) << max;
    }
  }
}

TEST(Rungs, HugeStepsDoNotOverflow) {
  const auto most = ~step_t{0};
  EXPECT_EQ(rung_steps(1, most, 1ull << 63).size(), 3u);
  EXPECT_EQ(rung_steps(most - 1, most, 2), (steps{most - 1, most}));
}

} // namespace
} // namespace hippo
