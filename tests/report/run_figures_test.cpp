#include "hippo/report/run_figures.hpp"

#include <gtest/gtest.h>

#include "sample_run.hpp"

namespace hippo {

namespace {

overview_stage made_stage(std::uint64_t id, std::uint64_t parent,
                          std::uint64_t node, step_t begin, step_t end) {
  overview_stage x;
  x.id = id;
  x.parent = parent;
  x.node = node_id{node};
  x.begin = begin;
  x.end = end;
  return x;
}

busy_record busy(std::uint64_t node, step_t from, step_t to, double train,
                 double evaluate = 0) {
  busy_record x;
  x.stage = node;
  x.from = from;
  x.to = to;
  x.train = train;
  x.evaluate = evaluate;
  return x;
}

/// A trunk of ten steps, cut at five where a trial ends, and two branches.
std::vector<overview_stage> forked() {
  return {made_stage(1, 0, 7, 0, 5), made_stage(2, 1, 7, 5, 10),
          made_stage(3, 2, 8, 10, 20), made_stage(4, 2, 9, 10, 30)};
}

} // namespace

TEST(StageFinder, StateInsideStageGivesThatStage) {
  const stage_finder finder{forked()};
  EXPECT_EQ(finder.find(node_id{7}, 1), 1u);
  EXPECT_EQ(finder.find(node_id{7}, 6), 2u);
  EXPECT_EQ(finder.find(node_id{9}, 11), 4u);
}

TEST(StageFinder, StateAtBoundaryGivesStageThatEndsThere) {
  const stage_finder finder{forked()};
  EXPECT_EQ(finder.find(node_id{7}, 5), 1u);
  EXPECT_EQ(finder.find(node_id{7}, 10), 2u);
}

TEST(StageFinder, StateBeyondLastStageGivesZero) {
  const stage_finder finder{forked()};
  EXPECT_EQ(finder.find(node_id{7}, 11), 0u);
  EXPECT_EQ(finder.find(node_id{8}, 21), 0u);
}

TEST(StageFinder, UnknownNodeGivesZero) {
  const stage_finder finder{forked()};
  EXPECT_EQ(finder.find(node_id{1}, 1), 0u);
  EXPECT_EQ(finder.find(node_id{10}, 1), 0u);
  EXPECT_EQ(stage_finder{{}}.find(node_id{1}, 1), 0u);
}

TEST(StageRecords, IdsAreOffsetButRootsStayRoots) {
  const auto records = stage_records(forked(), "key", 100, {});
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].id, 101u);
  EXPECT_EQ(records[0].parent, 0u);
  EXPECT_EQ(records[3].id, 104u);
  EXPECT_EQ(records[3].parent, 102u);
  EXPECT_EQ(records[3].begin, 10u);
  EXPECT_EQ(records[3].end, 30u);
  EXPECT_EQ(records[3].workload, "key");
}

TEST(StageRecords, StudiesAreNumberedAsInReport) {
  auto x = made_stage(1, 0, 1, 0, 5);
  x.studies = {study_no{0}, study_no{2}};
  x.trials = 9;
  x.config = "lr=0.1";
  by_id<study_no, std::size_t> index_of;
  for (const std::size_t i : {4, 5, 6})
    index_of.add(i);
  const auto records = stage_records({x}, "key", 0, index_of);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].studies, (std::vector<std::size_t>{4, 6}));
  EXPECT_EQ(records[0].trials, 9u);
  EXPECT_EQ(records[0].config, "lr=0.1");
}

TEST(SecondsOf, EmptyTreeGivesZero) {
  const auto seconds = seconds_of({}, {});
  EXPECT_EQ(seconds.all, 0);
  EXPECT_EQ(seconds.longest, 0);
}

TEST(SecondsOf, BranchesGiveSumAndLongestWay) {
  const auto seconds
    = seconds_of(forked(), {busy(7, 0, 5, 1, .5), busy(7, 5, 10, 2),
                            busy(8, 10, 20, 4), busy(9, 10, 30, 3)});
  EXPECT_EQ(seconds.all, 10.5);
  EXPECT_EQ(seconds.longest, 7.5);
}

TEST(SecondsOf, StretchesOfOneStageAddUp) {
  const auto seconds
    = seconds_of(forked(), {busy(9, 10, 20, 3), busy(9, 20, 30, 4)});
  EXPECT_EQ(seconds.all, 7);
  EXPECT_EQ(seconds.longest, 7);
}

TEST(SecondsOf, StretchTrainedTwiceCountsOnceAsShorter) {
  for (const auto first : {3.0, 5.0}) {
    const auto seconds = seconds_of(
      forked(), {busy(7, 0, 5, first), busy(7, 0, 5, 8 - first)});
    EXPECT_EQ(seconds.all, 3) << first;
  }
}

TEST(SecondsOf, UnrequestedStatesDoNotCount) {
  const auto seconds
    = seconds_of(forked(), {busy(7, 10, 12, 50), busy(3, 0, 5, 50)});
  EXPECT_EQ(seconds.all, 0);
  EXPECT_EQ(seconds.longest, 0);
}

TEST(SecondsOf, LoadAndSaveDoNotCount) {
  auto x = busy(7, 0, 5, 1);
  x.load = 10;
  x.save = 20;
  EXPECT_EQ(seconds_of(forked(), {x}).all, 1);
}

TEST(LowerBound, NoTrainersGivesZero) {
  lower_bound bound;
  bound.add({10, 5}, 1);
  EXPECT_EQ(bound.seconds(0), 0);
}

