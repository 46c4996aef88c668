// Trainers that train several leases at once.

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "actors/service_fixture.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;

using lane_set = std::set<std::uint32_t>;

/// So many trials without a step in common.
std::string apart_study(int trials, int steps = 9) {
  std::string rates;
  for (int i = 1; i <= trials; ++i)
    rates += (i > 1 ? ", " : "") + std::to_string(i);
  return "study: apart\nworkload: {name: model}\nobjective: {metric: value}\n"
         "max_steps: "
         + std::to_string(steps) + "\nspace: {lr: {choice: [" + rates
         + "]}}\nalgorithm: grid\n";
}

/// Four trials for each of two batch sizes.
const char* const two_sizes = R"(
study: sizes
workload: {name: model}
objective: {metric: value}
max_steps: 9
space:
  lr: {choice: [1, 2, 3, 4]}
  batch_size: {choice: [64, 128]}
algorithm: grid
)";

struct LanesTest : test::service_test {
  void open_with(std::uint32_t lanes) {
    at_once = lanes;
    open();
  }

  lane_set lanes_of(std::size_t i) { return trainers[i].device->lanes(); }

  std::size_t busy_lanes() {
    std::size_t result = 0;
    for (const auto& x : trainers)
      result += x.device->lanes().size();
    return result;
  }

  merger_overview overview() {
    return *ask<merger_overview>(merging, overview_atom::value);
  }
};

TEST_F(LanesTest, EveryLaneIsGivenAPath) {
  open_with(4);
  add_study(apart_study(3));
  go();
  add_trainer();
  run();
  EXPECT_EQ(lanes_of(0), (lane_set{0, 1, 2}));
  run_all();
  expect_results_as_alone(0);
  EXPECT_EQ(trained(), status().figures.unique_steps);
}

TEST_F(LanesTest, ALaneIsFilledAgainWhileOthersTrain) {
  open_with(2);
  add_study(apart_study(5));
  go();
  auto& device = *add_trainer().device;
  run();
  ASSERT_EQ(device.leases().size(), 2u);
  const auto stays = device.leases()[0];
  const lease_id goes{number_of(stays) + 1};
  while (device.leases().size() == 2 && device.leases()[1] == goes) {
    device.step(goes);
    run();
  }
  EXPECT_EQ(lanes_of(0), (lane_set{0, 1}));
  EXPECT_EQ(device.leases()[0], stays);
  run_all();
  expect_results_as_alone(0);
}

TEST_F(LanesTest, IdleTrainersAreUsedBeforeOneIsGivenASecondLease) {
  open_with(4);
  for (int i = 0; i < 3; ++i)
    add_trainer();
  run();
  add_study(apart_study(5));
  go();
  run();
  std::multiset<std::size_t> leases;
  for (std::size_t i = 0; i < 3; ++i)
    leases.insert(lanes_of(i).size());
  EXPECT_EQ(leases, (std::multiset<std::size_t>{1, 2, 2}));
  run_all();
  expect_results_as_alone(0);
}

TEST_F(LanesTest, TrainersMayTrainDifferentlyMany) {
  open_with(1);
  add_trainer();
  at_once = 8;
  add_trainer();
  at_once = 2;
  add_trainer();
  run();
  add_study(apart_study(20));
  go();
  run();
  EXPECT_EQ(lanes_of(0).size(), 1u);
  EXPECT_EQ(lanes_of(1).size(), 8u);
  EXPECT_EQ(lanes_of(2).size(), 2u);
  run_all();
  expect_results_as_alone(0);
}

TEST_F(LanesTest, BatchSizesNeedNotBeEqual) {
  open_with(8);
  add_study(two_sizes);
  go();
  add_trainer();
  run();
  EXPECT_EQ(lanes_of(0).size(), 8u);
  run_all();
  expect_results_as_alone(0);
}

TEST_F(LanesTest, APathGoesOnInTheLaneThatItsStateIsIn) {
  open_with(2);
  add_study(apart_study(2));
  go();
  auto& device = *add_trainer().device;
  run();
  const auto leases = device.leases();
  ASSERT_EQ(leases.size(), 2u);
  // The lease in lane 1 ends early, with a checkpoint.
  device.add_stop(leases[1], {.at = 4, .save = true, .last = true});
  while (device.leases() == leases) {
    device.step(leases[1]);
    run();
  }
  EXPECT_EQ(lanes_of(0), (lane_set{0, 1}));
  run_all();
  expect_results_as_alone(0);
}

