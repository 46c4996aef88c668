#include "hippo/base/portable_math.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace hippo {
namespace {

TEST(PortableMath, IsAsNearAsALibrarysFunctions) {
  for (double x = -740; x < 709; x += 0.37)
    EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, x < -708 ? 1e-2 : 1e-15) << x;
  for (double x = 1e-300; x < 1e300; x *= 1.37)
    EXPECT_NEAR(portable_log(x), std::log(x), 1e-15 * std::abs(std::log(x)))
      << x;
  EXPECT_EQ(portable_log(1), 0);
  EXPECT_EQ(portable_exp(0), 1);
  EXPECT_EQ(portable_exp(1000), std::numeric_limits<double>::infinity());
  EXPECT_EQ(portable_exp(-1000), 0);
}

// Of these bits every machine has the same.
TEST(PortableMath, HasTheseBits) {
  EXPECT_EQ(portable_exp(1), 0x1.5bf0a8b14576ap+1);
  EXPECT_EQ(portable_exp(-3.3), 0x1.2e259bb85be84p-5);
  EXPECT_EQ(portable_log(10), 0x1.26bb1bbb55516p+1);
  EXPECT_EQ(normal_quantile(0.975), 0x1.f59e7a84cdc41p+0);
  EXPECT_EQ(normal_quantile(0.0001), -0x1.d3104c8358d71p+1);
}

TEST(PortableMath, AQuantileTurnsTheDistributionAround) {
  const auto below = [](double x) { return std::erfc(-x / std::sqrt(2)) / 2; };
  const auto tail = below(-deviations_max);
  double last = -deviations_max;
  EXPECT_EQ(normal_quantile(0), -deviations_max);
  EXPECT_EQ(normal_quantile(1), deviations_max);
  EXPECT_EQ(normal_quantile(0.5), 0);
  for (int i = 1; i < 4096; ++i) {
    const auto share = i / 4096.0;
    const auto x = normal_quantile(share);
    EXPECT_GT(x, last);
    last = x;
    EXPECT_EQ(normal_quantile(1 - share), -x);
    EXPECT_NEAR((below(x) - tail) / (1 - 2 * tail), share, 1e-15);
    EXPECT_NEAR(normal_share(x), share, 1e-15);
  }
  EXPECT_EQ(normal_share(-5), 0);
  EXPECT_EQ(normal_share(5), 1);
}

} // namespace
} // namespace hippo
