#include "hippo/deploy/scale.hpp"

#include <gtest/gtest.h>

#include "deploy/scale_world.hpp"

namespace hippo {
namespace {

using namespace test;
using kind = scale_order::kind;
using state = listed_trainer::state;

// -- names and journal --------------------------------------------------------

TEST(FleetNameTest, BelongsToOneFleet) {
  EXPECT_EQ(number_in_fleet("lab", "lab-17"), 17u);
  EXPECT_EQ(number_in_fleet("lab-2", "lab-2-17"), 17u);
  for (const auto* name : {"lab-2-17", "lab", "lab-", "lab-x", "lab-017",
                           "other-17", "lab-1234567890123"})
    EXPECT_EQ(number_in_fleet("lab", name), std::nullopt) << name;
}

TEST(ScaleJournalTest, IsReadAsItWasWritten) {
  scale_journal x;
  x.last = 17;
  x.started_names["lab-17"] = {"gpu", 1700000000.5};
  const auto read = read_journal(to_text(x));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, x);
  EXPECT_EQ(*read_journal(""), scale_journal{});
  for (const auto* text : {"{", "[]", "{\"last\": \"x\", \"started\": {}}"})
    EXPECT_FALSE(read_journal(text)) << text;
}

// -- decisions ----------------------------------------------------------------

struct ScaleTest : testing::Test {
  scale_settings settings = one_group(40);
  std::optional<fleet_scaler> scaler;
  double now = 1'000'000;
  demand_view demand;
  std::vector<listed_trainer> listed;

  std::vector<scale_order> look(double seconds = 0) {
    now += seconds;
    if (!scaler)
      scaler.emplace(settings, scale_journal{});
    return scaler->observe(now, demand, listed);
  }

  void ask_for(std::uint64_t waiting, std::vector<std::string> kinds = {}) {
    work_demand x;
    x.waiting = waiting;
    x.kinds = std::move(kinds);
    demand.work.push_back(x);
  }

  /// One that runs, with its trainers.
  void add(const std::string& name, const std::string& group,
           std::optional<double> idle, const std::string& device = "cpu") {
    listed.push_back({"id of " + name, name, group, state::running});
    connected_trainer x;
    x.name = name + ":1";
    x.device = device;
    x.idle_seconds = idle;
    demand.connected.push_back(x);
  }

