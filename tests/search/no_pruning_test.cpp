#include "hippo/search/algorithm/no_pruning.hpp"

#include <gtest/gtest.h>

#include "search/trainers.hpp"

namespace hippo {
namespace {

using actions = std::vector<action>;

TEST(FullTraining, TrainsEveryTrialToTheEnd) {
  no_pruning x{3, {10}};
  EXPECT_EQ(start(x),
            (actions{advance{0, 10}, advance{1, 10}, advance{2, 10}}));
  EXPECT_FALSE(x.done());
  EXPECT_EQ(x.on_result(0, 5, 0.5), actions{});
  EXPECT_EQ(x.on_result(0, 10, 0.5), actions{});
  EXPECT_EQ(x.on_result(0, 10, 0.5), actions{}); // told twice, counted once
  EXPECT_EQ(x.on_failure(1), actions{});
  EXPECT_EQ(x.on_failure(1), actions{});
  EXPECT_FALSE(x.done());
  EXPECT_EQ(x.on_result(2, 10, 0.5), actions{});
  EXPECT_TRUE(x.done());
}

TEST(FullTraining, KeepsSoManyInFlight) {
  no_pruning x{6, {10}, 2};
  EXPECT_EQ(start(x), (actions{advance{0, 10}, advance{1, 10}}));
  EXPECT_EQ(x.on_failure(4), actions{}); // before its turn
  EXPECT_EQ(x.on_failure(1), (actions{advance{2, 10}}));
  EXPECT_EQ(x.on_result(2, 5, 1), actions{});
  EXPECT_EQ(x.on_result(2, 10, 1), (actions{advance{3, 10}}));
  EXPECT_EQ(x.on_failure(0), (actions{advance{5, 10}}));
  EXPECT_EQ(x.on_failure(0), actions{});
  EXPECT_FALSE(x.done());
  x.on_failure(3);
  x.on_failure(5);
  EXPECT_TRUE(x.done());
}

TEST(FullTraining, StartsWhatIsOpenOnly) {
  no_pruning x{5, {10}};
  EXPECT_EQ(x.open(2), (actions{advance{0, 10}, advance{1, 10}}));
  x.on_result(0, 10, 1);
  x.on_result(1, 10, 1);
  EXPECT_FALSE(x.done()); // three are to come
  EXPECT_EQ(x.open(3), (actions{advance{2, 10}}));
  EXPECT_EQ(x.open(5), (actions{advance{3, 10}, advance{4, 10}}));
}

TEST(FullTraining, EveryTrialGetsThere) {
  no_pruning x{20, {10}};
  trainers all{x, {1}, 2};
  all.run();
  EXPECT_EQ(all.most_running(), 20u);
  for (const auto& [trial, step] : all.reached())
    EXPECT_EQ(step, 10u);
}

} // namespace
} // namespace hippo
