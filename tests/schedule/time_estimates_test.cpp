#include "hippo/plan/schedule/time_estimates.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hippo/plan/schedule/step_profiles.hpp"

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

TEST(TimeEstimates, TheMeanStepIsOneOfAllThatWereMeasured) {
  time_estimates x{{"batch_size"}};
  EXPECT_EQ(x.mean_step_seconds(), 0);
  x.learn(timed::load, 100, "gpu");
  x.learn_step("32;", 2, 8, "gpu");
  EXPECT_EQ(x.mean_step_seconds(), 4);
  const auto known = x.take_unstored();
  EXPECT_EQ(mean_step_seconds(known), 4);
  EXPECT_EQ(mean_step_seconds({}), 0);
  time_estimates next;
  next.begin_with(known);
  EXPECT_EQ(next.mean_step_seconds(), 4);
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

TEST(TimeEstimates, AKindThatDriftsIsToldAndEstimatedAnewWithinTenStages) {
  std::mt19937 random{7};
  std::normal_distribution<> noise{0, 0.03};
  for (const double factor : {2.0, 1.4, 1 / 1.4, 0.5}) {
    time_estimates x;
    const auto learn = [&](double seconds) {
      x.learn_step("32;", 3, 3 * seconds * std::exp(noise(random)), slow);
      x.learn_step("32;", 3, 3 * std::exp(noise(random)), fast);
    };
    for (int i = 0; i < 100; ++i)
      learn(1);
    EXPECT_TRUE(x.take_drifts().empty());
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(x.take_drifts().empty()) << i;
      learn(factor);
    }
    const auto told = x.take_drifts();
    ASSERT_EQ(told.size(), 1u) << factor;
    EXPECT_EQ(told[0].kind, slow);
    EXPECT_EQ(told[0].speed_key, "32;");
    EXPECT_NEAR(told[0].before, 1, 0.05);
    EXPECT_NEAR(told[0].now, factor, 0.05 * factor);
    EXPECT_NEAR(x.step_seconds("32;", &slow), factor, 0.05 * factor);
    EXPECT_NEAR(x.step_seconds("32;", &fast), 1, 0.05);
    for (int i = 0; i < 50; ++i)
      learn(factor);
    EXPECT_TRUE(x.take_drifts().empty()); // once
  }
}

TEST(TimeEstimates, WhatOnlySpreadsOrIsOffForAWhileIsNoDrift) {
  time_estimates x;
  for (int i = 0; i < 200; ++i)
    x.learn_step("", 1, i % 2 == 0 ? 1 : 2, slow);
  for (int i = 0; i < 20; ++i)
    x.learn_step("64;", 1, 1, fast);
  for (int i = 0; i < 9; ++i)
    x.learn_step("64;", 1, 2, fast);
  x.learn_step("64;", 1, 1, fast);
  for (int i = 0; i < 30; ++i)
    x.learn_step("64;", 1, 1.15, fast);
  EXPECT_TRUE(x.take_drifts().empty());
}

/// A step of 6,000 samples in a made-up world.
double made_up_seconds(double speed, double batch, const workload_size& size) {
  return size.samples / batch
         * (1e-3 + batch * size.operations / speed
            + 20 * size.parameters / speed);
}

TEST(TimeEstimates, WhatWasNeverMeasuredIsPredictedOfAllWorkloads) {
  const workload_size small{1e6, 1e5, 6000}, large{2e7, 3e5, 6000};
  std::vector<timing> of_others;
  for (const auto& [kind, speed] :
       {std::pair{slow, 1e9}, std::pair{fast, 1e10}})
    for (const double batch : {32, 64, 128})
      for (const auto& size : {small, workload_size{5e6, 1e6, 6000}})
        of_others.push_back({kind, timed::step,
                             std::to_string(static_cast<int>(batch)) + ';', 9,
                             9, 9 * made_up_seconds(speed, batch, size), 0,
                             size});
  const std::vector<std::string> names{"batch_size"};
  time_estimates x{names, "w", step_profiles_of("other", names, of_others)};
  EXPECT_EQ(x.step_seconds("256;", &slow), 1); // of how large a workload?
  x.learn_size(large);
  x.learn_step("64;", 1, made_up_seconds(1e9, 64, large), slow);
  using source = time_estimates::step_estimate::source;
  for (const auto& [kind, speed] :
       {std::pair{slow, 1e9}, std::pair{fast, 1e10}}) {
    const auto found = x.estimate("256;", kind);
    EXPECT_EQ(found.from, source::predicted);
    EXPECT_NEAR(found.seconds, made_up_seconds(speed, 256, large),
                0.1 * found.seconds)
      << kind;
  }
  EXPECT_NEAR(x.step_seconds("256;"), made_up_seconds(1e9, 256, large),
              0.1 * x.step_seconds("256;")); // as on the kinds that train it
  EXPECT_EQ(x.estimate("64;", slow).from, source::measured);
  EXPECT_EQ(x.estimate("64;", other).from, source::unknown);
}

