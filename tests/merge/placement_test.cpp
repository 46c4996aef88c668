#include "hippo/service/merge/placement.hpp"

#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "merge/world.hpp"

namespace hippo {
namespace {

using test::at_second;
using test::world;

constexpr trainer_id first_trainer{1};
constexpr trainer_id second_trainer{2};

TEST(TrainingSeconds, OnlyWhatIsLeftOfAPathCounts) {
  world x;
  const auto node = x.add_trial(x.add_study(100), 100);
  const auto path = x.path_on(node);
  EXPECT_DOUBLE_EQ(training_seconds(x.view(), path.stages, 0), 100);
  EXPECT_DOUBLE_EQ(training_seconds(x.view(), path.stages, 40), 60);
  EXPECT_DOUBLE_EQ(training_seconds(x.view(), path.stages, 100), 0);
  EXPECT_DOUBLE_EQ(
    training_seconds(x.view(), {{node, 0, 10, {}}, {node, 10, 30, {}}}, 5),
    25);
}

TEST(Place, ATreeThatBeginsGoesToTheFastestKind) {
  world x;
  const auto what = x.path_on(x.add_trial(x.add_study(100), 100));
  for (const auto& [trainer, kind] :
       {std::pair{first_trainer, "slow"}, std::pair{second_trainer, "fast"}}) {
    x.join(trainer);
    x.kinds.add_trainer(trainer, kind);
  }
  EXPECT_EQ(place(x.view(), what)->trainer, first_trainer);
  const kind_speeds speeds{{"slow", 0.5}, {"fast", 2}};
  auto view = x.view();
  view.speeds = &speeds;
  const auto found = place(view, what);
  EXPECT_EQ(found->trainer, second_trainer);
  EXPECT_DOUBLE_EQ(found->seconds, 50);
  // What has begun on a kind stays there, with its times.
  x.kinds.keep(what.stages.back().node, "slow");
  EXPECT_EQ(place(view, what)->trainer, first_trainer);
  EXPECT_DOUBLE_EQ(place(view, what)->seconds, 100);
}

TEST(DeviceSeconds, LanesOfATrainerAreOneDevice) {
  world x{4};
  const auto study = x.add_study(100);
  x.join(first_trainer);
  x.join(second_trainer);
  for (std::uint32_t lane = 0; lane < 4; ++lane)
    x.begin(first_trainer, lane, x.add_trial(study, 100));
  EXPECT_DOUBLE_EQ(device_seconds_of(x.view(), 2),
                   2 * fair_shares::quantum_seconds);
  x.begin(second_trainer, 0, x.add_trial(study, 100));
  EXPECT_DOUBLE_EQ(device_seconds_of(x.view(), 2),
                   2 * 2 * fair_shares::quantum_seconds);
}

TEST(DeviceSeconds, WhereNobodyWorksOneDeviceCounts) {
  world x;
  EXPECT_DOUBLE_EQ(device_seconds_of(x.view(), 1),
                   fair_shares::quantum_seconds);
  x.join(first_trainer);
  x.join(second_trainer);
  EXPECT_DOUBLE_EQ(device_seconds_of(x.view(), 1),
                   fair_shares::quantum_seconds);
}

// -- time limits --------------------------------------------------------------

/// A trial of 100 steps of 2 s each, measured for 5 s at the end, which is a
/// twentieth of a second for each step, and saved in 3 s, and a trainer that
/// leaves after so many seconds.
struct limited_world : world {
  explicit limited_world(std::optional<double> seconds, bool has_trained = true)
    : node(add_trial(add_study(100), 100)) {
    if (has_trained) {
      estimates.learn_step(estimates.speed_key(plan.config_of(node), 0), 10,
                           20);
      estimates.learn(timed::evaluate, 5);
      estimates.learn(timed::save, 3);
      follow(); // takes new estimates in
    }
    leases.add(first_trainer, 1,
               seconds ? std::optional{at_second(*seconds)} : std::nullopt);
  }

  /// The stages of the only path, as the trainer would be given them.
  std::vector<stage> fitted() const {
    auto what = path_on(node);
    fit_time_limit(view(), first_trainer, what.start, what.stages);
    return what.stages;
  }

