#include "hippo/schedule/time_estimates.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

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

const std::string slow = "slow device", fast = "fast device",
                  other = "another device";

TEST(TimeEstimates, EachKindOfDeviceHasItsOwn) {
  time_estimates x;
  x.learn_step("32;", 1, 4, slow);
  x.learn_step("32;", 1, 1, fast);
  x.learn(timed::evaluate, 8, slow);
  x.learn(timed::evaluate, 2, fast);
  EXPECT_EQ(x.step_seconds("32;", &slow), 4);
  EXPECT_EQ(x.step_seconds("32;", &fast), 1);
  EXPECT_EQ(x.evaluate_seconds(&slow), 8);
  EXPECT_EQ(x.evaluate_seconds(&fast), 2);
  // What is asked without a kind, or of one that nobody knows, is the pool's.
  for (const auto* kind : {static_cast<const std::string*>(nullptr), &other}) {
    EXPECT_LT(x.step_seconds("32;", kind), 4);
    EXPECT_GT(x.step_seconds("32;", kind), 1);
    EXPECT_LT(x.evaluate_seconds(kind), 8);
    EXPECT_GT(x.evaluate_seconds(kind), 2);
  }
}

TEST(TimeEstimates, WhatAKindHasNotTrainedIsAsMuchSlowerThereAsTheRest) {
  time_estimates x;
  x.learn_step("32;", 1, 4, slow);
  x.learn_step("32;", 1, 1, fast);
  x.learn_step("64;", 1, 10, fast);
  EXPECT_NEAR(x.step_seconds("64;", &slow), 40, 1e-9);
  for (int i = 0; i < 100; ++i)
    x.learn_step("32;", 1, 8, slow);
  EXPECT_NEAR(x.step_seconds("64;", &slow), 80, 10);
  // What was measured on none in common is the pool's.
  x.learn_step("128;", 1, 3, other);
  EXPECT_EQ(x.step_seconds("128;", &slow), 3);
}

TEST(TimeEstimates, OneKindIsThePool) {
  time_estimates with, without;
  for (int i = 0; i < 10; ++i) {
    with.learn_step("32;", 3, 1 + i, slow);
    without.learn_step("32;", 3, 1 + i);
  }
  EXPECT_EQ(with.step_seconds("32;", &slow), without.step_seconds("32;"));
  EXPECT_EQ(with.step_seconds("64;", &slow), without.step_seconds("64;"));
  EXPECT_EQ(with.version(), without.version());
}

TEST(TimeEstimates, AKindThatBecomesSlowerIsAnnouncedWithinTenStages) {
  time_estimates x;
  for (int i = 0; i < 100; ++i) {
    x.learn_step("32;", 1, 1, slow);
    x.learn_step("32;", 1, 1, fast);
  }
  const auto version = x.version();
  for (int i = 0; i < 10; ++i) {
    x.learn_step("32;", 1, 2, slow);
    x.learn_step("32;", 1, 1, fast);
  }
  EXPECT_GT(x.version(), version);
  EXPECT_GT(x.step_seconds("32;", &slow), 1.5);
  EXPECT_EQ(x.step_seconds("32;", &fast), 1);
}

TEST(TimeEstimates, WhatIsStoredIsWhereTheyGoOn) {
  time_estimates before;
  std::map<std::tuple<std::string, timed, std::string>, timing> stored;
  std::size_t writes = 0;
  const auto store = [&] {
    for (const auto& x : before.take_unstored()) {
      stored[{x.device, x.what, x.speed_key}] = x;
      ++writes;
    }
  };
  for (int i = 0; i < 1000; ++i) {
    before.learn_step("32;", 5, 20, slow);
    before.learn_step("64;", 5, 15, slow);
    before.learn_step("32;", 5, 5, fast);
    before.learn(timed::save, 0.5, slow);
    before.learn(timed::load, 0.25, slow);
    before.learn(timed::evaluate, 3, fast);
    store();
  }
  EXPECT_TRUE(before.take_unstored().empty());
  EXPECT_EQ(stored.size(), 6u);
  EXPECT_LT(writes, 6 * 60u); // the more was measured, the rarer
  std::vector<timing> known;
  for (const auto& kvp : stored)
    known.push_back(kvp.second);
  time_estimates after;
  after.begin_with(known);
  EXPECT_TRUE(after.has_trained());
  for (const auto* kind : {&slow, &fast})
    for (const auto* key : {"32;", "64;"})
      EXPECT_NEAR(after.step_seconds(key, kind),
                  before.step_seconds(key, kind),
                  0.1 * before.step_seconds(key, kind))
        << key << *kind;
  EXPECT_NEAR(after.save_seconds(), 0.5, 1e-9);
  EXPECT_NEAR(after.load_seconds(), 0.25, 1e-9);
  EXPECT_NEAR(after.evaluate_seconds(), 3, 1e-9);
  EXPECT_TRUE(after.take_unstored().empty());
}

TEST(TimeEstimates, WhatHasMovedIsStoredAtOnce) {
  time_estimates x;
  for (int i = 0; i < 1000; ++i)
    x.learn_step("", 1, 1, slow);
  static_cast<void>(x.take_unstored());
  x.learn_step("", 1, 2, slow);
  ASSERT_EQ(x.take_unstored().size(), 1u);
  EXPECT_TRUE(x.take_unstored().empty());
}

TEST(TimeEstimates, MeasurementsThatSpreadHaveLargeDeviations) {
  const auto deviation = [](double far) {
    time_estimates x;
    for (int i = 0; i < 100; ++i)
      x.learn_step("", 1, i % 2 == 0 ? 1 : far, slow);
    const auto y = x.take_unstored().at(0);
    EXPECT_EQ(y.stages, 100u);
    return std::sqrt(y.squared_log_deviations / y.count);
  };
  EXPECT_EQ(deviation(1), 0);
  EXPECT_NEAR(deviation(1.1), 0.05, 0.02);
  EXPECT_GT(deviation(2), 0.3);
}

} // namespace
} // namespace hippo
