// What is added to a stored study of what is known only while it runs.

#include <gtest/gtest.h>

#include "gateway/live_study.hpp"

namespace hippo {
namespace {

constexpr auto key = "toy;seed=1";

/// A study that has 1,000 steps of a second before it, of which 10 are being
/// trained by the one trainer that it has.
struct LiveStudyTest : ::testing::Test {
  study_view stored;
  live_view now;

  LiveStudyTest() {
    stored.study.id = study_id{1};
    stored.study.state = study_phase::running;
    stored.workload_key = key;
    auto& study = now.studies[study_id{1}];
    study.id = study_id{1};
    study.waiting_steps = 1000;
    study.deadline_left = 100;
    merger_status plan;
    plan.step_seconds = 1;
    plan.figures.asked_steps = plan.figures.unique_steps = 1000;
    plan.running.push_back({.trainer = trainer_id{1},
                            .lane = 0,
                            .config = {},
                            .studies = {study_id{1}},
                            .at = 0,
                            .to = 10});
    now.mergers.push_back(plan);
    now.merger_of[key] = 0;
    trainer_record trainer;
    trainer.number = 1;
    now.pool.trainers.push_back(trainer);
  }

  /// Says what machines cost, of which each has two trainers.
  void price(const std::string& kind) {
    now.pool.trainers[0].machine = kind;
    now.pool.costs.emplace();
    now.pool.costs->push_back({.kind = kind, .on_each = 2});
  }

  live_study_view seen() { return live_view_of(stored, now); }
};

TEST_F(LiveStudyTest, HowLongItTakesFollowsFromItsTrainers) {
  EXPECT_EQ(seen().seconds_left, 1000);
  EXPECT_EQ(seen().deadline_left, 100);
  now.idle = 4;
  EXPECT_EQ(seen().seconds_left, 200);
}

TEST_F(LiveStudyTest, WhoIsLateIsToldHowManyTrainersMoreWouldDo) {
  EXPECT_EQ(seen().needed, "9 more trainers");
  now.idle = 8;
  EXPECT_EQ(seen().needed, "1 more trainer");
  now.idle = 9;
  EXPECT_EQ(seen().needed, "");
}

TEST_F(LiveStudyTest, MachinesAreCountedWhereTheirKindIsKnown) {
  price("a100");
  EXPECT_EQ(seen().needed, "5 more a100"); // nine trainers
  now.idle = 8;
  EXPECT_EQ(seen().needed, "1 more a100");
}

TEST_F(LiveStudyTest, NoNumberHelpsWhereOnePathTakesTooLong) {
  now.mergers[0].running[0].to = 101;
  EXPECT_EQ(seen().needed, "");
  EXPECT_GT(*seen().seconds_left, *seen().deadline_left);
}

TEST_F(LiveStudyTest, WhoHasNoTrainerYetIsToldNothing) {
  now.mergers[0].running.clear();
  now.idle = 4;
  EXPECT_EQ(seen().seconds_left, std::nullopt);
  EXPECT_EQ(seen().needed, "");
}

TEST_F(LiveStudyTest, NothingIsExpectedOfOneThatHasEnded) {
  stored.study.state = study_phase::complete;
  EXPECT_EQ(seen().seconds_left, std::nullopt);
  EXPECT_EQ(seen().deadline_left, std::nullopt);
}

} // namespace
} // namespace hippo