  static std::vector<std::string> names(const std::vector<scale_order>& xs) {
    std::vector<std::string> result;
    for (const auto& x : xs)
      result.push_back((x.what == kind::start ? "start " : "end ") + x.name
                       + " in " + x.group);
    return result;
  }
  using texts = std::vector<std::string>;
};

TEST_F(ScaleTest, StartsWhatIsMissingAtOnce) {
  ask_for(3);
  EXPECT_EQ(names(look()), (texts{"start lab-1 in gpu", "start lab-2 in gpu",
                                  "start lab-3 in gpu"}));
  EXPECT_EQ(scaler->journal().last, 3u);
  EXPECT_TRUE(look(10).empty()) << "they are on their way";
}

TEST_F(ScaleTest, TrainersOfOthersAreCounted) {
  ask_for(3);
  add("host", "", {});
  add("lab-2-1", "gpu", 5);
  EXPECT_EQ(names(look()), (texts{"start lab-1 in gpu"}));
}

TEST_F(ScaleTest, KeepsTheMinimumAndTheMaximum) {
  settings.min = 2;
  settings.max = 3;
  EXPECT_EQ(look().size(), 2u);
  ask_for(10);
  EXPECT_EQ(look(1).size(), 1u);
}

TEST_F(ScaleTest, EndsWhatIsIdleForLong) {
  settings.min = 1;
  for (const auto* name : {"lab-1", "lab-2", "lab-3"})
    add(name, "gpu", 119);
  EXPECT_TRUE(look().empty());
  for (auto& x : demand.connected)
    x.idle_seconds = 121;
  EXPECT_EQ(names(look(2)), (texts{"end lab-3 in gpu", "end lab-2 in gpu"}));
  EXPECT_TRUE(look(10).empty()) << "they are told already";
  const auto again = look(60 * 3);
  EXPECT_EQ(names(again), (texts{"end lab-2 in gpu", "end lab-3 in gpu"}));
  EXPECT_EQ(again[0].id, "id of lab-2");
}

TEST_F(ScaleTest, WhatIsIdleIsKeptForWhatWaits) {
  for (const auto* name : {"lab-1", "lab-2", "lab-3"})
    add(name, "gpu", 500);
  ask_for(2);
  EXPECT_EQ(look().size(), 1u);
}

TEST_F(ScaleTest, AProcessIsIdleWhenAllItsTrainersAre) {
  settings.groups[0].trainers = 2;
  add("lab-1", "gpu", 500);
  demand.connected.push_back(demand.connected[0]);
  demand.connected[1].idle_seconds.reset();
  work_demand work;
  work.working = 1;
  demand.work.push_back(work);
  EXPECT_TRUE(look().empty());
  demand.work.clear();
  demand.connected[1].idle_seconds = 100;
  EXPECT_TRUE(look().empty());
  demand.connected[1].idle_seconds = 300;
  EXPECT_EQ(look().size(), 1u);
}

TEST_F(ScaleTest, WhatWaitsInVainIsEnded) {
  listed.push_back({"1", "lab-1", "gpu", state::waiting});
  EXPECT_TRUE(look().empty());
  EXPECT_TRUE(look(50).empty());
  EXPECT_TRUE(look(50).empty());
  EXPECT_EQ(names(look(50)), (texts{"end lab-1 in gpu"}));
}

TEST_F(ScaleTest, TouchesOnlyItsOwn) {
  add("other-1", "gpu", 5000);
  add("lab-2-1", "gpu", 5000);
  add("lab", "gpu", 5000);
  EXPECT_TRUE(look().empty());
}

TEST_F(ScaleTest, NamesAreNotUsedAgainWhileListed) {
  listed.push_back({"9", "lab-9", "gpu", state::ended});
  ask_for(1);
  EXPECT_EQ(names(look()), (texts{"start lab-10 in gpu"}));
}

TEST_F(ScaleTest, WhatNeverJoinsIsEndedAndItsGroupPauses) {
  ask_for(2);
  EXPECT_EQ(look().size(), 2u);
  for (const auto* name : {"lab-1", "lab-2"})
    listed.push_back({name, name, "gpu", state::running});
  for (int i = 0; i < 11; ++i)
    EXPECT_TRUE(look(50).empty()) << i;
  EXPECT_EQ(names(look(50)), (texts{"end lab-1 in gpu", "end lab-2 in gpu"}));
  EXPECT_TRUE(scaler->paused_until("gpu", now));
  listed.clear();
  EXPECT_EQ(look(10).size(), 1u) << "one, until it has joined";
  EXPECT_TRUE(look(10).empty());
  add("lab-3", "gpu", {});
  demand.work[0].working = 1;
  EXPECT_EQ(look(10).size(), 2u);
}

TEST_F(ScaleTest, ARefusedStartIsTriedAgainByTheSameNameLaterEachTime) {
  ask_for(1);
  std::vector<double> moments;
  for (int i = 0; i < 2000; ++i)
    for (const auto& x : look(1)) {
      EXPECT_EQ(x.name, "lab-1");
      moments.push_back(now);
      scaler->note_failed_start(x.name, true, now);
    }
  ASSERT_GE(moments.size(), 8u);
  EXPECT_EQ(moments[1] - moments[0], 5);
  EXPECT_EQ(moments[2] - moments[1], 10);
  EXPECT_EQ(moments.back() - *(moments.end() - 2), 300);
}

TEST_F(ScaleTest, AStartWithoutAnAnswerIsAwaitedFirst) {
  ask_for(1);
  ASSERT_EQ(look().size(), 1u);
  scaler->note_failed_start("lab-1", false, now);
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(look(10).empty()) << i;
  look(10);
  const auto again = look(20);
  EXPECT_EQ(names(again), (texts{"start lab-1 in gpu"}));
}

TEST_F(ScaleTest, WhatWasStartedTwiceIsEndedOnce) {
  ask_for(1);
  add("lab-1", "gpu", {});
  listed.push_back({"second", "lab-1", "gpu", state::waiting});
  const auto orders = look();
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].id, "second");
}

