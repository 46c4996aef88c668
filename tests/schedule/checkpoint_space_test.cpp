// How the space for checkpoints is divided among workloads.

#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "hippo/plan/schedule/collect.hpp"

namespace hippo {
namespace {

using space = std::vector<std::uint64_t>;

TEST(CheckpointSpace, WhatIsFreeIsForTheLiveOnesInEqualParts) {
  EXPECT_EQ(divide_checkpoint_space({{10, true}, {20, false}, {30, true}}, 100,
                                    0),
            (space{30, 20, 50}));
}

TEST(CheckpointSpace, TheFirstThatAreNotLiveGiveUpTheirsFirst) {
  EXPECT_EQ(divide_checkpoint_space(
              {{10, false}, {20, false}, {30, true}, {40, false}}, 90, 5),
            (space{0, 15, 35, 40}));
}

TEST(CheckpointSpace, TooManyLiveOnesGiveUpTheSamePart) {
  EXPECT_EQ(divide_checkpoint_space({{100, true}, {10, false}, {300, true}},
                                    200, 20),
            (space{50, 0, 150}));
}

TEST(CheckpointSpace, NobodyIsAsNothing) {
  EXPECT_EQ(divide_checkpoint_space({}, 10, 1), space{});
  EXPECT_EQ(divide_checkpoint_space({{0, true}}, 0, 0), space{0});
}

TEST(CheckpointSpace, HoldsForAllInput) {
  std::mt19937_64 rng{1};
  for (int i = 0; i < 10'000; ++i) {
    std::vector<checkpoint_user> users(rng() % 6);
    for (auto& x : users)
      x = {rng() % 100, rng() % 2 == 0};
    const auto bytes_max = rng() % 400;
    const auto reserve = rng() % (bytes_max + 1);
    const auto result = divide_checkpoint_space(users, bytes_max, reserve);
    ASSERT_EQ(result.size(), users.size());
    std::uint64_t live_bytes = 0, others = 0, sum = 0, live = 0;
    for (std::size_t k = 0; k < users.size(); ++k) {
      sum += result[k];
      (users[k].live ? live_bytes : others)
        += users[k].live ? users[k].bytes : result[k];
      live += users[k].live;
    }
    EXPECT_LE(sum, bytes_max);
    EXPECT_TRUE(others == 0 || others + live_bytes + reserve <= bytes_max);
    if (live > 0) { // all of it is used, but for what cannot be divided
      EXPECT_GT(sum + users.size(), bytes_max);
    }
    bool all_before_gave_up = true;
    for (std::size_t k = 0; k < users.size(); ++k) {
      if (users[k].live) {
        EXPECT_TRUE(live_bytes > bytes_max || result[k] >= users[k].bytes);
        continue;
      }
      EXPECT_LE(result[k], users[k].bytes);
      EXPECT_TRUE(result[k] == users[k].bytes || all_before_gave_up);
      all_before_gave_up = all_before_gave_up && result[k] == 0;
    }
  }
}

} // namespace
} // namespace hippo