  node_id node{};
};

TEST(TimeLimit, ALeaseEndsBeforeItsTrainerLeaves) {
  // 100 steps, a measurement and a checkpoint take 208 s.
  EXPECT_EQ(limited_world{208}.fitted().back().end, 100u);
  EXPECT_EQ(limited_world{std::nullopt}.fitted().back().end, 100u);
  // A half: 102.5 of 205 s.
  EXPECT_EQ(limited_world{3 + 102.5}.fitted().back().end, 50u);
  EXPECT_EQ(limited_world{3 + 102.4}.fitted().back().end, 49u);
  // The first step stays, whether it fits or not.
  EXPECT_EQ(limited_world{0}.fitted().back().end, 1u);
}

TEST(TimeLimit, TimeThatHasPassedCounts) {
  limited_world x{305.5};
  x.advance(200);
  EXPECT_EQ(x.fitted().back().end, 50u);
}

TEST(TimeLimit, BeforeAnythingWasMeasuredThereIsTime) {
  limited_world x{1, false};
  EXPECT_TRUE(has_time(x.view(), first_trainer, x.path_on(x.node)));
  EXPECT_EQ(x.fitted().back().end, 100u);
}

TEST(TimeLimit, APathGoesToWhoStaysForItsFirstStep) {
  limited_world x{4.9};
  const auto what = x.path_on(x.node);
  EXPECT_FALSE(has_time(x.view(), first_trainer, what));
  EXPECT_FALSE(place(x.view(), what));
  EXPECT_EQ(why_short_of_time(x.view(), what),
            "a step takes about 2.1 s, and the trainers that are free leave "
            "sooner, the last of them in 4.9 s: start one with a longer time "
            "limit (--until)");
  x.join(second_trainer);
  EXPECT_EQ(place(x.view(), what)->trainer, second_trainer);
  limited_world enough{5.1};
  EXPECT_TRUE(place(enough.view(), enough.path_on(enough.node)));
  EXPECT_EQ(why_short_of_time(enough.view(), enough.path_on(enough.node)), "");
}

TEST(TimeLimit, LoadingCounts) {
  limited_world x{8 + 2 * 20};
  x.estimates.learn(timed::load, 5);
  auto what = x.path_on(x.node);
  what.start.file = "some.bin";
  fit_time_limit(x.view(), first_trainer, what.start, what.stages);
  EXPECT_EQ(what.stages.back().end, 19u); // 40 of 205 s
}

TEST(TimeLimit, StagesBeyondItAreLeftToOthers) {
  limited_world x{3 + 61.6};
  const std::vector<stage> all{{x.node, 0, 10, {}},
                               {x.node, 10, 20, {}},
                               {x.node, 20, 50, {}},
                               {x.node, 50, 100, {}}};
  auto stages = all;
  fit_time_limit(x.view(), first_trainer, {}, stages);
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_EQ(stages.back().begin, 20u);
  EXPECT_EQ(stages.back().end, 30u);
  stages = all;
  x.advance(20.55); // the first two remain, and little more
  fit_time_limit(x.view(), first_trainer, {}, stages);
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages.back().end, 20u);
}

/// Two studies, the first of which has had a trainer for so many seconds more
/// than the second, which has had one for a second, or has not had any. Both
/// wait: the first for longer work.
struct two_studies : world {
  explicit two_studies(double seconds, std::uint32_t lanes = 1,
                       bool is_new = false)
    : world(lanes) {
    first = add_study(1000);
    second = add_study(10);
    first_node = add_trial(first, 1000);
    second_node = add_trial(second, 10);
    join(first_trainer);
    if (!is_new) {
      const lease_id before{1000};
      ledger.begin(before, first_trainer, {second});
      advance(1);
      ledger.end(before);
    }
    const auto id = begin(first_trainer, 0, first_node);
    advance(is_new ? seconds : seconds + 1);
    end(id);
  }

