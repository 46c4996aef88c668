#include "hippo/schedule/time_estimates.hpp"

#include <gtest/gtest.h>

namespace hippo {
namespace {

TEST(TimeEstimates, LearnsByConfigurationAndFallsBackToTheMean) {
  time_estimates x{{"batch_size"}};
  const configuration small{{"batch_size", form::constant(32)},
                            {"lr", form::constant(.1)}};
  const auto key = x.speed_key(small, 0);
  EXPECT_EQ(key, "32;"); // the learning rate makes no step slower
  EXPECT_EQ(x.step_seconds(key), 1);
  x.learn_step(key, 2, 8);
  EXPECT_EQ(x.step_seconds(key), 4);
  EXPECT_EQ(x.step_seconds("64;"), 4);
  x.learn_step("64;", 2, 4);
  EXPECT_EQ(x.step_seconds("64;"), 2);
  EXPECT_EQ(x.step_seconds(key), 4);
}

TEST(TimeEstimates, AnnouncesWhatMovesMuch) {
  time_estimates x;
  x.learn_step("", 1, 10);
  const auto version = x.version();
  x.learn_step("", 1, 11);
  EXPECT_EQ(x.version(), version);
  for (int i = 0; i < 20; ++i)
    x.learn_step("", 1, 20);
  EXPECT_GT(x.version(), version);
}

TEST(TimeEstimates, StepsShorterThanAHandOverAreAllAlike) {
  time_estimates x;
  x.learn_step("", 1, 1e-6);
  const auto version = x.version();
  for (int i = 0; i < 20; ++i)
    x.learn_step("", 1, 9e-4);
  EXPECT_EQ(x.version(), version);
  for (int i = 0; i < 20; ++i)
    x.learn_step("", 1, 2e-3);
  EXPECT_GT(x.version(), version);
}

} // namespace
} // namespace hippo
