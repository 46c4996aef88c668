#include "hippo/search/sampler/schedule_mean.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/search/surrogate/counter_rng.hpp"
#include "search/rate_spaces.hpp"

namespace hippo {
namespace {

constexpr step_t end = 240;

bool has_schedule(const std::string& space, const std::string& rate = "lr",
                  const schedule_mean::sequences& defaults = {}) {
  return schedule_mean{rate_study(space, rate).space, defaults, end, 1}
    .has_schedule();
}

TEST(ScheduleMean, FindsTheRateByItsName) {
  constexpr auto falls =
    "{cosine: {initial: 0.1, end: {choice: [0, 0.01]}, horizon: 240}}";
  const auto of = [&](const std::string& name) {
    return has_schedule("{" + name + ": " + falls + "}", name);
  };
  EXPECT_TRUE(of("lr"));
  EXPECT_TRUE(of("learning_rate"));
  EXPECT_FALSE(of("momentum"));
  EXPECT_FALSE(has_schedule("{lr: {log_uniform: [0.001, 1]}}"));
  EXPECT_FALSE(has_schedule("{lr: {piecewise: [[0, -1], [9, -2]]}}"));
  // One combination in ten is enough.
  EXPECT_TRUE(has_schedule("{lr: {choice: [1, 2, 3, 4, 5, 6, 7, 8, 9, "
                           + std::string{falls} + "]}}"));
  const sequence steps{{{0, form::constant(1)}, {9, form::constant(0.1)}}};
  EXPECT_TRUE(has_schedule("{y: {choice: [1, 2]}}", "lr", {{"lr", steps}}));
}

/// A mean that knows the losses of some trials of `decays`.
class ScheduleMeans : public testing::Test {
protected:
  [[nodiscard]] schedule_mean::sequences values(trial_no trial) const {
    return space.at(trial).sequences;
  }
  [[nodiscard]] double truth(trial_no trial, step_t at) const {
    return loss_of(some_law(), values(trial).at("lr"), at);
  }

  /// Tells one of each ten trials, or one of so many.
  template <class Loss>
  void tell(const Loss& loss, trial_no every = 10) {
    for (trial_no trial = 3; trial < 200; trial += every) {
      trials.push_back(trial);
      for (step_t at = 5; at <= end; at += 5)
        mean.on_result(trial, at, loss(trial, at), time);
      ++time;
    }
  }

  void fit(std::size_t until) {
    mean.fit(until, trials, [&](trial_no trial) { return values(trial); });
  }

  search_space space = rate_study(decays).space;
  schedule_mean mean{space, {}, end, 1};
  std::vector<trial_no> trials;
  std::size_t time = 0;
};

TEST_F(ScheduleMeans, PredictsDecaysThatWereNotTrained) {
  tell([&](trial_no trial, step_t at) { return truth(trial, at); });
  EXPECT_FALSE(mean.has_law());
  EXPECT_EQ(mean.at(values(0), end), 0);
  fit(time);
  ASSERT_TRUE(mean.has_law());
  for (trial_no trial = 0; trial < 200; ++trial)
    EXPECT_NEAR(mean.at(values(trial), end), truth(trial, end), 0.002);
  mean.lengthen(2 * end);
  EXPECT_FALSE(mean.has_law());
}

TEST_F(ScheduleMeans, NoLawOfLossesThatDoNotFollowTheRates) {
  tell([](trial_no trial, step_t at) {
    counter_rng draws{{trial, at}};
    return 1 + draws.unit();
  });
  fit(time);
  EXPECT_FALSE(mean.has_law());
}

TEST_F(ScheduleMeans, NoLawOfLossesThatAreNotAbove0) {
  tell([&](trial_no trial, step_t at) { return truth(trial, at) - 2.3; });
  fit(time);
  EXPECT_FALSE(mean.has_law());
  EXPECT_LT(truth(3, end), 2.3);
}

TEST_F(ScheduleMeans, LaterResultsAndOtherTrialsDoNotCount) {
  tell([&](trial_no trial, step_t at) { return truth(trial, at); });
  fit(12);
  const auto before = mean.at(values(0), end);
  ASSERT_TRUE(mean.has_law());
  for (trial_no trial = 1; trial < 3; ++trial)
    for (step_t at = 5; at <= end; at += 5)
      mean.on_result(trial, at, 9, 12); // too late
  trials.insert(trials.begin(), {1, 2});
  fit(12);
  EXPECT_EQ(mean.at(values(0), end), before);
  trials.erase(trials.begin(), trials.begin() + 2);
  fit(100); // their trials are left out
  const auto of_all = mean.at(values(0), end);
  EXPECT_NEAR(of_all, truth(0, end), 0.002);
  EXPECT_NE(of_all, before);
}

TEST_F(ScheduleMeans, TheFirstLossesOfATrainingDoNotCount) {
  tell([&](trial_no trial, step_t at) {
    return at < end / 16 ? 50 : truth(trial, at);
  });
  fit(time);
  EXPECT_NEAR(mean.at(values(0), end), truth(0, end), 0.002);
}

} // namespace
} // namespace hippo