  study_no first{}, second{};
  node_id first_node{}, second_node{};
};

TEST(LeftBehind, StudyIsLeftBehindBeyondTwoQuanta) {
  two_studies near{60};
  EXPECT_FALSE(left_behind(near.view(), near.ledger.shares(), {near.first}));
  two_studies far{61};
  EXPECT_EQ(left_behind(far.view(), far.ledger.shares(), {far.first}),
            far.second);
}

TEST(LeftBehind, StudyThatHasHadNothingIsSoon) {
  const auto most = fair_shares::first_quantum_seconds;
  two_studies near{most, 1, true};
  EXPECT_FALSE(left_behind(near.view(), near.ledger.shares(), {near.first}));
  two_studies far{most + 1, 1, true};
  EXPECT_EQ(left_behind(far.view(), far.ledger.shares(), {far.first}),
            far.second);
}

TEST(LeftBehind, NobodyIsLeftBehindByWhatIsForItToo) {
  two_studies x{200};
  EXPECT_FALSE(
    left_behind(x.view(), x.ledger.shares(), {x.first, x.second}));
}

TEST(LeftBehind, StudyThatDoesNotWaitIsNotLeftBehind) {
  two_studies x{200};
  x.ledger.set_waiting(x.second, false);
  EXPECT_FALSE(left_behind(x.view(), x.ledger.shares(), {x.first}));
  x.ledger.set_waiting(x.first, false);
  EXPECT_FALSE(left_behind(x.view(), x.ledger.shares(), {x.first}));
}

TEST(LeftBehind, LanesOfATrainerDoNotAddToTheSlack) {
  two_studies x{100, 4};
  for (std::uint32_t lane = 0; lane < 4; ++lane)
    x.begin(first_trainer, lane, x.add_trial(x.first, 1000));
  x.ledger.end(lease_id{2}); // as it will be
  EXPECT_EQ(left_behind(x.view(), x.ledger.shares(), {x.first}), x.second);
}

TEST(NextPath, LongestGoesFirst) {
  two_studies x{10};
  const auto path = next_path(x.view());
  ASSERT_TRUE(path);
  EXPECT_EQ(path->stages.front().node, x.first_node);
}

TEST(NextPath, StudyThatWouldBeLeftBehindGoesFirst) {
  two_studies x{100};
  const auto path = next_path(x.view());
  ASSERT_TRUE(path);
  EXPECT_EQ(path->stages.front().node, x.second_node);
}

TEST(NextPath, NothingRunnableIsNoPath) {
  world x;
  EXPECT_FALSE(next_path(x.view()));
  EXPECT_FALSE(next_placement(x.view()));
}

TEST(Place, NoFreeTrainerIsNoPlace) {
  world x;
  const auto node = x.add_trial(x.add_study(100), 100);
  EXPECT_FALSE(place(x.view(), x.path_on(node)));
}

TEST(Place, EmptyTrainerTakesAPathAlone) {
  world x;
  const auto node = x.add_trial(x.add_study(100), 100);
  x.join(first_trainer);
  const auto where = place(x.view(), x.path_on(node));
  ASSERT_TRUE(where);
  EXPECT_EQ(where->trainer, first_trainer);
  EXPECT_DOUBLE_EQ(where->own, 100);
  EXPECT_DOUBLE_EQ(where->seconds, 100);
  EXPECT_EQ(where->leases, 0u);
}

TEST(Place, OfEqualTrainersTheEmptiestIsChosen) {
  world x{3};
  const auto study = x.add_study(100);
  for (std::uint64_t i = 1; i <= 3; ++i)
    x.join(trainer_id{i});
  x.begin(trainer_id{1}, 0, x.add_trial(study, 100));
  x.begin(trainer_id{1}, 1, x.add_trial(study, 100));
  x.begin(trainer_id{3}, 0, x.add_trial(study, 100));
  const auto path = x.path_on(x.add_trial(study, 100));
  auto where = place(x.view(), path);
  ASSERT_TRUE(where);
  EXPECT_EQ(where->trainer, trainer_id{2});
  EXPECT_EQ(where->leases, 0u);
  x.leases.set_aside(trainer_id{2});
  where = place(x.view(), path);
  ASSERT_TRUE(where);
  EXPECT_EQ(where->trainer, trainer_id{3});
  EXPECT_EQ(where->leases, 1u);
}

/// A trainer of kind `gpu` on which two leases at once take half as long again,
/// and four twice as long.
struct crowded_world : world {
  explicit crowded_world(std::uint32_t lanes) : world(lanes) {
    for (const auto& [crowd, seconds] : {std::pair{1, 10}, {2, 15}, {4, 20}})
      for (int i = 0; i < 5; ++i)
        estimates.learn_step("", 10, seconds, "gpu", crowd);
    add_gpu(first_trainer);
  }

