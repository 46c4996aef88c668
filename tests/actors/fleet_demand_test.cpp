// The trainers that could be used, of what the actors say.

#include <gtest/gtest.h>

#include "gateway/fleet_demand.hpp"
#include "gateway/live_study.hpp"

namespace hippo {
namespace {

constexpr auto key = "toy;seed=1";

/// A study with 10 trials that has a trainer and could use three more; another
/// trainer is idle.
struct FleetDemandTest : testing::Test {
  live_view now;

  FleetDemandTest() {
    auto& study = now.studies[study_id{1}];
    study.view.id = 1;
    study.view.workload = key;
    study.view.weight = 1;
    study.view.trials = 10;
    study.waiting_steps = 1000;
    merger_status plan;
    plan.step_seconds = 1;
    plan.startable_stages = 3;
    plan.figures.asked_steps = plan.figures.unique_steps = 1000;
    // Two lanes of one trainer.
    for (std::uint32_t lane = 0; lane < 2; ++lane)
      plan.running.push_back({.trainer = trainer_id{1},
                              .lane = lane,
                              .config = {},
                              .studies = {study_id{1}},
                              .at = 0,
                              .to = 10});
    now.mergers.push_back(plan);
    now.merger_of[key] = 0;
    now.pool.trainers.resize(3);
    for (std::uint64_t i = 0; i < 3; ++i) {
      auto& x = now.pool.trainers[i];
      x.number = i + 1;
      x.name = "host:" + std::to_string(i + 1);
      x.device = "test";
      x.memory_bytes = 5;
    }
    now.pool.trainers[2].left = true;
    now.pool.idle_seconds[trainer_id{2}] = 2.5;
    now.pool.demands.push_back({key, {"a", "b"}, {"tiny"}, 1});
  }

  demand_view seen() {
    look_ahead(now);
    return demand_of(now);
  }

  study_status& study() { return now.studies.at(study_id{1}); }
  std::uint64_t& wanted() { return now.pool.demands[0].wanted; }
};

TEST_F(FleetDemandTest, CountsWhatTrainsAndWhatWaits) {
  const auto x = seen();
  EXPECT_EQ(x.trainers, 4u);
  ASSERT_EQ(x.work.size(), 1u);
  const auto& work = x.work[0];
  EXPECT_EQ(work.workload, key);
  EXPECT_EQ(work.kinds, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(work.unfit, std::vector<std::string>{"tiny"});
  EXPECT_EQ(work.working, 1u) << "lanes are of one trainer";
  EXPECT_EQ(work.waiting, 3u);
  EXPECT_EQ(work.seconds, 250) << "of four";
  EXPECT_EQ(work.stuck, "");
  EXPECT_EQ(kinds_text(work), "a|b");
  EXPECT_EQ(kinds_text({}), "any");
}

TEST_F(FleetDemandTest, ListsConnectedTrainers) {
  const auto xs = seen().connected;
  ASSERT_EQ(xs.size(), 2u);
  EXPECT_EQ(xs[0], (connected_trainer{1, "host:1", "test", 5, {}, {}, 1}));
  EXPECT_EQ(xs[1], (connected_trainer{2, "host:2", "test", 5, 2.5, {}, 1}));
  now.pool.trainers[0].seconds_left = 90;
  now.pool.trainers[0].ranks = 4;
  now.pool.refused.push_back({"old:7", "run the same release"});
  EXPECT_EQ(seen().connected[0],
            (connected_trainer{1, "host:1", "test", 5, {}, 90, 4}));
  EXPECT_EQ(seen().refused, now.pool.refused);
  now.pool.trainers[1].held_up = "does not return since 40 s";
  EXPECT_EQ(seen().connected[1].idle_seconds, std::nullopt);
}

TEST_F(FleetDemandTest, NeverAsksForMoreThanCouldTrainAtOnce) {
  wanted() = UINT32_MAX;
  EXPECT_EQ(seen().trainers, 10u);
  study().view.finished = 4;
  EXPECT_EQ(seen().trainers, 6u);
  study().view.seeds = 3;
  EXPECT_EQ(seen().trainers, 18u);
  study().view.finished = 10;
  EXPECT_EQ(seen().trainers, 1u) << "it trains yet";
  now.mergers[0].running.clear();
  EXPECT_EQ(seen().trainers, 0u);
  EXPECT_TRUE(seen().work.empty());
}

TEST_F(FleetDemandTest, PausedStudiesAskForNothing) {
  wanted() = UINT32_MAX;
  study().state = study_phase::paused;
  EXPECT_EQ(seen().work.at(0).waiting, 0u);
  EXPECT_EQ(seen().trainers, 1u) << "it goes on with what it has begun";
}

TEST_F(FleetDemandTest, NobodyIsOfUseWithoutRoom) {
  now.mergers[0].hindered = "no room";
  EXPECT_EQ(seen().work.at(0).waiting, 0u);
}

TEST_F(FleetDemandTest, OneIsAskedForWhereTheOthersLeaveTooSoon) {
  now.mergers[0].short_of_time = "a step takes about 2 h";
  EXPECT_EQ(seen().work.at(0).waiting, 1u);
}

TEST_F(FleetDemandTest, TellsTheRanksOfTrials) {
  now.pool.demands[0].ranks = 4;
  EXPECT_EQ(seen().work.at(0).ranks, 4u);
}

TEST_F(FleetDemandTest, OneIsAskedForOnceThoseThatCouldNotTrainHaveGone) {
  now.mergers[0].hindered = "trainer 1 says: it has another Python";
  now.mergers[0].running.clear();
  for (auto& x : now.pool.trainers)
    x.left = true;
  const auto x = seen();
  EXPECT_EQ(x.trainers, 1u);
  ASSERT_EQ(x.work.size(), 1u);
  EXPECT_EQ(x.work[0].waiting, 1u);
}

TEST_F(FleetDemandTest, WhatNoneCanTrainAsksForOneMore) {
  now.pool.stuck.push_back({key, "none can"});
  EXPECT_EQ(seen().work.at(0).waiting, 1u);
  EXPECT_EQ(seen().work.at(0).stuck, "none can");
  for (auto& x : now.pool.trainers)
    x.left = true;
  EXPECT_EQ(seen().work.at(0).waiting, 3u) << "there are none";
}

TEST_F(FleetDemandTest, SaysTheFirstDeadlineOnly) {
  EXPECT_EQ(seen().work.at(0).deadline_seconds, std::nullopt);
  study().view.deadline_seconds_left = 100;
  auto& other = now.studies[study_id{2}];
  other = study();
  other.view.id = 2;
  other.view.deadline_seconds_left = 50;
  EXPECT_EQ(seen().work.at(0).deadline_seconds, 50);
}

TEST_F(FleetDemandTest, WhatIsNotMeasuredHasNoTime) {
  now.mergers[0].step_seconds = 0;
  EXPECT_EQ(seen().work.at(0).seconds, std::nullopt);
}

} // namespace
} // namespace hippo
