// Who gets how much of the trainers' time, in virtual time.

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "actors/actor_fixture.hpp"
#include "actors/toy_profile.hpp"
#include "hippo/search/registry.hpp"
#include "hippo/space/study.hpp"
#include "journal.hpp"
#include "merger.hpp"
#include "pool.hpp"
#include "simulated_engine.hpp"
#include "study.hpp"
#include "trainer.hpp"
#include "virtual_time.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;

/// Hand-overs cost little, so that what they cost does not blur the shares.
simulation_profile brisk_profile() {
  auto result = test::toy_profile();
  for (auto& x : result.workload.hyper_parameters)
    x.affects_speed = false;
  for (auto& x : result.step_seconds)
    x.seconds = 5;
  result.dispatch_seconds = result.evaluate_seconds = 0.1;
  result.load_seconds = result.save_seconds = 0.2;
  return result;
}

/// A service of several workloads in virtual time.
class SharesTest : public test::actor_test {
public:
  simulation_profile profile = brisk_profile();
  std::shared_ptr<virtual_timeline> timeline
    = std::make_shared<virtual_timeline>();
  virtual_time clock{sys, timeline};
  std::shared_ptr<simulation_profiles> profiles
    = std::make_shared<simulation_profiles>();
  pool_actor trainers_pool;
  journal_actor log;
  std::map<std::string, merger_actor> mergers; ///< by workload
  std::vector<training_actor> trainers;

  struct study_entry {
    study_actor handle;
    merger_actor merger;
    study_no number{}; ///< the merger's
  };
  std::vector<study_entry> studies;

  /// @param at_once leases of each trainer
  void open(std::size_t n, const std::vector<std::string>& workloads,
            std::uint32_t at_once = 1) {
    pool_options watching;
    watching.heartbeat_interval = 1h;
    watching.silence_max = 10h;
    trainers_pool = spawn(pool, watching);
    log = spawn(journal, nullptr, 0ms, nullptr);
    hello x;
    x.device = profile.device;
    x.at_once = at_once;
    for (const auto& name : workloads) {
      auto& y = (*profiles)[name] = profile;
      y.workload.name = name;
      merger_options options;
      options.workload.name = name;
      options.first_lease = lease_id{mergers.size() * 1'000'000 + 1};
      mergers[name] = spawn(merger, options, trainers_pool, log);
      x.workloads[name];
    }
    const auto store = std::make_shared<simulated_store>();
    for (; n > 0; --n)
      trainers.push_back(
        spawn(trainer, caf::actor_cast<registrar_actor>(trainers_pool), x,
              std::shared_ptr<engine>(std::make_shared<simulated_engine>(
                timeline, profiles, store, 1)),
              nullptr));
    clock.settle();
  }

  /// Adds a study that has `trials` paths of `steps` to train, which it shares
  /// with no other. @returns its place in `studies`
  std::size_t add_study(const std::string& workload, double weight,
                        std::size_t trials = 20, step_t steps = 10'000,
                        step_t every = 10,
                        const std::string& algorithm = "grid") {
    std::string rates;
    for (std::size_t i = 0; i < trials; ++i)
      rates += (i == 0 ? "" : ", ")
               + std::to_string(1 + studies.size() * 100 + i) + "e-5";
    return add_study_of(workload, weight, "{choice: [" + rates + "]}", steps,
                        every, algorithm);
  }

  std::size_t add_study_of(const std::string& workload, double weight,
                           const std::string& rates, step_t steps,
                           step_t every,
                           const std::string& algorithm = "grid") {
    const auto text =
      "study: s" + std::to_string(studies.size()) + "\nworkload: " + workload
      + "\nobjective: {metric: loss}\neval_every: " + std::to_string(every)
      + "\nmax_steps: " + std::to_string(steps) + "\nspace: {lr: " + rates
      + "}\nalgorithm: " + algorithm + "\nweight: " + std::to_string(weight)
      + '\n';
    const auto read
      = read_study(text, "test.yaml", {profiles->at(workload).workload});
    EXPECT_TRUE(read.study) << to_text(read.errors.at(0));
    study_options opts;
    opts.spec = *read.study;
    opts.search = read_search(opts.spec);
    opts.workload = profiles->at(workload).workload;
    opts.stored.id = study_id{studies.size() + 1};
    opts.stored.weight = weight;
    study_entry x;
    x.merger = mergers.at(workload);
    x.handle = spawn(study,
                     study_setup{opts, std::make_shared<thinking_at_once>()},
                     x.merger, log,
                     caf::actor_cast<observer_actor>(self));
    const auto number = ask<study_no>(x.handle, start_atom::value);
    EXPECT_TRUE(number);
    x.number = *number;
    studies.push_back(x);
    return studies.size() - 1;
  }