TEST_F(ScaleTest, SilenceCountsForNothing) {
  add("lab-1", "gpu", {});
  demand.work.emplace_back().working = 1;
  EXPECT_TRUE(look().empty());
  // The service was away for an hour; its trainers have yet to come back.
  demand.connected.clear();
  demand.work.clear();
  EXPECT_TRUE(look(3600).empty());
  EXPECT_TRUE(look(10).empty());
  for (int i = 0; i < 58; ++i)
    EXPECT_TRUE(look(10).empty());
  EXPECT_EQ(names(look(20)), (texts{"end lab-1 in gpu"}));
}

TEST_F(ScaleTest, TheCheapestInTimeIsStarted) {
  settings.groups = {{.name = "dear", .price = 3, .start_seconds = 10},
                     {.name = "cheap", .price = 1, .start_seconds = 600},
                     {.name = "middle", .processes_max = 1, .price = 2}};
  ask_for(3);
  EXPECT_EQ(names(look())[0], "start lab-1 in cheap");
  scaler.reset();
  demand.work[0].seconds = 300; // until a cheap one comes it is done
  EXPECT_EQ(names(look()),
            (texts{"start lab-1 in middle", "start lab-2 in dear",
                   "start lab-3 in dear"}));
  scaler.reset();
  demand.work[0].seconds = 3600;
  EXPECT_EQ(names(look())[0], "start lab-1 in cheap");
  scaler.reset();
  demand.work[0].deadline_seconds = 4000;
  EXPECT_EQ(names(look())[0], "start lab-1 in middle");
}

TEST_F(ScaleTest, SoDoThoseThatWentByThemselvesWithoutWork) {
  for (const bool has_worked : {false, true}) {
    scaler.reset();
    listed.clear();
    demand = {};
    ask_for(2);
    const auto first = look();
    ASSERT_EQ(first.size(), 2u);
    for (const auto& x : first)
      add(x.name, "gpu", has_worked ? std::nullopt : std::optional{0.0});
    EXPECT_TRUE(look(10).empty());
    // Their time limits have ended.
    listed.clear();
    demand.connected.clear();
    EXPECT_EQ(look(10).size(), has_worked ? 2u : 0u);
    EXPECT_EQ(look(5).size(), has_worked ? 0u : 1u);
  }
}

TEST_F(ScaleTest, ThoseOfARunBeforeMayHaveHadWork) {
  for (const auto* name : {"lab-1", "lab-2"})
    add(name, "gpu", 300);
  EXPECT_EQ(look().size(), 2u) << "both are ended";
  listed.clear();
  demand.connected.clear();
  ask_for(2);
  EXPECT_EQ(look(1).size(), 2u);
}

TEST_F(ScaleTest, AFullQueueGivesWayToAnotherGroup) {
  settings.groups = {{.name = "cheap", .price = 1},
                     {.name = "dear", .price = 2}};
  settings.max = 2;
  ask_for(2);
  EXPECT_EQ(look().size(), 2u);
  for (const auto* name : {"lab-1", "lab-2"})
    listed.push_back({name, name, "cheap", state::waiting});
  for (int i = 0; i < 12; ++i)
    EXPECT_TRUE(look(50).empty()) << i;
  const auto ended = look(50);
  EXPECT_EQ(names(ended), (texts{"end lab-1 in cheap", "end lab-2 in cheap"}));
  EXPECT_EQ(ended[0].why, "it has waited for a machine for 600 s");
  listed.clear();
  EXPECT_EQ(names(look(1)),
            (texts{"start lab-3 in dear", "start lab-4 in dear"}));
}

