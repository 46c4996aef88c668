#include "simulated_engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

namespace hippo {
namespace {

using namespace std::chrono_literals;

/// An engine that takes 10 s for a step and 1 s for all else, without actors.
class SimulatedEngineTest : public testing::Test {
public:
  std::shared_ptr<virtual_timeline> timeline =
    std::make_shared<virtual_timeline>();
  std::shared_ptr<simulated_store> store =
    std::make_shared<simulated_store>();
  std::optional<simulated_engine> device;

  struct told {
    virtual_timeline::duration when;
    engine_event what;
  };
  std::vector<told> heard;

  void SetUp() override {
    simulation_profile profile;
    profile.device = "toy";
    profile.step_seconds.resize(1);
    profile.step_seconds[0].seconds = 10;
    profile.dispatch_seconds = 1;
    profile.evaluate_seconds = 1;
    profile.curve.metrics.resize(1);
    profile.curve.metrics[0].name = "loss";
    profile.curve.momentum = {"", 0};
    profile.curve.batch_size = {"", 32};
    profile.at_once_gain = 2.5;
    device.emplace(timeline,
                   std::make_shared<simulation_profiles>(
                     simulation_profiles{{"toy", profile}}),
                   store, 1);
    timeline->advance_to(100s);
  }

  static lease ten_steps(std::uint64_t number) {
    lease result;
    result.number = lease_id{number};
    result.workload.name = "toy";
    result.stages = {{node_id{1}, 0, 10, {{"lr", form::constant(0.1)}}}};
    result.stops = {{10, true, false}};
    return result;
  }

  void start(std::uint64_t number) {
    device->start(ten_steps(number), [this](engine_event x) {
      heard.push_back({timeline->now(), std::move(x)});
    });
  }

  /// Goes on to `when`, or until nothing is left.
  void run_to(virtual_timeline::duration when) {
    while (timeline->next_time() && *timeline->next_time() <= when)
      timeline->run_next();
    if (timeline->next_time())
      timeline->advance_to(when);
  }

  [[nodiscard]] const stop_report& report(std::size_t i) const {
    return std::get<stop_report>(heard.at(i).what);
  }

  [[nodiscard]] const lease_end& end(std::size_t i) const {
    return std::get<lease_end>(heard.at(i).what);
  }
};

TEST_F(SimulatedEngineTest, TellsWhenTrainingWould) {
  EXPECT_EQ(device->reached(lease_id{3}), 0u);
  start(3);
  run_to(136s);
  EXPECT_TRUE(heard.empty());
  EXPECT_EQ(device->reached(lease_id{3}), 3u);
  run_to(300s);
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0].when, 202s);
  EXPECT_EQ(report(0).at, 10u);
  EXPECT_EQ(heard[1].when, 202s);
  EXPECT_FALSE(end(1).failure);
  EXPECT_EQ(device->reached(lease_id{3}), 0u);
}

TEST_F(SimulatedEngineTest, TellsEveryStopOnceWhenSomeAreAdded) {
  start(3);
  run_to(115s);
  device->add_stop(lease_id{3}, {7, true, false});
  device->add_stop(lease_id{3}, {2, false, false});
  device->add_stop(lease_id{3}, {5, false, false});
  run_to(500s);
  ASSERT_EQ(heard.size(), 5u);
  for (const auto& [i, at, when] : {std::tuple{0u, 2u, 121s},
                                    {1u, 5u, 151s},
                                    {2u, 7u, 172s},
                                    {3u, 10u, 203s}}) {
    EXPECT_EQ(report(i).at, at);
    EXPECT_EQ(heard[i].when, when);
  }
  EXPECT_EQ(end(4).at, 10u);
}

TEST_F(SimulatedEngineTest, CancelsOnlyTheLeaseThatIsNamed) {
  start(3);
  run_to(115s);
  device->cancel(lease_id{2});
  device->add_stop(lease_id{2}, {5, true, false});
  EXPECT_EQ(timeline->next_time(), 202s);
  device->cancel(lease_id{3});
  run_to(500s);
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].when, 121s);
  EXPECT_EQ(end(0).failure->code, errc::cancelled);
  device->cancel(lease_id{3}); // it has ended
  EXPECT_FALSE(timeline->next_time());
}

TEST_F(SimulatedEngineTest, MayBeStartedAnewByWhoHearsTheEnd) {
  device->start(ten_steps(3), [this](engine_event x) {
    if (std::holds_alternative<lease_end>(x))
      start(4);
  });
  run_to(1000s);
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0].when, 202s + 102s);
  EXPECT_EQ(end(1).lease, lease_id{4});
}

TEST_F(SimulatedEngineTest, NoLeaseIsSlowerUpToTheGain) {
  start(3);
  start(4);
  run_to(1000s);
  ASSERT_EQ(heard.size(), 4u);
  for (const auto& x : heard)
    EXPECT_EQ(x.when, 202s);
}

TEST_F(SimulatedEngineTest, BeyondTheGainAllLeasesAreSlowerAlike) {
  start(3);
  start(4);
  run_to(151s);
  for (std::uint64_t number = 5; number < 8; ++number)
    start(number); // five now: half as fast
  run_to(200s);
  EXPECT_EQ(device->reached(lease_id{3}), 7u); // 51 s and half of 49 s
  EXPECT_EQ(device->reached(lease_id{5}), 2u);
  device->add_stop(lease_id{5}, {3, false, false});
  run_to(2000s);
  ASSERT_EQ(heard.size(), 11u);
  EXPECT_EQ(report(0).at, 3u);
  EXPECT_EQ(heard[0].when, 151s + 2 * 31s);
  EXPECT_EQ(report(1).lease, lease_id{3});
  EXPECT_EQ(heard[1].when, 151s + 2 * 51s);
  // Of 102 s of its own 100 s were training: that has taken 1.5 times as long.
  EXPECT_EQ(report(1).train_ns, 150'000'000'000u);
  EXPECT_EQ(report(1).evaluate_ns, 1'500'000'000u);
  // Those of the other one come at the same time, in whichever order.
  EXPECT_EQ(std::ranges::count(heard, 151s + 2 * 51s, &told::when), 4);
  // They have had half of 102 s by then, and three are 1.2 times as slow.
  EXPECT_EQ(heard[5].when, 253s + 61'200ms);
  EXPECT_EQ(heard.back().when, 253s + 61'200ms);
}

TEST_F(SimulatedEngineTest, SaysNothingOnceItIsGone) {
  start(3);
  device.reset();
  EXPECT_FALSE(timeline->next_time());
}

} // namespace
} // namespace hippo