TEST_F(LanesTest, ALaneThatFailsLeavesTheOthersAlone) {
  open_with(4);
  add_study(apart_study(4));
  go();
  const error broken{errc::training_failed, "out of luck"};
  add_trainer().device->poison = [&](const configuration& x) {
    return x.at("lr") == form::constant(2) ? &broken : nullptr;
  };
  run_all();
  int failed = 0;
  for (const auto& x : record_of(0).trials)
    failed += x.state == trial_state::failed;
  EXPECT_EQ(failed, 1);
  expect_results_as_alone(0);
  // Nothing of the others was trained twice.
  EXPECT_EQ(trainers[0].device->trained, 3 * 9u + 3u);
}

TEST_F(LanesTest, ATrainerThatIsLostLosesAllItsLeases) {
  open_with(4);
  add_study(apart_study(4));
  go();
  add_trainer();
  run();
  ASSERT_EQ(busy_lanes(), 4u);
  self->send_exit(trainers[0].handle, caf::exit_reason::kill);
  run();
  EXPECT_TRUE(status().running.empty());
  trainers.clear();
  add_trainer();
  run();
  // What a trainer was lost over must not take others along.
  EXPECT_EQ(lanes_of(0).size(), 1u);
  run_all();
  expect_results_as_alone(0);
}

TEST_F(LanesTest, ATrainerThatTakesLeaveSavesInEveryLane) {
  open_with(3);
  add_study(apart_study(3));
  go();
  add_trainer();
  run();
  for (auto number : trainers[0].device->leases())
    trainers[0].device->step(number);
  run();
  const auto before = kept->plan().checkpoints.size();
  self->send(trainers[0].handle, leave_atom::value);
  run();
  trainers[0].device->step();
  run();
  EXPECT_FALSE(trainers[0].device->busy());
  EXPECT_EQ(kept->plan().checkpoints.size(), before + 3);
  add_trainer();
  run_all();
  expect_results_as_alone(0);
}

TEST_F(LanesTest, ATrainerThatTakesLeaveIsGivenNoFurtherLeases) {
  open_with(2);
  add_study(apart_study(4));
  go();
  auto& device = *add_trainer().device;
  run();
  const auto leases = device.leases();
  ASSERT_EQ(leases.size(), 2u);
  self->send(trainers[0].handle, leave_atom::value);
  run();
  device.step(leases[0]);
  run(); // what the lane is given then comes back
  EXPECT_EQ(device.leases(), std::vector<lease_id>{leases[1]});
  EXPECT_EQ(status().running.size(), 1u);
  device.step(leases[1]);
  run();
  EXPECT_FALSE(device.busy());
  EXPECT_TRUE(status().running.empty());
  add_trainer();
  run_all();
  expect_results_as_alone(0);
}

TEST_F(LanesTest, AStallEndsAllLeasesOfTheTrainer) {
  merger_options options;
  at_once = 2;
  options.stall_max = options.unmeasured_stall_max = 60s;
  open(std::move(options));
  add_study(apart_study(2));
  go();
  add_trainer();
  run();
  ASSERT_EQ(status().running.size(), 2u);
  for (int second = 0; second < 70; ++second) {
    sched.advance_time(1s);
    run();
  }
  EXPECT_TRUE(status().running.empty());
  add_trainer();
  run_all();
  expect_results_as_alone(0);
}

TEST_F(LanesTest, DeviceTimeCountsOnceHoweverManyLanesShareIt) {
  open_with(4);
  add_study(apart_study(4));
  go();
  add_trainer();
  run();
  while (trainers[0].device->busy()) {
    sched.advance_time(10s);
    trainers[0].device->step();
    run();
  }
  const auto seen = overview();
  double end = 0;
  std::set<std::uint32_t> lanes;
  for (const auto& x : seen.timeline) {
    end = std::max(end, x.end);
    lanes.insert(x.lane);
  }
  EXPECT_EQ(lanes.size(), 4u);
  EXPECT_NEAR(seen.status.device_seconds, end, 1e-6);
  EXPECT_NEAR(seen.study_seconds[study_no{}], end, 1e-6);
}

TEST_F(LanesTest, AnotherWorkloadGetsTheTrainerWhenItIsDue) {
  open_with(2);
  add_study(apart_study(40, 60));
  go();
  add_trainer();
  run();
  ASSERT_EQ(busy_lanes(), 2u);
  merger_options options;
  options.workload = {"model", {{"seed", 2.0}}};
  options.speed_names = {"batch_size"};
  merging = spawn(merger, std::move(options), trainers_pool, log);
  add_study(apart_study(2));
  go();
  const auto has_ended = [&](std::size_t i) {
    return phase_of(i) == study_phase::complete;
  };
  for (int second = 0; second < 600 && !has_ended(1); ++second) {
    sched.advance_time(1s);
    trainers[0].device->step();
    run();
  }
  EXPECT_TRUE(has_ended(1));
  EXPECT_FALSE(has_ended(0));
  expect_results_as_alone(1);
}

} // namespace
} // namespace hippo
