#include "hippo/plan/schedule/fair_shares.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hippo {
namespace {

/// Parties that always wait, of these weights.
fair_shares waiting(const std::vector<double>& weights) {
  fair_shares result;
  for (auto weight : weights)
    result.set_waiting(result.add(weight), true);
  return result;
}

/// Gives one device after the other to whose turn it is, for 1 s each.
void use(fair_shares& shares, int times) {
  for (; times > 0; --times) {
    const auto x = *shares.next();
    shares.pass_turns();
    shares.hold(x, 1);
    shares.advance(1);
    shares.hold(x, -1);
  }
}

TEST(FairShares, OneDeviceGoesRoundByWeight) {
  auto x = waiting({1, 2, 3});
  use(x, 600);
  EXPECT_NEAR(x.seconds(0), 100, 1);
  EXPECT_NEAR(x.seconds(1), 200, 1);
  EXPECT_NEAR(x.seconds(2), 300, 1);
}

TEST(FairShares, ManyDevicesAtOnceGoByWeight) {
  auto x = waiting({1, 2, 3});
  for (int i = 0; i < 12; ++i)
    x.hold(*x.next(), 1);
  EXPECT_EQ(x.devices(0), 2);
  EXPECT_EQ(x.devices(1), 4);
  EXPECT_EQ(x.devices(2), 6);
}

TEST(FairShares, WhoIsRemovedLeavesTheOthersAsTheyWere) {
  auto x = waiting({1, 2, 4});
  x.hold(0, 1);
  x.hold(2, 1);
  x.advance(100);
  x.hold(0, -1);
  x.remove(0);
  ASSERT_EQ(x.size(), 2u);
  EXPECT_EQ(x.weight(0), 2);
  EXPECT_EQ(x.seconds(0), 0);
  EXPECT_EQ(x.weight(1), 4);
  EXPECT_EQ(x.seconds(1), 100);
  EXPECT_EQ(x.next(), 0u);
}

TEST(FairShares, WhoWaitsForNothingHasNoTurn) {
  auto x = waiting({1, 1});
  x.set_waiting(0, false);
  EXPECT_EQ(x.next(), 1u);
  x.set_waiting(1, false);
  EXPECT_FALSE(x.next());
  EXPECT_FALSE(fair_shares{}.next());
}

TEST(FairShares, WhatIsHeldCountsWhileItIs) {
  auto x = waiting({1, 4});
  x.hold(0, 0.5);
  x.hold(1, 1);
  x.advance(40);
  EXPECT_EQ(x.seconds(0), 20);
  EXPECT_EQ(x.seconds(1), 40);
  x.hold(0, -0.5);
  x.hold(1, -1);
  // 20 s for a weight of 1, against 10.
  EXPECT_EQ(x.lag(1, 0), 40);
  EXPECT_EQ(x.lag(0, 1), -10);
  EXPECT_EQ(x.next(), 1u);
}

TEST(FairShares, ADeviceCountsForAQuantumMore) {
  auto x = waiting({1, 2});
  x.hold(1, 1);
  EXPECT_EQ(x.lag(0, 1), fair_shares::quantum_seconds / 2);
  EXPECT_EQ(x.lag(1, 0), -fair_shares::quantum_seconds);
}

TEST(FairShares, WhoHasHadNothingSinceItCameIsNew) {
  auto x = waiting({1, 1});
  EXPECT_TRUE(x.is_new(0));
  x.hold(0, 1);
  EXPECT_FALSE(x.is_new(0));
  x.hold(0, -1);
  EXPECT_TRUE(x.is_new(0)) << "for no time";
  x.hold(0, 1);
  x.advance(1);
  x.hold(0, -1);
  EXPECT_FALSE(x.is_new(0));
  EXPECT_EQ(x.head_start(0), 0);
  EXPECT_TRUE(x.is_new(1));
  EXPECT_EQ(x.head_start(1), fair_shares::quantum_seconds
                               - fair_shares::first_quantum_seconds);
  x.set_waiting(0, true); // says so again
  EXPECT_FALSE(x.is_new(0));
  x.set_waiting(0, false);
  x.set_waiting(0, true);
  EXPECT_TRUE(x.is_new(0)) << "it comes again";
}

TEST(FairShares, AWeightCountsFromWhenItIsSet) {
  auto x = waiting({1, 1});
  use(x, 200);
  x.set_weight(1, 3);
  use(x, 400);
  EXPECT_NEAR(x.seconds(0), 200, 1);
  EXPECT_NEAR(x.seconds(1), 400, 1);
}

TEST(FairShares, WhoDidNothingHasSavedUpNothing) {
  auto x = waiting({1, 1, 1});
  x.set_waiting(2, false);
  use(x, 200);
  x.set_waiting(2, true);
  use(x, 300);
  EXPECT_NEAR(x.seconds(0), 200, 1);
  EXPECT_NEAR(x.seconds(2), 100, 1);
}

TEST(FairShares, WhoComesWhileALongLeaseRunsHasSavedUpNothing) {
  auto x = waiting({1});
  x.pass_turns();
  x.hold(0, 1);
  x.set_waiting(0, false);
  x.advance(5000); // nothing is given away in all that time
  const auto late = x.add(1);
  x.set_waiting(late, true);
  x.set_waiting(0, true);
  x.hold(0, -1);
  EXPECT_EQ(x.lag(late, 0), 0);
}

TEST(FairShares, WhoHasAllItCanUseSavesUpNothing) {
  auto x = waiting({1, 1});
  x.hold(0, 1);
  x.set_waiting(0, false); // it has one path, the other many
  x.hold(1, 7);
  for (int i = 0; i < 100; ++i) {
    x.advance(60);
    x.hold(1, -1);
    x.pass_turns();
    x.hold(1, 1);
  }
  x.set_waiting(0, true);
  // What has gathered since the device before was given away.
  EXPECT_LE(x.lag(0, 1), 6 * fair_shares::quantum_seconds);
}

TEST(FairShares, WhoWaitsAllTheTimeLosesNothing) {
  auto x = waiting({1, 1});
  x.hold(0, 1);
  x.advance(500);
  x.pass_turns();
  EXPECT_EQ(x.lag(1, 0), 500 + fair_shares::quantum_seconds);
  x.set_waiting(1, true); // says so again
  EXPECT_EQ(x.lag(1, 0), 500 + fair_shares::quantum_seconds);
}

TEST(FairShares, WhenAllHaveBeenAtRestAllBeginAnew) {
  auto x = waiting({1, 1});
  x.set_waiting(1, false);
  x.hold(0, 1);
  x.advance(1000);
  x.hold(0, -1);
  x.set_waiting(0, false);
  x.set_waiting(1, true);
  x.set_waiting(0, true);
  EXPECT_EQ(x.lag(0, 1), 0);
}

TEST(FairShares, PartsOfADeviceLeaveNothing) {
  auto x = waiting({1, 1});
  for (auto part : {0.1, 0.2, 0.7})
    x.hold(0, part);
  for (auto part : {0.7, 0.2, 0.1})
    x.hold(0, -part);
  x.set_waiting(0, false);
  x.hold(1, 1);
  x.advance(100);
  x.set_waiting(0, true); // as one who has held nothing
  x.hold(1, -1);
  EXPECT_NEAR(x.lag(0, 1), 0, 1e-9);
}

} // namespace
} // namespace hippo
