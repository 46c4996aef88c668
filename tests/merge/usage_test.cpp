#include "hippo/service/merge/usage.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "merge/leases.hpp"

namespace hippo {
namespace {

using test::at_second;
using test::lease_of;

constexpr double rounding = 1e-9;
constexpr trainer_id first_trainer{1};

/// A lease of a million steps that has reached a state at so many seconds.
running_lease lease_at(trainer_id trainer, std::uint32_t lane, step_t reached,
                       double reported) {
  auto result =
    lease_of(lease_id{1}, trainer, lane, {{node_id{5}, 0, 1'000'000, {}}});
  result.progress.reached = reached;
  result.progress.reported = at_second(reported);
  return result;
}

stop_report report_at(step_t at, step_t trained) {
  stop_report result;
  result.lease = lease_id{1};
  result.at = at;
  result.trained_steps = trained;
  return result;
}

constexpr std::uint64_t second_ns = 1'000'000'000;

/// Books a report that may be followed by one of anything since the beginning.
double book(usage& x, const running_lease& lease, const stop_report& report,
            double now) {
  return x.book(lease, report, at_second(now), at_second(0));
}

TEST(Usage, TimeSinceTheLastReportIsBooked) {
  usage x{at_second(0)};
  EXPECT_DOUBLE_EQ(
    book(x, lease_at(first_trainer, 0, 0, 2), report_at(4, 4), 5), 3);
  EXPECT_DOUBLE_EQ(x.totals().busy_seconds, 3);
  EXPECT_EQ(x.trained_steps(), 4u);
  EXPECT_DOUBLE_EQ(x.step_seconds(), .75);
}

TEST(Usage, AStepItselfTakesNoMoreThanWasMeasuredOrThanItsShare) {
  usage x{at_second(0)};
  auto report = report_at(4, 4); // a start of 10 s, and steps of 0.25 s
  report.load_ns = 10 * second_ns;
  report.train_ns = 1 * second_ns;
  book(x, lease_at(first_trainer, 0, 0, 0), report, 12);
  EXPECT_DOUBLE_EQ(x.step_seconds(), 3);
  EXPECT_DOUBLE_EQ(x.trained().own_step_seconds(.25), .25);
  EXPECT_DOUBLE_EQ(x.trained().own_step_seconds(0), 3) << "was not measured";
  // Beside others a step takes less of the device than alone.
  EXPECT_DOUBLE_EQ(x.trained().own_step_seconds(5), 3);
}

TEST(Usage, NothingTrainedTakesNoTimeAStep) {
  usage x{at_second(0)};
  EXPECT_EQ(x.step_seconds(), 0);
  book(x, lease_at(first_trainer, 0, 0, 0), report_at(0, 0), 5);
  EXPECT_EQ(x.step_seconds(), 0);
}

TEST(Usage, WhatTrainersDoNotReportIsDispatch) {
  usage x{at_second(0)};
  auto report = report_at(4, 4);
  report.load_ns = 1 * second_ns;
  report.train_ns = 4 * second_ns;
  report.evaluate_ns = 2 * second_ns;
  report.save_ns = 1 * second_ns;
  report.wait_ns = 3 * second_ns;
  book(x, lease_at(first_trainer, 0, 0, 0), report, 10);
  const auto& totals = x.totals();
  EXPECT_NEAR(totals.load_seconds, 1, rounding);
  EXPECT_NEAR(totals.train_seconds, 4, rounding);
  EXPECT_NEAR(totals.wait_seconds, 3, rounding) << "a part of training";
  EXPECT_NEAR(totals.evaluate_seconds, 2, rounding);
  EXPECT_NEAR(totals.save_seconds, 1, rounding);
  EXPECT_NEAR(totals.dispatch_seconds, 2, rounding);
}

TEST(Usage, MoreReportedThanPassedIsNoDispatch) {
  usage x{at_second(0)};
  auto report = report_at(4, 4);
  report.train_ns = 12 * second_ns;
  book(x, lease_at(first_trainer, 0, 0, 0), report, 10);
  EXPECT_EQ(x.totals().dispatch_seconds, 0);
  EXPECT_NEAR(x.totals().train_seconds, 12, rounding);
}

TEST(Usage, LanesOfALaunchAreBookedOnce) {
  usage x{at_second(0)};
  auto report = report_at(4, 4);
  report.train_ns = 10 * second_ns;
  book(x, lease_at(first_trainer, 0, 0, 0), report, 10);
  EXPECT_DOUBLE_EQ(
    book(x, lease_at(first_trainer, 1, 0, 0), report, 10), 10);
  EXPECT_NEAR(x.totals().busy_seconds, 10, rounding);
  EXPECT_NEAR(x.totals().train_seconds, 10, rounding);
  EXPECT_EQ(x.trained_steps(), 8u);
}

TEST(Usage, WhatIsLeftOfAReportStandsForAllOfItsParts) {
  usage x{at_second(0)};
  book(x, lease_at(first_trainer, 0, 0, 0), report_at(4, 4), 10);
  auto report = report_at(4, 4);
  report.load_ns = 4 * second_ns;
  report.evaluate_ns = 4 * second_ns;
  report.save_ns = 6 * second_ns;
  book(x, lease_at(first_trainer, 1, 0, 0), report, 20);
  EXPECT_NEAR(x.totals().busy_seconds, 20, rounding);
  EXPECT_NEAR(x.totals().load_seconds, 2, rounding);
  EXPECT_NEAR(x.totals().evaluate_seconds, 2, rounding);
  EXPECT_NEAR(x.totals().save_seconds, 3, rounding);
  EXPECT_NEAR(x.totals().dispatch_seconds, 10 + 3, rounding);
}

TEST(Usage, LaneBegunLaterReportsFirstLosesNothing) {
  usage x{at_second(0)};
  auto report = report_at(4, 4);
  report.train_ns = 3 * second_ns;
  book(x, lease_at(first_trainer, 1, 0, 12), report, 15);
  EXPECT_NEAR(x.totals().busy_seconds, 3, rounding);
  report.train_ns = 10 * second_ns;
  book(x, lease_at(first_trainer, 0, 0, 10), report, 20);
  EXPECT_NEAR(x.totals().busy_seconds, 10, rounding);
  EXPECT_NEAR(x.totals().train_seconds, 10, rounding);
  EXPECT_NEAR(x.totals().dispatch_seconds, 0, rounding);
}

TEST(Usage, TrainersAreBookedEachForItself) {
  usage x{at_second(0)};
  book(x, lease_at(trainer_id{1}, 0, 0, 0), report_at(4, 4), 10);
  book(x, lease_at(trainer_id{2}, 0, 0, 0), report_at(4, 4), 10);
  EXPECT_NEAR(x.totals().busy_seconds, 20, rounding);
}

TEST(Usage, ForgottenTrainerKeepsItsSeconds) {
  usage x{at_second(0)};
  book(x, lease_at(first_trainer, 0, 0, 0), report_at(4, 4), 10);
  x.forget(first_trainer);
  x.forget(trainer_id{2}); // was never here
  EXPECT_NEAR(x.totals().busy_seconds, 10, rounding);
  x.check_invariants();
}

TEST(Usage, TimelineSaysWhatALaneDid) {
  usage x{at_second(2)};
  auto report = report_at(9, 5);
  report.train_ns = 2 * second_ns;
  book(x, lease_at(trainer_id{3}, 1, 4, 5), report, 8);
  ASSERT_EQ(x.totals().timeline.size(), 1u);
  const auto& busy = x.totals().timeline[0];
  EXPECT_EQ(busy.trainer, 3u);
  EXPECT_EQ(busy.lane, 1u);
  EXPECT_EQ(busy.stage, 5u);
  EXPECT_EQ(busy.from, 4u);
  EXPECT_EQ(busy.to, 9u);
  EXPECT_NEAR(busy.begin, 3, rounding);
  EXPECT_NEAR(busy.end, 6, rounding);
  EXPECT_NEAR(busy.train, 2, rounding);
  EXPECT_TRUE(x.totals().timeline_is_whole);
}

TEST(Usage, TimelineStopsGrowingAndSaysSo) {
  usage x{at_second(0)};
  const auto lease = lease_at(first_trainer, 0, 0, 0);
  const auto report = report_at(1, 1);
  for (std::size_t i = 0; i < usage::timeline_entries_max; ++i)
    book(x, lease, report, 0);
  EXPECT_TRUE(x.totals().timeline_is_whole);
  book(x, lease, report, 1);
  EXPECT_EQ(x.totals().timeline.size(), usage::timeline_entries_max);
  EXPECT_FALSE(x.totals().timeline_is_whole);
  EXPECT_NEAR(x.totals().busy_seconds, 1, rounding);
}

TEST(Usage, StepsAreStoredOnceWithTheirTime) {
  usage x{at_second(0)};
  EXPECT_FALSE(x.take_unstored("key"));
  book(x, lease_at(first_trainer, 0, 0, 0), report_at(4, 4), 10);
  const auto first = x.take_unstored("key");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->workload_key, "key");
  EXPECT_EQ(first->steps, 4u);
  EXPECT_NEAR(first->device_seconds, 10, rounding);
  EXPECT_FALSE(x.take_unstored("key"));
  book(x, lease_at(first_trainer, 0, 4, 10), report_at(6, 2), 13);
  x.count_steps(5);
  const auto second = x.take_unstored("key");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->steps, 7u);
  EXPECT_NEAR(second->device_seconds, 3, rounding);
}