  void run_to(virtual_timeline::duration when) {
    for (const auto& [name, x] : mergers)
      self->send(x, go_atom::value);
    bool there = false;
    timeline->schedule_at(when, [&there] { there = true; });
    ASSERT_TRUE(clock.run_until([&there] { return there; }));
  }

  merger_overview overview(const merger_actor& x) {
    return *ask<merger_overview>(x, overview_atom::value);
  }

  /// The device seconds that each study has had by now.
  std::vector<double> device_seconds() {
    std::vector<double> result;
    for (const auto& x : studies)
      result.push_back(overview(x.merger).study_seconds[x.number]);
    return result;
  }

  /// Those since `before`.
  std::vector<double> device_seconds(const std::vector<double>& before) {
    auto result = device_seconds();
    for (std::size_t i = 0; i < before.size(); ++i)
      result[i] -= before[i];
    return result;
  }

  /// Times that a trainer went from one lease to another that loads something.
  double loads() {
    double result = 0;
    for (const auto& [name, x] : mergers)
      result += overview(x).load_seconds / profile.load_seconds;
    return result;
  }

  /// Expects shares within 5 % of those that the weights ask for.
  static void expect_shares(const std::vector<double>& seconds,
                            const std::vector<double>& weights) {
    const auto sum = [](const auto& xs) {
      return std::accumulate(xs.begin(), xs.end(), 0.0);
    };
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto due = sum(seconds) * weights[i] / sum(weights);
      EXPECT_NEAR(seconds[i] / due, 1, 0.05) << "study " << i;
    }
  }
};

/// With so many trainers.
class SharesOnTrainersTest : public SharesTest,
                             public testing::WithParamInterface<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(Trainers, SharesOnTrainersTest,
                         testing::Values(1, 2, 3, 8),
                         testing::PrintToStringParamName());

TEST_P(SharesOnTrainersTest, OfWorkloadsAreByWeight) {
  open(GetParam(), {"a", "b"});
  add_study("a", 2, GetParam()); // every path could go on for the whole hour
  add_study("b", 1, GetParam());
  run_to(1h);
  const auto seconds = device_seconds();
  expect_shares(seconds, {2, 1});
  EXPECT_NEAR(seconds[0] + seconds[1],
              3600 * static_cast<double>(GetParam()), 1);
}

TEST_P(SharesOnTrainersTest, OfStudiesOnOneTreeAreByWeight) {
  open(GetParam(), {"a"});
  add_study("a", 2, GetParam());
  add_study("a", 1, GetParam());
  run_to(1h);
  expect_shares(device_seconds(), {2, 1});
}

TEST_P(SharesOnTrainersTest, OfStudiesOnLanesAreByWeight) {
  open(GetParam(), {"a"}, 4);
  add_study("a", 1, 4 * GetParam()); // has the longer paths
  add_study("a", 1, 4 * GetParam(), 2000);
  run_to(1h);
  expect_shares(device_seconds(), {1, 1});
}

/// Draws at random, and starts no more than trainers are free for.
const char* const cautious = "{tpe: {startup: 1000}}";

TEST_P(SharesOnTrainersTest, OfAStudyThatStartsFewAtATimeAreByWeight) {
  open(GetParam(), {"a"});
  add_study("a", 1, GetParam());
  add_study("a", 2, 20, 500, 10, cautious);
  run_to(1h);
  expect_shares(device_seconds(), {1, 2});
}