  void add_gpu(trainer_id id) {
    join(id);
    kinds.add_trainer(id, "gpu");
  }
};

TEST(Place, BesideOthersAPathTakesLonger) {
  crowded_world x{4};
  const auto study = x.add_study(100);
  for (const auto slowdown : {1.0, 1.5}) {
    const auto node = x.add_trial(study, 100);
    const auto where = place(x.view(), x.path_on(node));
    ASSERT_TRUE(where);
    EXPECT_NEAR(where->own, 100, 1e-6);
    EXPECT_NEAR(where->seconds, 100 * slowdown, 1e-6);
    x.begin(first_trainer, static_cast<std::uint32_t>(where->leases), node);
  }
}

TEST(Place, AFastTrainerWithALeaseIsBetterThanASlowOneWithoutAny) {
  crowded_world x{2};
  const auto study = x.add_study(100);
  x.begin(first_trainer, 0, x.add_trial(study, 100));
  x.join(second_trainer);
  x.kinds.add_trainer(second_trainer, "slow");
  const auto path = x.path_on(x.add_trial(study, 100));
  EXPECT_EQ(place(x.view(), path)->trainer, second_trainer);
  auto view = x.view();
  kind_speeds speeds{{"gpu", 1.4}, {"slow", 1}};
  view.speeds = &speeds;
  EXPECT_EQ(place(view, path)->trainer, second_trainer);
  speeds["gpu"] = 1.6;
  EXPECT_EQ(place(view, path)->trainer, first_trainer);
}

TEST(FullTrainers, TrainerIsFilledUntilTheSumOfRatesStopsGrowing) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng{seed};
    const auto lanes = static_cast<std::uint32_t>(2 + rng() % 7);
    const auto useful = static_cast<std::uint32_t>(1 + rng() % lanes);
    world x{lanes};
    x.join(first_trainer);
    x.kinds.add_trainer(first_trainer, "gpu");
    // As many as are useful do not slow each other down; more take turns.
    for (std::uint32_t leases = 1; leases <= lanes; ++leases)
      for (int i = 0; i < 3; ++i)
        x.estimates.learn_step(
          "", 10, 10 * std::max(1.0, 1.0 * leases / useful), "gpu", leases);
    const auto study = x.add_study(100);
    std::uint32_t given = 0;
    while (full_trainers(x.view()).empty() && given < lanes)
      x.begin(first_trainer, given++, x.add_trial(study, 100));
    EXPECT_EQ(given, useful);
    EXPECT_EQ(lanes_worth(x.view(), first_trainer), useful);
  }
}

TEST(FullTrainers, TrainerOfWhichNothingIsKnownIsFilled) {
  world x{8};
  x.join(first_trainer);
  EXPECT_EQ(lanes_worth(x.view(), first_trainer), 8u);
  x.begin(first_trainer, 0, x.add_trial(x.add_study(100), 100));
  EXPECT_TRUE(full_trainers(x.view()).empty());
}

TEST(Place, TrainerThatHasFailedAtAPathLeavesItToOthers) {
  world x{1};
  const auto study = x.add_study(100);
  x.join(first_trainer);
  x.join(second_trainer);
  const auto node = x.add_trial(study, 100);
  const auto failed = x.begin(first_trainer, 0, node);
  x.retries.judge(*x.leases.find(failed),
                  {failed, 4, error{errc::training_failed, ""}, {}},
                  x.plan);
  x.end(failed);
  const auto path = x.path_on(node);
  auto where = place(x.view(), path);
  ASSERT_TRUE(where); // nobody else is known to be able
  EXPECT_EQ(where->trainer, first_trainer);
  x.retries.set_able({first_trainer, second_trainer});
  const auto other = x.begin(second_trainer, 0, x.add_trial(study, 100));
  EXPECT_FALSE(place(x.view(), path));
  x.end(other);
  x.join(trainer_id{3});
  x.begin(trainer_id{3}, 0, x.add_trial(study, 100));
  where = place(x.view(), path);
  ASSERT_TRUE(where);
  EXPECT_EQ(where->trainer, second_trainer);
}

