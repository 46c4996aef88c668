#include "hippo/service/merge/save_interval.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace hippo {
namespace {

constexpr double hour = 3600;

TEST(SaveInterval, IsYoungs) {
  EXPECT_DOUBLE_EQ(save_interval(1, hour, 120), std::sqrt(2 * hour));
  EXPECT_DOUBLE_EQ(save_interval(0.5, hour, 120), std::sqrt(hour));
}

TEST(SaveInterval, IsNeitherTooShortNorTooLong) {
  EXPECT_EQ(save_interval(0.001, hour, 120), save_interval_min);
  EXPECT_EQ(save_interval(60, 1000 * hour, 120), save_interval_max);
}

TEST(SaveInterval, IsWhatItIsWhereNothingIsKnown) {
  EXPECT_EQ(save_interval(0, hour, 77), 77);
  EXPECT_EQ(save_interval(1, 0, 77), 77);
  EXPECT_EQ(save_interval(NAN, hour, 77), 77);
}

// Of all intervals, none costs less to first order: what is spent on saving,
// and half an interval for each interruption.
TEST(SaveInterval, CostsLeast) {
  for (const double save : {2.0, 10.0, 30.0})
    for (const double between : {0.5 * hour, hour, 12.5 * hour}) {
      const auto cost = [&](double x) { return save / x + x / 2 / between; };
      const auto chosen = save_interval(save, between, 120);
      for (double x = save_interval_min; x < save_interval_max; x *= 1.1)
        EXPECT_LE(cost(chosen), cost(x) * (1 + 1e-12)) << save << ' ' << x;
    }
}

} // namespace
} // namespace hippo