TEST_P(SharesOnTrainersTest, OfWorkloadsThatStartFewAtATimeAreByWeight) {
  open(GetParam(), {"a", "b"});
  add_study("a", 2, GetParam(), 10'000, 10, cautious);
  add_study("b", 1, GetParam(), 10'000, 10, cautious);
  run_to(1h);
  const auto seconds = device_seconds();
  expect_shares(seconds, {2, 1});
  EXPECT_NEAR(seconds[0] + seconds[1],
              3600 * static_cast<double>(GetParam()), 1);
}

TEST_P(SharesOnTrainersTest, AreThoseOfTheHeavierOfTwoThatComeLater) {
  open(GetParam(), {"a", "b"});
  add_study("a", 1, 20); // has the longer paths
  add_study("a", 2, 20, 500);
  add_study("b", 3, 20, 500);
  run_to(1h);
  expect_shares(device_seconds(), {1, 2, 3});
}

TEST_P(SharesOnTrainersTest, FollowWeightsThatChange) {
  open(GetParam(), {"a", "b"});
  add_study("a", 2);
  add_study("a", 1);
  add_study("b", 3);
  run_to(1h);
  const auto before = device_seconds();
  expect_shares(before, {2, 1, 3});
  self->send(mergers["a"], weight_atom::value, study_no{0}, 1.0);
  self->send(mergers["a"], weight_atom::value, study_no{1}, 2.0);
  run_to(2h);
  expect_shares(device_seconds(before), {1, 2, 3});
}

TEST_P(SharesOnTrainersTest, DoNotGrowWhileThereIsNothingToTrain) {
  open(GetParam(), {"a", "b"});
  add_study("a", 1);
  add_study("a", 1, 1, 1); // waits once and has ended
  add_study("b", 5, 1, 1);
  run_to(1h);
  const auto before = device_seconds();
  EXPECT_LT(before[1] + before[2], 20);
  add_study("a", 1);
  add_study("b", 2);
  run_to(2h);
  const auto seconds = device_seconds(before);
  expect_shares({seconds[0], seconds[3], seconds[4]}, {1, 1, 2});
}

TEST_P(SharesOnTrainersTest, DoNotGrowWhileThereIsOneThingToTrain) {
  open(GetParam(), {"a", "b"});
  add_study("a", 1, 1);
  add_study("b", 1);
  run_to(1h);
  const auto before = device_seconds();
  add_study("a", 1);
  run_to(2h);
  // No longer than an equal share of the trainers lasts for it.
  const auto seconds = device_seconds(before);
  const auto n = static_cast<double>(GetParam());
  EXPECT_NEAR((seconds[0] + seconds[2]) / (n * 3600 * 2 / 3), 1, 0.05);
  EXPECT_NEAR(seconds[1] / (n * 3600 / 3), 1, 0.05);
}

TEST_P(SharesOnTrainersTest, AreKeptWhenATrainerDies) {
  open(GetParam() + 1, {"a", "b"});
  add_study("a", 1);
  add_study("a", 1);
  add_study("b", 1);
  timeline->schedule_at(11min, [this] {
    caf::anon_send_exit(trainers[0], caf::exit_reason::kill);
  });
  run_to(1h);
  const auto seconds = device_seconds();
  expect_shares(seconds, {1, 1, 1});
  EXPECT_NEAR(seconds[0] + seconds[1] + seconds[2],
              660 + 3600 * static_cast<double>(GetParam()), 1);
}

TEST_F(SharesTest, NoneOfManyStudiesStarves) {
  open(2, {"a", "b", "c"});
  for (std::size_t i = 0; i < 20; ++i)
    add_study(i < 12 ? "a" : i < 18 ? "b" : "c", 1, 3, 1000 - 40 * i);
  run_to(20min);
  for (const auto& x : device_seconds())
    EXPECT_GT(x, 30);
  run_to(4h);
  for (const auto& x : device_seconds())
    EXPECT_NEAR(x, 4 * 3600 * 2 / 20.0, 4 * 3600 * 2 / 20.0 * 0.15);
}

TEST_F(SharesTest, WhatStudiesHaveInCommonIsDividedByWeight) {
  open(1, {"a"});
  add_study_of("a", 3, "0.1", 100, 10);
  add_study_of("a", 1, "0.1", 100, 10);
  run_to(30min); // all is done by then
  const auto seconds = device_seconds();
  EXPECT_NEAR(seconds[0], 3 * seconds[1], 1e-6);
  EXPECT_NEAR(seconds[0] + seconds[1], overview(mergers["a"]).busy_seconds,
              1e-6);
}

TEST_F(SharesTest, AStageIsPaidForByThoseWhoWaitForIt) {
  open(1, {"a"});
  // 100 steps in common, and as many for each alone.
  add_study_of("a", 1, "0.1", 200, 10);
  add_study_of("a", 1,
               "{multistep: {initial: 0.1, milestones: [100], gamma: 0.5}}",
               200, 10);
  run_to(1h);
  const auto seconds = device_seconds();
  EXPECT_NEAR(seconds[0], 750, 20);
  EXPECT_NEAR(seconds[1], 750, 20);
}

TEST_F(SharesTest, OfAStudyWithOnePathAreNotMadeUpForWhenItBranches) {
  open(8, {"a"});
  std::string decays;
  for (int i = 1; i <= 20; ++i)
    decays += (i == 1 ? "" : ", ") + std::to_string(i) + "e-2";
  add_study_of("a", 1,
               "{multistep: {initial: 0.1, milestones: [500], gamma: {choice: ["
                 + decays + "]}}}",
               10'000, 10);
  add_study("a", 1);
  run_to(1h); // for most of which there was one path
  const auto before = device_seconds();
  EXPECT_LT(before[0], before[1] / 3);
  run_to(2h);
  expect_shares(device_seconds(before), {1, 1});
}

TEST_F(SharesTest, WhoIsServedBeforeLongerWorkIsNotInterruptedForIt) {
  open(1, {"a"});
  add_study("a", 1, 1, 10'000, 2);
  add_study("a", 1, 1, 1000, 2);
  run_to(1h);
  expect_shares(device_seconds(), {1, 1});
  EXPECT_GT(loads(), 10);
  EXPECT_LT(loads(), 90); // with a quantum to and one fro at least
}

TEST_F(SharesTest, WhatIsSharedPutsNobodyBehindAndCountsForAll) {
  open(2, {"a"});
  // The second asks for the first's way too, and for more beside it.
  add_study_of("a", 1, "{choice: [0.1, 0.2]}", 10'000, 10);
  add_study_of("a", 1, "{choice: [0.1, 0.3]}", 10'000, 10);
  run_to(1h);
  expect_shares(device_seconds(), {1, 1});
}

TEST_F(SharesTest, NothingIsHandedOverWhereNobodyWaits) {
  open(3, {"a", "b"});
  add_study("a", 1, 1);
  add_study("b", 1, 1);
  add_study("a", 1, 1);
  run_to(1h);
  EXPECT_EQ(loads(), 0);
}

TEST_F(SharesTest, NothingIsHandedOverWhereOneWorkloadAloneHasWork) {
  open(1, {"a", "b"});
  add_study("b", 1, 1, 1);
  run_to(1min); // it has ended
  add_study("a", 1, 1);
  run_to(1h);
  EXPECT_EQ(loads(), 0);
}

TEST_F(SharesTest, HandOversCostATenthOfTheTimeAtMost) {
  profile.dispatch_seconds = 5;
  profile.load_seconds = profile.save_seconds = 20;
  open(1, {"a", "b"});
  add_study("a", 1, 1);
  add_study("a", 1, 1);
  add_study("b", 1, 1);
  run_to(4h);
  expect_shares(device_seconds(), {1, 1, 1});
  double spent = 0;
  for (const auto& [name, x] : mergers) {
    const auto seen = overview(x);
    spent += seen.load_seconds + seen.dispatch_seconds;
  }
  EXPECT_GT(loads(), 5);
  // Saving every two minutes costs more and is not for the shares.
  EXPECT_LT(spent, 4 * 3600 * 25 / 45.0 * 0.1);
}

TEST_F(SharesTest, AWeightThatIsNoneIsIgnored) {
  open(1, {"a"});
  add_study("a", 1, 1);
  add_study("a", 1, 1);
  for (auto weight : {0.0, -1.0, std::nan(""), HUGE_VAL})
    self->send(mergers["a"], weight_atom::value, study_no{0}, weight);
  self->send(mergers["a"], weight_atom::value, study_no{2}, 9.0);
  run_to(1h);
  expect_shares(device_seconds(), {1, 1});
}

} // namespace
} // namespace hippo