TEST(StepProfiles, TakeASpeedKeyApart) {
  const workload_size size{1, 1, 1000};
  const auto x = makeup_of("w", {"batch_size", "optimizer"}, "300;sgd;", size);
  EXPECT_EQ(x.batch, 300);
  EXPECT_EQ(x.iterations, 4);
  EXPECT_EQ(x.workload, makeup_of("w", {"batch_size", "optimizer"},
                                  "10;sgd;", size).workload);
  EXPECT_NE(x.workload, makeup_of("w", {"batch_size", "optimizer"},
                                  "300;adamw;", size).workload);
  // Without a batch a step is one iteration of all that is in it.
  EXPECT_EQ(makeup_of("w", {}, "", size).batch, 1000);
  EXPECT_EQ(makeup_of("w", {}, "", size).iterations, 1);
  EXPECT_EQ(makeup_of("w", {}, "", {}).batch, 1);
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

TEST(TimeEstimates, TheLongestStartIsStoredAndKnownAfterARestart) {
  time_estimates before;
  before.learn_first_step(2);
  before.learn_first_step(30);
  const auto stored = before.take_unstored();
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored[0].what, timed::start);
  before.learn_first_step(30.5); // hardly longer
  before.learn_first_step(1);
  EXPECT_TRUE(before.take_unstored().empty());
  time_estimates after;
  after.begin_with(stored);
  EXPECT_EQ(after.first_step_seconds(), 30);
  EXPECT_EQ(after.kinds(), 0u) << "it is of no kind of device";
  EXPECT_TRUE(after.take_unstored().empty());
  after.learn_first_step(60);
  ASSERT_EQ(after.take_unstored().size(), 1u);
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

TEST(TimeEstimates, WhatIsMeasuredBesideOthersCountsAsTheTimeAlone) {
  time_estimates x{{"width"}};
  const std::string gpu = "gpu";
  for (int i = 0; i < 20; ++i)
    x.learn_step("1", 10, 20, gpu);
  EXPECT_NEAR(x.step_seconds("1", &gpu), 2, 1e-9);
  for (int i = 0; i < 20; ++i)
    x.learn_step("1", 10, 30, gpu, 4); // 1.5 times as long
  EXPECT_NEAR(x.step_seconds("1", &gpu), 2, 1e-9);
  EXPECT_NEAR(x.slowdown(&gpu, 4), 1.5, 1e-9);
  EXPECT_NEAR(x.slowdown(&gpu, 2), std::sqrt(1.5), 1e-9);
  EXPECT_EQ(x.slowdown(nullptr, 4), 1);
  for (int i = 0; i < 20; ++i)
    x.learn_step("2", 10, 60, gpu, 4); // never measured alone
  EXPECT_NEAR(x.step_seconds("2", &gpu), 4, 1e-9);
  // Between two numbers of leases: by what lies between their slowdowns.
  for (int i = 0; i < 40; ++i)
    x.learn_step("2", 10, 40 * std::sqrt(1.5), gpu, 2);
  EXPECT_NEAR(x.step_seconds("2", &gpu), 4, 1e-6);
  EXPECT_TRUE(x.take_drifts().empty());
  EXPECT_EQ(x.lanes_worth(&gpu, 16), 16u);
  EXPECT_EQ(x.lanes_worth(nullptr, 16), 16u);
}

TEST(TimeEstimates, TimesOfEarlierRunsAreTimesAlone) {
  time_estimates x;
  timing known{"gpu", timed::step};
  known.stages = 10;
  known.count = 100;
  known.seconds = 200;
  x.begin_with({known});
  const std::string gpu = "gpu";
  for (int i = 0; i < 10; ++i)
    x.learn_step("", 10, 80, gpu, 8);
  EXPECT_NEAR(x.slowdown(&gpu, 8), 4, 1e-6);
  EXPECT_NEAR(x.step_seconds("", &gpu), 2, 1e-6);
}

} // namespace
} // namespace hippo