TEST_F(ScaleTest, WithoutAnotherGroupAQueueIsWaitedFor) {
  for (const bool has_other : {false, true}) {
    scaler.reset();
    listed.clear();
    demand.work.clear();
    settings.groups = {{.name = "cheap", .price = 1}};
    if (has_other) // of another kind
      settings.groups.push_back({.name = "dear", .price = 2, .device = "H100"});
    ask_for(1, {"cuda NVIDIA A100"});
    const auto first = look();
    ASSERT_EQ(first.size(), 1u);
    listed.push_back({"1", first[0].name, "cheap", state::waiting});
    for (int i = 0; i < 40; ++i)
      EXPECT_TRUE(look(50).empty()) << i;
  }
}

TEST_F(ScaleTest, RanksGoToGroupsThatHaveThem) {
  settings.groups = {{.name = "single", .price = 1},
                     {.name = "four", .ranks = 4, .price = 2}};
  ask_for(2);
  ask_for(1);
  demand.work.back().ranks = 4;
  EXPECT_EQ(names(look()),
            (texts{"start lab-1 in single", "start lab-2 in single",
                   "start lab-3 in four"}));
  // A trainer of one rank is of no use to what waits for four.
  scaler.reset();
  demand.work.erase(demand.work.begin());
  add("host", "", 5);
  EXPECT_EQ(names(look()), (texts{"start lab-1 in four"}));
  scaler.reset();
  demand.connected.back().ranks = 4;
  EXPECT_TRUE(look().empty());
}

TEST_F(ScaleTest, KindsGoToGroupsThatHaveThem) {
  settings.groups = {{.name = "a", .price = 1, .device = "A100"},
                     {.name = "h", .price = 2, .device = "H100"}};
  ask_for(1, {"cuda NVIDIA H100 80GB"});
  ask_for(1);
  demand.work.emplace_back().waiting = 1;
  demand.work.back().unfit = {"cuda NVIDIA A100"};
  EXPECT_EQ(names(look()), (texts{"start lab-1 in h", "start lab-2 in a",
                                  "start lab-3 in h"}));
  // What has joined says its kind itself.
  scaler.reset();
  settings.groups = {{.name = "a"}, {.name = "b"}};
  demand.work.clear();
  add("lab-1", "a", 5, "cuda X");
  ask_for(1, {"cuda Y"});
  EXPECT_EQ(names(look()), (texts{"start lab-2 in b"}));
}

TEST_F(ScaleTest, OneThatLeavesSoonIsReplacedBefore) {
  settings.groups[0].start_seconds = 120;
  ask_for(2);
  for (const auto* name : {"lab-1", "lab-2"})
    add(name, "gpu", {});
  demand.connected[0].seconds_left = 121;
  demand.connected[1].seconds_left = 5000;
  EXPECT_TRUE(look().empty());
  demand.connected[0].seconds_left = 120;
  EXPECT_EQ(names(look(1)), (texts{"start lab-3 in gpu"}));
  EXPECT_TRUE(look(1).empty());
}

TEST_F(ScaleTest, WhatTheServiceRefusesIsEndedAndTold) {
  ask_for(2);
  EXPECT_EQ(look().size(), 2u);
  for (const auto* name : {"lab-1", "lab-2"})
    listed.push_back(
      {"id of " + std::string{name}, name, "gpu", state::running});
  demand.refused = {{"other:3", "why not"},
                    {"lab-1:7", "run the same release"}};
  const auto orders = look(5);
  EXPECT_EQ(names(orders), (texts{"end lab-1 in gpu"}));
  EXPECT_EQ(orders[0].id, "id of lab-1");
  EXPECT_EQ(scaler->take_notes(),
            (texts{"the service refuses lab-1: run the same release"}));
  EXPECT_TRUE(scaler->paused_until("gpu", now));
  EXPECT_TRUE(look(1).empty());
  EXPECT_TRUE(scaler->take_notes().empty()) << "it was told";
  listed.clear(); // both are gone; it was told of one why
  look(1);
  EXPECT_EQ(scaler->take_notes(),
            (texts{"lab-2 in gpu ended before it joined the service: its log "
                   "says why"}));
}

