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

TEST(FullTraining, GoesOnFromTheFormerEnd) {
  no_pruning x{4, {10}, 2};
  start(x);
  x.on_result(0, 10, 1);
  x.on_failure(1);
  x.on_result(2, 10, 1); // then 3 is on its way
  EXPECT_EQ(x.lengthen(15), (std::vector<trial_no>{0, 2}));
  EXPECT_EQ(x.rungs(), (std::vector<step_t>{10, 15}));
  EXPECT_EQ(x.to_come(), (expected_work{10, 5}));
  // One more may be in flight.
  EXPECT_EQ(x.go_on(), (actions{advance{3, 15}, advance{0, 15}}));
  EXPECT_EQ(x.on_result(0, 15, 1), (actions{advance{2, 15}}));
  EXPECT_TRUE(x.take_back(1)); // it was sent to the former end
  EXPECT_EQ(x.on_result(1, 10, 1), (actions{advance{1, 15}}));
  EXPECT_EQ(x.on_result(3, 10, 1), (actions{advance{3, 15}}));
  x.on_result(3, 15, 1);
  x.on_result(1, 15, 1);
  EXPECT_FALSE(x.done());
  EXPECT_EQ(x.on_result(2, 10, 1), (actions{advance{2, 15}}));
  x.on_result(2, 15, 1);
  EXPECT_TRUE(x.done());
  EXPECT_EQ(x.lengthen(16), (std::vector<trial_no>{0, 1, 2, 3}));
  EXPECT_FALSE(x.done());
  EXPECT_TRUE(x.go_on().size() == 2 && x.rungs().size() == 3);
}

TEST(FullTraining, ATrialThatFailsAtTheFormerEndIsNotInFlight) {
  no_pruning x{3, {10}, 1};
  start(x);
  for (trial_no trial = 0; trial < 3; ++trial)
    x.on_result(trial, 10, 1);
  x.lengthen(15);
  EXPECT_EQ(x.go_on(), (actions{advance{0, 15}}));
  EXPECT_EQ(x.on_failure(1), actions{});
  EXPECT_EQ(x.on_result(0, 15, 1), (actions{advance{2, 15}}));
  x.on_result(2, 15, 1);
  EXPECT_TRUE(x.done());
}

TEST(FullTraining, SeveralLengthsStayAsTheyAre) {
  EXPECT_EQ((no_pruning{3, {10}}).length_max(), step_limit);
  EXPECT_EQ((no_pruning{3, {10, 20}}).length_max(), 0u);
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
