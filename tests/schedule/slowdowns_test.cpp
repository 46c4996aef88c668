#include "hippo/plan/schedule/slowdowns.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace hippo {
namespace {

/// Measures what takes so many seconds with a number of leases, often enough.
void measure(slowdowns& x, std::uint32_t leases, double seconds,
             const std::string& key = "a", std::uint64_t times = 3) {
  for (std::uint64_t i = 0; i < times; ++i)
    x.learn("gpu", leases, key, 10, 10 * seconds);
}

TEST(Slowdowns, NothingIsKnownAtFirst) {
  slowdowns x;
  EXPECT_EQ(x.at("gpu", 5), 1);
  EXPECT_EQ(x.worth("gpu", 16), 16u);
  measure(x, 1, 2);
  EXPECT_EQ(x.at("gpu", 1), 1);
  EXPECT_EQ(x.at("gpu", 5), 1);
  EXPECT_EQ(x.worth("gpu", 16), 16u);
  measure(x, 4, 7, "a", 2); // may be by chance
  EXPECT_EQ(x.at("gpu", 4), 1);
  measure(x, 4, 7, "a", 1);
  EXPECT_NEAR(x.at("gpu", 4), 3.5, 1e-9);
  EXPECT_EQ(x.at("other", 4), 1);
}

TEST(Slowdowns, CoverWhatWasMeasured) {
  slowdowns x;
  EXPECT_TRUE(x.covers("gpu", 5));
  measure(x, 1, 1);
  EXPECT_TRUE(x.covers("gpu", 1.4));
  EXPECT_FALSE(x.covers("gpu", 2));
  measure(x, 4, 2);
  EXPECT_TRUE(x.covers("gpu", 2));
  EXPECT_TRUE(x.covers("gpu", 4));
  EXPECT_FALSE(x.covers("gpu", 5));
}

TEST(Slowdowns, AreInterpolatedAndKeptBeyondWhatWasMeasured) {
  slowdowns x;
  measure(x, 1, 1);
  measure(x, 4, 2);
  EXPECT_EQ(x.at("gpu", 0.5), 1);
  EXPECT_EQ(x.at("gpu", 1), 1);
  EXPECT_NEAR(x.at("gpu", 2), std::sqrt(2), 1e-9);
  EXPECT_NEAR(x.at("gpu", 4), 2, 1e-9);
  EXPECT_NEAR(x.at("gpu", 9), 2, 1e-9);
}

TEST(Slowdowns, StepsOfOtherKeysShowThemToo) {
  slowdowns x;
  measure(x, 1, 1, "narrow");
  measure(x, 1, 8, "wide");
  measure(x, 2, 12, "wide");
  measure(x, 4, 2, "narrow");
  EXPECT_NEAR(x.at("gpu", 2), 1.5, 1e-9);
  EXPECT_NEAR(x.at("gpu", 4), 2, 1e-9);
}

TEST(Slowdowns, NeverFallWithMoreLeases) {
  slowdowns x;
  measure(x, 1, 1);
  measure(x, 2, 1.5);
  measure(x, 3, 1.2);
  EXPECT_NEAR(x.at("gpu", 3), 1.5, 1e-9);
  slowdowns y;
  measure(y, 1, 1);
  measure(y, 2, 0.9);
  EXPECT_EQ(y.at("gpu", 2), 1);
}

/// Every number of leases on every key is measured at random, with noise.
TEST(Slowdowns, AreFoundAgainByBruteForce) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng{seed};
    std::uniform_real_distribution<double> part{0, 1};
    const auto lanes = static_cast<std::uint32_t>(2 + rng() % 12);
    std::vector<double> truth{1, 1}; // by the number of leases
    while (truth.size() <= lanes)
      truth.push_back(
        truth.back()
        * (1 + part(rng) / static_cast<double>(truth.size())));
    std::map<std::string, double> alone;
    for (int i = 0; i < 3; ++i)
      alone["key" + std::to_string(i)] = std::exp(6 * part(rng) - 3);
    slowdowns x;
    for (int i = 0; i < 4000; ++i) {
      const auto leases = static_cast<std::uint32_t>(1 + rng() % lanes);
      const auto key = std::next(alone.begin(), static_cast<long>(rng() % 3));
      x.learn("gpu", leases, key->first, 10,
              10 * key->second * truth[leases]
                * (1 + 0.01 * (part(rng) - 0.5)));
    }
    for (std::uint32_t leases = 1; leases <= lanes; ++leases)
      EXPECT_NEAR(x.at("gpu", leases) / truth[leases], 1, 0.02) << leases;
    // The fewest leases whose rates together are near the most.
    double best = 0;
    for (std::uint32_t leases = 1; leases <= lanes; ++leases)
      best = std::max(best, leases / x.at("gpu", leases));
    std::uint32_t want = 1;
    while (want / x.at("gpu", want) * slowdowns::gain_min < best)
      ++want;
    EXPECT_EQ(x.worth("gpu", lanes), want);
    for (std::uint32_t fewer = 1; fewer < want; ++fewer)
      EXPECT_LE(x.worth("gpu", fewer), fewer);
  }
}

TEST(Slowdowns, MoreThanWasMeasuredIsWorthItWhileRatesGrow) {
  slowdowns x;
  measure(x, 1, 1);
  measure(x, 2, 1.2);
  EXPECT_EQ(x.worth("gpu", 16), 16u);
  measure(x, 3, 1.9); // 1.58 after 1.67
  EXPECT_EQ(x.worth("gpu", 16), 2u);
  EXPECT_EQ(x.worth("gpu", 1), 1u);
}

TEST(Slowdowns, WhatWasNotWorthItIsTriedAgainAfterAWhile) {
  slowdowns x;
  measure(x, 1, 1);
  measure(x, 2, 3);
  EXPECT_EQ(x.worth("gpu", 4), 1u);
  measure(x, 1, 1, "a", slowdowns::forgotten_after - 1);
  EXPECT_EQ(x.worth("gpu", 4), 1u);
  measure(x, 1, 1, "a", 2);
  EXPECT_EQ(x.worth("gpu", 4), 4u);
  measure(x, 2, 3);
  EXPECT_EQ(x.worth("gpu", 4), 1u);
}

} // namespace
} // namespace hippo