TEST(LowerBound, OneTrainerGivesAllWork) {
  lower_bound bound;
  bound.add({10, 5}, 1);
  bound.add({20, 6}, 1);
  EXPECT_EQ(bound.seconds(1), 30);
}

TEST(LowerBound, ManyTrainersGiveLongestWay) {
  lower_bound bound;
  bound.add({10, 5}, 1);
  bound.add({20, 6}, 1);
  EXPECT_EQ(bound.seconds(100), 6);
}

TEST(LowerBound, LanesDivideWorkButNotLongestWay) {
  lower_bound bound;
  bound.add({40, 5}, 4);
  EXPECT_EQ(bound.seconds(1), 10);
  EXPECT_EQ(bound.seconds(10), 5);
}

TEST(LowerBound, RanksOnSeveralTrainersMultiplyWorkButNotLongestWay) {
  lower_bound bound;
  bound.add({10, 5}, 1, 4);
  EXPECT_EQ(bound.seconds(4), 10);
  EXPECT_EQ(bound.seconds(100), 5);
}

TEST(RatesOf, NothingUniqueGivesOne) {
  const auto rates = rates_of(0, 0, 0);
  EXPECT_EQ(rates.merge_rate, 1);
  EXPECT_EQ(rates.k_wise_merge_rate, 1);
}

TEST(RatesOf, SharedStepsGiveBothRates) {
  const auto rates = rates_of(400, 100, 150);
  EXPECT_EQ(rates.merge_rate, 4);
  EXPECT_EQ(rates.k_wise_merge_rate, 1.5);
}

TEST(IdleSeconds, UnusedTimeOfAllTrainersIsReturned) {
  EXPECT_EQ(idle_seconds(10, 3, 12), 18);
}

TEST(IdleSeconds, MoreWorkThanTimeGivesZero) {
  EXPECT_EQ(idle_seconds(10, 1, 12), 0);
  EXPECT_EQ(idle_seconds(10, 0, 0), 0);
}

work_left some_work(std::uint64_t waiting, double step_seconds) {
  work_left x;
  x.waiting_steps = waiting;
  x.step_seconds = step_seconds;
  return x;
}

TEST(SecondsLeft, NothingToTrainGivesNothing) {
  EXPECT_FALSE(seconds_left({}, 3));
  EXPECT_FALSE(seconds_left({some_work(0, 1)}, 3));
}

TEST(SecondsLeft, UnknownStepTimeGivesNothing) {
  EXPECT_FALSE(seconds_left({some_work(5, 0)}, 3));
}

TEST(SecondsLeft, NoTrainersGiveNothing) {
  EXPECT_FALSE(seconds_left({some_work(5, 1)}, 0));
}

TEST(SecondsLeft, WorkOfAllStudiesIsDividedAmongTrainers) {
  auto shared = some_work(12, 1);
  shared.unique_share = .5;
  EXPECT_EQ(seconds_left({shared, some_work(4, .5)}, 4), 2);
}

TEST(SecondsLeft, WhatIsWaitedForIsSharedAsMuchAsThePlanHasIt) {
  auto x = some_work(30, 1);
  x.steps_to_come = 40;
  merge_figures plan;
  plan.asked_steps = 120;
  plan.unique_steps = 60;
  plan.delivered_steps = 90; // and 30 that are not shared at all
  plan.unique_delivered_steps = 30;
  x.set_shares(plan);
  EXPECT_EQ(x.trainer_seconds(), 30 + 40 * .5);
  EXPECT_EQ(seconds_left({x}, 5), 10);
  plan.delivered_steps = 120; // nothing is waited for
  plan.unique_delivered_steps = 60;
  x.set_shares(plan);
  EXPECT_EQ(x.trainer_seconds(), 35);
}

TEST(SecondsLeft, WhatIsToComeCounts) {
  auto x = some_work(4, 1);
  x.steps_to_come = 20;
  x.longest_to_come = 3;
  EXPECT_EQ(seconds_left({x}, 2), 12); // all of it
  EXPECT_EQ(seconds_left({x}, 8), 3.5); // one after the other
  x.running = 2;
  EXPECT_EQ(seconds_left({x}, 8), 5); // what runs comes before
  x.seconds_max = 1.5;
  EXPECT_EQ(seconds_left({x}, 8), 1.5);
  EXPECT_EQ(seconds_left({x, some_work(1, 1)}, 8), 5); // another has no budget
}

TEST(FindHopeless, StudyWithoutTrialsIsNot) {
  run_record run;
  run.studies.emplace_back();
  EXPECT_FALSE(find_hopeless(run));
}

TEST(FindHopeless, OneTrialThatCompletedIsEnough) {
  run_record run;
  auto& study = run.studies.emplace_back();
  study.trials = {sample_trial(0, 2, .5), sample_trial(1, 2, .5)};
  study.trials[0].state = trial_state::failed;
  EXPECT_FALSE(find_hopeless(run));
}

TEST(FindHopeless, AllTrialsFailedNamesStudy) {
  run_record run;
  run.studies.resize(2);
  run.studies[1].name = "second";
  run.studies[1].trials = {sample_trial(0, 2, .5)};
  run.studies[1].trials[0].state = trial_state::failed;
  const auto why = find_hopeless(run);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, errc::training_failed);
  EXPECT_EQ(why->message, "every trial of study 'second' failed");
}

} // namespace hippo
