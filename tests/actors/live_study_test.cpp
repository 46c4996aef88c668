// What is added to a stored study of what is known only while it runs.

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "gateway/live_study.hpp"

namespace hippo {
namespace {

constexpr auto key = "toy;seed=1";

/// A study that has 1,000 steps of a second before it, of which 10 are being
/// trained by the one trainer that it has.
struct LiveStudyTest : ::testing::Test {
  archived_study stored;
  live_view now;

  LiveStudyTest() {
    stored.row.id = study_id{1};
    stored.row.state = study_phase::running;
    stored.view.workload = key;
    auto& study = now.studies[study_id{1}];
    study.view.id = 1;
    study.view.workload = key;
    study.view.weight = 1;
    study.view.deadline_seconds_left = 100;
    study.waiting_steps = 1000;
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
    set_trainers(1);
  }

  /// Of which one trains for the study.
  void set_trainers(std::uint64_t count) {
    now.pool.trainers.resize(count);
    for (std::uint64_t i = 0; i < count; ++i)
      now.pool.trainers[i].number = i + 1;
  }

  /// Another study that runs, with so many steps before it.
  void add_rival(std::uint64_t steps, double weight) {
    auto& study = now.studies[study_id{now.studies.size() + 1}];
    study = now.studies[study_id{1}];
    study.view.id = now.studies.size();
    study.waiting_steps = steps;
    study.view.weight = weight;
  }

  /// Says what machines cost, of which each has two trainers.
  void price(const std::string& kind) {
    now.pool.trainers[0].machine = kind;
    now.pool.costs.emplace();
    now.pool.costs->push_back({.kind = kind, .on_each = 2});
  }

  study_view seen() {
    look_ahead(now);
    return live_view_of(stored, now);
  }
};

TEST_F(LiveStudyTest, SaysForWhatItWaits) {
  EXPECT_EQ(seen().waiting, "");
  now.mergers[0].hindered = "no room";
  EXPECT_EQ(seen().waiting, "no room");
  now.pool.stuck.push_back({"other;seed=1", "none can"});
  EXPECT_EQ(seen().waiting, "no room");
  now.pool.stuck.push_back({key, "none of them can"});
  EXPECT_EQ(seen().waiting, "none of them can");
  now.journal.trouble = "disk full";
  EXPECT_NE(seen().waiting.find("disk full"), std::string::npos);
  stored.row.state = study_phase::complete;
  EXPECT_EQ(seen().waiting, "");
}

TEST_F(LiveStudyTest, IsToldForWhatItWaitsInAnotherProcess) {
  now = {};
  now.told[study_id{1}] = "no room";
  EXPECT_EQ(seen().waiting, "no room");
  now.told.clear();
  EXPECT_EQ(seen().waiting, "");
}

TEST_F(LiveStudyTest, HowLongItTakesFollowsFromItsTrainers) {
  EXPECT_EQ(seen().seconds_left, 1000);
  EXPECT_EQ(seen().deadline_seconds_left, 100);
  set_trainers(5);
  EXPECT_EQ(seen().seconds_left, 200);
  now.pool.trainers[3].lost = "silent";
  EXPECT_EQ(seen().seconds_left, 250);
  now.pool.trainers[4].held_up = "does not return since 40 s";
  EXPECT_EQ(seen().seconds_left, 1000.0 / 3);
}

TEST_F(LiveStudyTest, OthersHaveTheirSharesAsLongAsTheyHaveWork) {
  set_trainers(10);
  add_rival(5000, 1); // has half of them until the end, and more
  EXPECT_EQ(seen().seconds_left, 200);
  now.studies[study_id{2}].waiting_steps = 400; // it is through before
  EXPECT_DOUBLE_EQ(*seen().seconds_left, 140);
  now.studies[study_id{2}].waiting_steps = 5000;
  now.studies[study_id{2}].view.weight = 3;
  EXPECT_EQ(seen().seconds_left, 400);
  add_rival(1000, 1);
  EXPECT_EQ(seen().seconds_left, 500);
  now.studies[study_id{2}].state = study_phase::paused;
  EXPECT_EQ(seen().seconds_left, 200);
}

TEST_F(LiveStudyTest, SharesAreThoseOfAFluidModel) {
  std::mt19937_64 random{11};
  const auto below = [&](std::uint64_t n) { return 1 + random() % n; };
  for (int round = 0; round < 20; ++round) {
    set_trainers(below(40));
    now.studies.erase(std::next(now.studies.begin()), now.studies.end());
    for (auto n = below(6); n > 0; --n)
      add_rival(below(5000), static_cast<double>(below(8)) / 2);
    std::map<study_id, double> left, ends;
    for (const auto& [id, x] : now.studies)
      left[id] = static_cast<double>(x.waiting_steps);
    double at = 0;
    while (!left.empty()) { // until the next one has all that it wants
      double weights = 0, next = 1e300;
      for (const auto& kvp : left)
        weights += now.studies[kvp.first].view.weight;
      const auto rate = static_cast<double>(now.pool.trainers.size()) / weights;
      for (const auto& [id, work] : left)
        next = std::min(next, work / (rate * now.studies[id].view.weight));
      at += next;
      for (auto i = left.begin(); i != left.end();) {
        i->second -= next * rate * now.studies[i->first].view.weight;
        if (i->second < 1e-6)
          ends[i->first] = at;
        i = i->second < 1e-6 ? left.erase(i) : std::next(i);
      }
    }
    EXPECT_NEAR(*seen().seconds_left, std::max(ends[study_id{1}], 10.0), 1e-3);
  }
}

TEST_F(LiveStudyTest, WhoIsLateIsToldHowManyTrainersMoreWouldDo) {
  EXPECT_EQ(seen().needed, "9 more trainers");
  set_trainers(9);
  EXPECT_EQ(seen().needed, "1 more trainer");
  set_trainers(10);
  EXPECT_EQ(seen().needed, "");
  add_rival(500, 1);
  EXPECT_EQ(seen().needed, "5 more trainers");
}

TEST_F(LiveStudyTest, MachinesAreCountedWhereTheirKindIsKnown) {
  price("a100");
  EXPECT_EQ(seen().needed, "5 more a100"); // nine trainers
  set_trainers(9);
  price("a100");
  EXPECT_EQ(seen().needed, "1 more a100");
}

TEST_F(LiveStudyTest, NoNumberHelpsWhereOnePathTakesTooLong) {
  now.mergers[0].running[0].to = 101;
  EXPECT_EQ(seen().needed, "");
  EXPECT_GT(*seen().seconds_left, *seen().deadline_seconds_left);
}

TEST_F(LiveStudyTest, WhoHasNoTrainerYetIsToldNothing) {
  now.mergers[0].running.clear();
  set_trainers(4);
  EXPECT_EQ(seen().seconds_left, std::nullopt);
  EXPECT_EQ(seen().needed, "");
}

TEST_F(LiveStudyTest, NothingIsExpectedOfOneThatHasEnded) {
  stored.row.state = study_phase::complete;
  EXPECT_EQ(seen().seconds_left, std::nullopt);
  EXPECT_EQ(seen().deadline_seconds_left, std::nullopt);
}

} // namespace
} // namespace hippo