TEST_F(ScaleTest, TrainersThatHadNoWorkPauseTheirGroup) {
  ask_for(3);
  EXPECT_EQ(look().size(), 3u);
  for (const auto* name : {"lab-1", "lab-2", "lab-3"})
    add(name, "gpu", 0);
  EXPECT_TRUE(look(10).empty());
  demand.work.clear();
  for (auto& x : demand.connected)
    x.idle_seconds = 125;
  EXPECT_EQ(look(125).size(), 3u);
  listed.clear();
  demand.connected.clear();
  ask_for(3);
  EXPECT_TRUE(look(4).empty());
  EXPECT_EQ(names(look(1)), (texts{"start lab-4 in gpu"}));
  add("lab-4", "gpu", 0);
  EXPECT_TRUE(look(10).empty()) << "it has had no work yet";
  // Between two looks it has had some.
  demand.connected[0].idle_seconds = 2;
  EXPECT_EQ(look(10).size(), 2u);
}

// -- simulations --------------------------------------------------------------

class ScaleSimulation : public testing::TestWithParam<std::uint64_t> {};

TEST_P(ScaleSimulation, WavesLeaveLittleIdle) {
  scale_world::options what;
  what.settings = one_group(60);
  what.seed = GetParam();
  scale_world x{what};
  std::uniform_real_distribution<double> seconds{1500, 2100};
  constexpr int waves = 5;
  for (int wave = 0; wave < waves; ++wave) {
    for (int i = 0; i < 40; ++i)
      x.add_work(1, seconds(x.random()));
    x.run(4000);
    EXPECT_EQ(x.alive(), 0u) << "wave " << wave;
    // No oscillation: each trainer of a wave is started once.
    EXPECT_EQ(x.starts, 40u * static_cast<unsigned>(wave + 1));
  }
  EXPECT_LE(x.alive_max, x.asked_max);
  EXPECT_LE(x.idle_seconds, 0.1 * x.device_seconds)
    << x.idle_seconds / x.device_seconds;
  RecordProperty("idle_share",
                 std::to_string(x.idle_seconds / x.device_seconds));
}

TEST_P(ScaleSimulation, AStormIsFilledUpAgain) {
  scale_world::options what;
  what.settings = one_group(200);
  what.seed = GetParam();
  scale_world x{what};
  x.add_work(2000, 3600);
  x.run(600);
  EXPECT_EQ(x.alive(), 200u);
  for (int storm = 0; storm < 12; ++storm) {
    for (auto& y : x.all)
      if (y.alive && x.random()() % 2 == 0)
        x.vanish(y);
    EXPECT_LT(x.alive(), 150u);
    x.run(600);
    EXPECT_EQ(x.alive(), 200u) << "storm " << storm;
  }
  EXPECT_EQ(x.alive_max, 200u);
  EXPECT_LE(x.idle_seconds, 0.01 * x.device_seconds);
}

/// Runs waves, with faults in all but the last hours. Then nothing may be left.
void expect_no_orphans(scale_world& x, std::uint64_t most) {
  const auto expect_sound = [&] {
    EXPECT_EQ(x.twice().size(), 0u) << *x.twice().begin();
    EXPECT_LE(x.alive(), most);
  };
  for (int wave = 0; wave < 4; ++wave) {
    x.add_work(most, 900);
    for (int i = 0; i < 30; ++i) {
      x.run(100);
      expect_sound();
    }
  }
  x.answers = [](bool) { return engine_answer::done; };
  x.lists = x.serves = [] { return true; };
  x.killed = [] { return false; };
  x.run(7200);
  EXPECT_EQ(x.alive(), 0u);
  EXPECT_EQ(x.asked(), 0u);
}