/// As long as the path would be trained with the same settings.
TEST(Place, TrainerThatHasFailedUnderSomeSettingsLeavesThoseToOthers) {
  world x{1};
  const retry_policy::settings a{{"folder", std::string{"a"}}},
    b{{"folder", std::string{"b"}}};
  const auto study = x.add_study(100, 1, a);
  x.add_study(100, 1, b);
  x.join(first_trainer);
  x.join(second_trainer);
  const auto node = x.add_trial(study, 100);
  const auto failed = x.begin(first_trainer, 0, node);
  x.retries.set_able({first_trainer, second_trainer});
  auto lease = *x.leases.find(failed);
  x.end(failed);
  x.begin(second_trainer, 0, x.add_trial(study, 100));
  const auto fail_by = [&](const retry_policy::settings& by) {
    lease.work.workload.settings = by;
    x.retries.judge(lease, {failed, 4, error{errc::training_failed, ""}, {}},
                    x.plan);
  };
  fail_by(b);
  EXPECT_TRUE(place(x.view(), x.path_on(node)));
  fail_by(a);
  EXPECT_FALSE(place(x.view(), x.path_on(node)));
}

TEST(NextPlacement, PathThatFailedOnAllFreeTrainersGivesWay) {
  world x;
  const auto study = x.add_study(1000);
  x.join(first_trainer);
  x.join(second_trainer);
  const auto node = x.add_trial(study, 1000);
  const auto failed = x.begin(first_trainer, 0, node);
  x.retries.judge(*x.leases.find(failed),
                  {failed, 4, error{errc::training_failed, ""}, {}},
                  x.plan);
  x.end(failed);
  x.retries.set_able({first_trainer, second_trainer});
  x.begin(second_trainer, 0, x.add_trial(x.add_study(10), 10));
  auto placed = next_placement(x.view());
  ASSERT_TRUE(placed);
  EXPECT_FALSE(placed->where);
  EXPECT_EQ(placed->what.stages.front().node, node);
  const auto other = x.add_trial(x.add_study(20), 20);
  placed = next_placement(x.view());
  ASSERT_TRUE(placed && placed->where);
  EXPECT_EQ(placed->what.stages.front().node, other);
  EXPECT_EQ(placed->where->trainer, first_trainer);
}

/// However short: what else is there for a trainer without a lease?
TEST(NextPlacement, TrainerWithoutALeaseTakesAnythingBeforeOneIsCrowded) {
  world x{2};
  x.join(first_trainer);
  x.join(second_trainer);
  const auto node = x.add_trial(x.add_study(1000), 1000);
  const auto failed = x.begin(first_trainer, 0, node);
  x.retries.judge(*x.leases.find(failed),
                  {failed, 4, error{errc::training_failed, ""}, {}},
                  x.plan);
  x.end(failed);
  x.retries.set_able({first_trainer, second_trainer});
  x.begin(second_trainer, 0, x.add_trial(x.add_study(500), 500));
  auto placed = next_placement(x.view());
  ASSERT_TRUE(placed && placed->where);
  EXPECT_EQ(placed->where->trainer, second_trainer);
  EXPECT_EQ(placed->where->leases, 1u);
  const auto other = x.add_trial(x.add_study(20), 20);
  placed = next_placement(x.view());
  ASSERT_TRUE(placed && placed->where);
  EXPECT_EQ(placed->what.stages.front().node, other);
  EXPECT_EQ(placed->where->trainer, first_trainer);
}

TEST(LaneFor, LaneWhoseStateAPathStartsFromIsChosen) {
  lease_table::trainer_entry trainer;
  trainer.lanes = {{lease_id{1}, {}}, {{}, "b"}, {{}, ""}, {{}, "a"}};
  path x;
  x.start.file = "a";
  EXPECT_EQ(lane_for(trainer, x), 3u);
  x.start.file = "b";
  EXPECT_EQ(lane_for(trainer, x), 1u);
  x.start.file = "c";
  EXPECT_EQ(lane_for(trainer, x), 1u);
}