TEST(Usage, TimeWithoutStepsIsStoredWithTheNextSteps) {
  usage x{at_second(0)};
  book(x, lease_at(first_trainer, 0, 4, 0), report_at(4, 0), 3);
  EXPECT_FALSE(x.take_unstored("key"));
  book(x, lease_at(first_trainer, 0, 4, 3), report_at(6, 2), 5);
  const auto all = x.take_unstored("key");
  ASSERT_TRUE(all);
  EXPECT_NEAR(all->device_seconds, 5, rounding);
}

/// How long any of some intervals lasts.
double union_of(std::vector<std::pair<double, double>> x) {
  std::sort(x.begin(), x.end());
  double result = 0;
  double until = 0;
  for (const auto& [begin, end] : x) {
    result += std::max(0.0, end - std::max(begin, until));
    until = std::max(until, end);
  }
  return result;
}

TEST(Usage, LanesThatBeginAtAnyTimeAreBookedForTheUnionOfTheirTimes) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng{seed};
    usage x{at_second(0)};
    struct lane {
      bool busy = false;
      step_t reached = 0;
      double reported = 0;
    };
    std::map<std::uint64_t, std::vector<lane>> trainers;
    std::map<std::uint64_t, std::vector<std::pair<double, double>>> worked;
    for (std::uint64_t i = 1; i <= 3; ++i)
      trainers[i].resize(1 + rng() % 4);
    double now = 0;
    std::uint64_t steps = 0;
    for (int turn = 0; turn < 100; ++turn) {
      now += static_cast<double>(rng() % 10) / 2;
      const auto number = 1 + rng() % 3;
      auto& lanes = trainers[number];
      const auto i = rng() % lanes.size();
      if (lanes[i].busy) {
        const auto trained = rng() % 20;
        auto& y = lanes[i];
        auto unreported_since = now;
        for (std::size_t j = 0; j < lanes.size(); ++j)
          if (j != i && lanes[j].busy)
            unreported_since = std::min(unreported_since, lanes[j].reported);
        x.book(lease_at(trainer_id{number}, static_cast<std::uint32_t>(i),
                        y.reached, y.reported),
               report_at(y.reached + trained, trained), at_second(now),
               at_second(unreported_since));
        worked[number].emplace_back(y.reported, now);
        steps += trained;
        y = {rng() % 4 > 0, y.reached + trained, now};
      }
      for (auto& y : lanes)
        if (!y.busy && rng() % 4 == 0)
          y = {true, 0, now};
    }
    double want = 0;
    for (const auto& kvp : worked)
      want += union_of(kvp.second);
    EXPECT_NEAR(x.totals().busy_seconds, want, 1e-6);
    EXPECT_EQ(x.trained_steps(), steps);
    x.check_invariants();
  }
}

TEST(UsageDeathTest, ReportBeforeTheLastOneIsAsserted) {
  usage x{at_second(0)};
  EXPECT_DEBUG_DEATH(
    book(x, lease_at(first_trainer, 0, 0, 5), report_at(1, 1), 4), "since");
  EXPECT_DEBUG_DEATH(
    book(x, lease_at(first_trainer, 0, 5, 0), report_at(4, 1), 4), "reached");
}

} // namespace
} // namespace hippo