TEST_P(ScaleSimulation, TrainersOfNoUseAreStartedRarely) {
  scale_world::options what;
  what.settings = one_group(40);
  what.seed = GetParam();
  scale_world x{what};
  x.is_of_use = false;
  x.add_work(40, 900);
  constexpr double day = 86'400;
  x.run(day);
  // The longest pause, until it has started, and until it has been idle.
  const double cycle = 300 + what.start_seconds_min + 120;
  EXPECT_LE(static_cast<double>(x.starts), 10 + day / cycle);
  EXPECT_GE(static_cast<double>(x.starts), day / cycle / 2);
  EXPECT_LE(x.idle_seconds, 140 * static_cast<double>(x.starts));
  x.is_of_use = true; // somebody has mended it
  x.run(1200);
  EXPECT_GE(x.alive(), x.asked());
  x.run(3600);
  EXPECT_EQ(x.asked(), 0u);
}

TEST_P(ScaleSimulation, KilledAtAnyMomentItStartsNothingTwice) {
  scale_world::options what;
  what.settings = one_group(12);
  what.seed = GetParam();
  scale_world x{what};
  std::uniform_int_distribution<int> dice{0, 9};
  x.killed = [&] { return dice(x.random()) == 0; };
  expect_no_orphans(x, 12);
  // A kill may cost a start, never add one: 12 in each wave at most, and those
  // that were started again since nobody knew of the first.
  std::set<std::string> names;
  for (const auto& y : x.all)
    EXPECT_TRUE(names.insert(y.name).second) << y.name << " was used again";
}

TEST_P(ScaleSimulation, KilledOnceAtEachMoment) {
  for (int moment = 0; moment < 60; ++moment) {
    scale_world::options what;
    what.settings = one_group(6);
    what.seed = GetParam();
    scale_world x{what};
    int count = 0;
    x.killed = [&] { return count++ == moment; };
    x.add_work(6, 600);
    x.run(3000);
    EXPECT_EQ(x.twice().size(), 0u) << moment;
    EXPECT_LE(x.alive_max, 6u) << moment;
    EXPECT_EQ(x.starts, 6u) << moment;
    EXPECT_EQ(x.alive(), 0u) << moment;
    EXPECT_EQ(x.asked(), 0u) << moment;
  }
}

TEST_P(ScaleSimulation, EnginesThatFailInAnyWay) {
  for (const bool refuses_twice : {true, false}) {
    scale_world::options what;
    what.settings = one_group(12);
    what.seed = GetParam();
    what.refuses_twice = refuses_twice;
    scale_world x{what};
    std::uniform_int_distribution<int> dice{0, 9};
    x.answers = [&](bool) {
      const auto n = dice(x.random());
      return n < 4 ? engine_answer::done : static_cast<engine_answer>(n % 4);
    };
    x.lists = [&] { return dice(x.random()) > 2; };
    x.serves = [&] { return dice(x.random()) > 2; };
    x.killed = [&] { return dice(x.random()) == 0; };
    expect_no_orphans(x, 12);
  }
}

TEST_P(ScaleSimulation, AMinuteWithoutAnAnswerChangesNothing) {
  scale_world::options what;
  what.settings = one_group(20);
  what.seed = GetParam();
  scale_world x{what};
  x.add_work(20, 5000);
  x.run(600);
  ASSERT_EQ(x.alive(), 20u);
  for (auto* of : {&x.lists, &x.serves}) {
    const auto starts = x.starts;
    *of = [] { return false; };
    x.run(90);
    *of = [] { return true; };
    x.run(100);
    EXPECT_EQ(x.starts, starts);
    EXPECT_EQ(x.alive(), 20u);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ScaleSimulation,
                         testing::Range<std::uint64_t>(1, 21));

} // namespace
} // namespace hippo