TEST(LaneFor, StateOfAnOccupiedLaneIsOfNoUse) {
  lease_table::trainer_entry trainer;
  trainer.lanes = {{lease_id{1}, "a"}, {{}, "b"}};
  path x;
  x.start.file = "a";
  EXPECT_EQ(lane_for(trainer, x), 1u);
}

TEST(LaneFor, InitialStateIsInNoLane) {
  lease_table::trainer_entry trainer;
  trainer.lanes = {{{}, "b"}, {{}, ""}};
  EXPECT_EQ(lane_for(trainer, {}), 0u);
}

/// A study for each weight, and studies that want capacity.
struct capacity_world : world {
  capacity_world(std::uint32_t lanes, const std::vector<double>& weights,
                 const std::vector<bool>& wants)
    : world(lanes), studies(plan) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      ledger.add_study(weights[i]);
      const auto no =
        studies.add({study_id{i + 1}, {10, {10}}, weights[i], false});
      study_orders orders;
      orders.wants_capacity = wants[i];
      if (studies.apply(no, orders, true))
        std::abort();
    }
  }

  study_table studies;
};

std::vector<std::uint64_t> divided(const capacity_world& x) {
  const auto offers = divide_capacity(x.view(), x.studies);
  return {offers.begin(), offers.end()};
}

TEST(DivideCapacity, FreeLanesAreDividedByWeight) {
  capacity_world x{4, {1, 3}, {true, true}};
  x.join(first_trainer);
  x.join(second_trainer);
  EXPECT_EQ(divided(x), (std::vector<std::uint64_t>{2, 6}));
}

TEST(DivideCapacity, LanesThatAreWorthNothingAreNotDivided) {
  capacity_world x{4, {1, 1}, {true, true}};
  for (int i = 0; i < 3; ++i)
    for (std::uint32_t leases : {1u, 2u, 3u})
      x.estimates.learn_step("", 1, std::max(2u, leases), "gpu", leases);
  x.join(first_trainer);
  x.kinds.add_trainer(first_trainer, "gpu");
  x.leases.add(second_trainer, 6);
  EXPECT_EQ(divided(x), (std::vector<std::uint64_t>{4, 4}));
}

TEST(DivideCapacity, LaneCountsAsAPartOfADevice) {
  capacity_world x{4, {1, 1}, {true, true}};
  x.join(first_trainer);
  x.ledger.begin(lease_id{1}, second_trainer, {study_no{0}});
  EXPECT_EQ(divided(x), (std::vector<std::uint64_t>{0, 4}));
}

TEST(DivideCapacity, StudiesThatWantNoneGetNone) {
  capacity_world x{4, {1, 3}, {true, false}};
  x.join(first_trainer);
  EXPECT_EQ(divided(x), (std::vector<std::uint64_t>{4, 0}));
}

TEST(DivideCapacity, WhereNobodyWantsAnyThereIsNothing) {
  capacity_world x{1, {1, 3}, {false, false}};
  x.join(first_trainer);
  EXPECT_TRUE(divided(x).empty());
}

TEST(DivideCapacity, OnlyEmptyLanesOfFreeTrainersAreDivided) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng{seed};
    const auto lanes = static_cast<std::uint32_t>(1 + rng() % 4);
    capacity_world x{lanes, {1, 2, 1}, {true, false, true}};
    std::uint64_t want = 0;
    for (std::uint64_t i = 1; i <= 3; ++i) {
      const trainer_id trainer{i};
      x.join(trainer);
      const auto busy = static_cast<std::uint32_t>(rng() % (lanes + 1));
      for (std::uint32_t lane = 0; lane < busy; ++lane)
        x.leases.begin(test::lease_of(x.leases.next_id(), trainer, lane));
      if (rng() % 4 == 0)
        x.leases.wind_down(trainer);
      else
        want += lanes - busy;
    }
    const auto offers = divided(x);
    ASSERT_EQ(offers.size(), 3u);
    EXPECT_EQ(offers[1], 0u);
    EXPECT_EQ(std::accumulate(offers.begin(), offers.end(), 0ull), want);
    EXPECT_LE(std::max(offers[0], offers[2])
                - std::min(offers[0], offers[2]),
              1u);
  }
}

} // namespace
} // namespace hippo
