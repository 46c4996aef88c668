#include "hippo/service/study/trials.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace hippo {
namespace {

constexpr auto nan = std::numeric_limits<double>::quiet_NaN();

study_trials trials(std::uint64_t n,
                    direction better = direction::maximize) {
  objective x;
  x.metric = "acc";
  x.direction = better;
  study_trials result{x};
  if (n > 0)
    result.add(n - 1);
  return result;
}

TEST(StudyTrials, AddMakesRoomAndNeverShrinks) {
  auto xs = trials(3);
  EXPECT_FALSE(xs[1].added);
  xs.add(1);
  EXPECT_TRUE(xs[1].added);
  EXPECT_EQ(xs.size(), 3u);
  EXPECT_EQ(xs[2].state, trial_state::pending);
}

TEST(StudyTrials, AskCountsOnlyWhatIsNew) {
  auto xs = trials(2);
  EXPECT_TRUE(xs.ask(0, 5));
  EXPECT_FALSE(xs.ask(0, 5));
  EXPECT_FALSE(xs.ask(0, 4));
  EXPECT_TRUE(xs.ask(0, 9));
  EXPECT_TRUE(xs.ask(1, 2));
  EXPECT_EQ(xs.asked_steps(), 11u);
  EXPECT_EQ(xs[0].state, trial_state::running);
  xs.check_invariants();
}

TEST(StudyTrials, AskAfterTheEndIsNoNews) {
  auto xs = trials(1);
  xs.end(0, trial_state::pruned);
  EXPECT_FALSE(xs.ask(0, 5));
  EXPECT_EQ(xs[0].state, trial_state::pruned);
  EXPECT_EQ(xs.asked_steps(), 0u);
}

TEST(StudyTrials, EndCountsOnce) {
  auto xs = trials(2);
  EXPECT_TRUE(xs.end(0, trial_state::failed, "no disk"));
  EXPECT_FALSE(xs.end(0, trial_state::complete));
  EXPECT_EQ(xs.finished(), 1u);
  EXPECT_EQ(xs[0].state, trial_state::failed);
  EXPECT_EQ(xs[0].failure, "no disk");
}

TEST(StudyTrials, ATrialIsOnItsWayUntilAckedOrEnded) {
  auto xs = trials(1);
  EXPECT_FALSE(xs.is_on_its_way(0));
  xs.ask(0, 5);
  EXPECT_TRUE(xs.is_on_its_way(0));
  xs.ack(0, 5);
  xs.ack(0, 3); // acks never go back
  EXPECT_FALSE(xs.is_on_its_way(0));
  xs.ask(0, 9);
  EXPECT_TRUE(xs.is_on_its_way(0));
  xs.end(0, trial_state::pruned);
  EXPECT_FALSE(xs.is_on_its_way(0));
}

TEST(StudyTrials, MeasureKeepsTheBest) {
  auto xs = trials(1);
  EXPECT_EQ(xs.measure(0, 1, {{"acc", 0.5}, {"loss", 2}}), 0.5);
  xs.measure(0, 2, {{"acc", 0.4}});
  EXPECT_EQ(xs[0].best, (stored_best{1, 0.5}));
  EXPECT_EQ(xs[0].results.size(), 2u);
  EXPECT_EQ(xs.best(), (study_trials::best_measurement{0, 1, 0.5}));
}

TEST(StudyTrials, MinimizedMetricsHaveTheLowestAsBest) {
  auto xs = trials(2, direction::minimize);
  xs.measure(0, 1, {{"acc", 0.5}});
  xs.measure(1, 1, {{"acc", 0.4}});
  EXPECT_EQ(xs.best(), (study_trials::best_measurement{1, 1, 0.4}));
  xs.check_invariants();
}

TEST(StudyTrials, NanIsNeverBest) {
  auto xs = trials(1);
  EXPECT_TRUE(std::isnan(xs.measure(0, 1, {{"acc", nan}})));
  EXPECT_TRUE(std::isnan(xs.measure(0, 2, {{"loss", 1}})));
  EXPECT_FALSE(xs.best());
  EXPECT_FALSE(xs[0].best);
}

TEST(StudyTrials, BestOfEqualsDoesNotDependOnTheOrder) {
  std::mt19937 random{1};
  const std::vector<std::pair<trial_no, step_t>> all{
    {0, 3}, {1, 1}, {1, 2}, {2, 1}};
  for (int round = 0; round < 20; ++round) {
    auto order = all;
    std::shuffle(order.begin(), order.end(), random);
    auto xs = trials(3);
    for (const auto& [no, at] : order)
      xs.measure(no, at, {{"acc", 0.5}});
    EXPECT_EQ(xs.best(), (study_trials::best_measurement{0, 3, 0.5}));
  }
}

TEST(StudyTrials, WhatATrialMeasuredBeforeItFailedIsNoResult) {
  auto xs = trials(3);
  xs.measure(0, 1, {{"acc", 0.5}});
  xs.measure(1, 1, {{"acc", 0.9}});
  xs.measure(2, 2, {{"acc", 0.5}});
  xs.end(1, trial_state::failed, "diverged");
  EXPECT_EQ(xs.best(), (study_trials::best_measurement{0, 1, 0.5}));
  xs.check_invariants();
  xs.end(0, trial_state::failed, "diverged");
  EXPECT_EQ(xs.best(), (study_trials::best_measurement{2, 2, 0.5}));
  xs.end(2, trial_state::failed, "diverged");
  EXPECT_FALSE(xs.best());
  xs.check_invariants();
}

TEST(StudyTrials, WaitingStepsAreThoseAskedForAndNotThere) {
  auto xs = trials(2);
  xs.ask(0, 5);
  xs.ask(1, 9);
  EXPECT_EQ(xs.waiting_steps(), 14u);
  xs.ack(0, 3, 2);
  EXPECT_EQ(xs.waiting_steps(), 11u);
  EXPECT_EQ(xs[0].shared, 2u);
  xs.end(1, trial_state::pruned);
  EXPECT_EQ(xs.waiting_steps(), 2u);
  xs.ack(1, 4); // too late: it waits for nothing
  EXPECT_EQ(xs.waiting_steps(), 2u);
  xs.check_invariants();
}

TEST(StudyTrials, ResultNearIsThatOfTheStepOrTheLast) {
  auto xs = trials(1);
  EXPECT_FALSE(xs.result_near(0, 1));
  xs.measure(0, 1, {{"acc", 0.5}});
  xs.measure(0, 3, {{"acc", 0.6}});
  EXPECT_EQ(xs.result_near(0, 1)->step, 1u);
  EXPECT_EQ(xs.result_near(0, 2)->step, 3u);
}

TEST(StudyTrials, FinalPhaseIsFailedOnlyIfAllTrialsAre) {
  EXPECT_EQ(trials(0).final_phase(), study_phase::complete);
  auto xs = trials(2);
  xs.end(0, trial_state::failed);
  EXPECT_EQ(xs.final_phase(), study_phase::complete);
  xs.end(1, trial_state::failed);
  EXPECT_EQ(xs.final_phase(), study_phase::failed);
}

TEST(StudyTrials, InvariantsHoldWhateverIsCalled) {
  std::mt19937 random{7};
  auto xs = trials(5);
  for (int i = 0; i < 2000; ++i) {
    const trial_no no = random() % 5;
    const step_t at = random() % 20;
    switch (random() % 7) {
      case 0:
        xs.ask(no, at);
        break;
      case 1:
        xs.ack(no, at);
        break;
      case 2:
        if (!has_ended(xs[no].state))
          xs.pause(no);
        break;
      case 3:
        if (random() % 50 == 0)
          xs.end(no, trial_state::complete);
        break;
      case 4:
        if (xs[no].state == trial_state::failed && xs[no].cause)
          xs.retry(no);
        else if (random() % 5 == 0)
          xs.end(no, trial_state::failed, "why", errc::io_failed);
        break;
      default:
        xs.measure(no, at, {{"acc", static_cast<double>(random() % 9)}});
    }
    xs.check_invariants();
  }
}

// -- several metrics ----------------------------------------------------------

study_trials several(std::uint64_t n, bool has_front = true) {
  objective x{"acc", direction::maximize, 1, {}, {{"ms", true, 5}}};
  if (has_front)
    x.further = {{"ms", direction::minimize}};
  study_trials result{x};
  result.add(n - 1);
  for (trial_no no = 0; no < n; ++no)
    result.ask(no, 9);
  return result;
}

void measure(study_trials& xs, trial_no no, step_t at, double acc, double ms) {
  xs.ack(no, at);
  xs.measure(no, at, {{"acc", acc}, {"ms", ms}});
  xs.check_invariants();
}

std::vector<std::pair<trial_no, step_t>> front_of(const study_trials& xs) {
  std::vector<std::pair<trial_no, step_t>> result;
  for (const auto& x : xs.front().points())
    result.emplace_back(x.trial, x.step);
  return result;
}

using places = std::vector<std::pair<trial_no, step_t>>;

TEST(TrialsOfSeveral, HaveAFrontAndNoBest) {
  auto xs = several(3);
  measure(xs, 0, 1, 0.5, 4);
  measure(xs, 1, 1, 0.4, 3);
  measure(xs, 2, 1, 0.9, 6); // breaks the constraint
  EXPECT_FALSE(xs.best());
  EXPECT_EQ(front_of(xs), (places{{0, 1}, {1, 1}}));
  EXPECT_FALSE(xs[2].best);
  measure(xs, 1, 2, 0.6, 3);
  EXPECT_EQ(front_of(xs), (places{{1, 2}}));
  EXPECT_EQ(xs.front().reference(), (losses{-0.4, 6}));
}

/// A trial goes by the last measurement that the one before does not dominate.
TEST(TrialsOfSeveral, ATrialHasOneMeasurementThatStandsForIt) {
  auto xs = several(1);
  measure(xs, 0, 1, 0.5, 4);
  measure(xs, 0, 2, 0.4, 4); // dominated
  EXPECT_EQ(xs[0].best, (stored_best{1, 0.5}));
  measure(xs, 0, 3, 0.4, 3);
  EXPECT_EQ(xs[0].best, (stored_best{3, 0.4}));
}

TEST(TrialsOfSeveral, WhatHasFailedIsNotOnTheFront) {
  auto xs = several(3);
  measure(xs, 0, 1, 0.5, 4);
  measure(xs, 1, 1, 0.6, 4);
  measure(xs, 2, 1, 0.1, 5);
  xs.end(1, trial_state::failed, "why", errc::io_failed);
  xs.check_invariants();
  EXPECT_EQ(front_of(xs), (places{{0, 1}}));
  xs.end(2, trial_state::failed, "why", errc::io_failed);
  EXPECT_EQ(xs.front().reference(), (losses{-0.5, 4}));
  xs.retry(1);
  EXPECT_EQ(front_of(xs), (places{{1, 1}}));
  EXPECT_EQ(xs.front().reference(), (losses{-0.5, 4}));
}

/// Of one metric the best of those that keep the constraints is the best.
TEST(TrialsWithConstraints, TheBestKeepsThem) {
  auto xs = several(2, false);
  measure(xs, 0, 1, 0.9, 6);
  EXPECT_FALSE(xs.best());
  measure(xs, 0, 2, 0.3, 5);
  measure(xs, 1, 1, 0.5, 7);
  EXPECT_EQ(xs.best(), (study_trials::best_measurement{0, 2, 0.3}));
  EXPECT_EQ(xs[0].best, (stored_best{2, 0.3}));
  EXPECT_FALSE(xs[1].best);
}

} // namespace
} // namespace hippo
