#include "hippo/merge/placement.hpp"

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
    x.leases.add(trainer);
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
  x.leases.add(first_trainer);
  x.leases.add(second_trainer);
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
  x.leases.add(first_trainer);
  x.leases.add(second_trainer);
  EXPECT_DOUBLE_EQ(device_seconds_of(x.view(), 1),
                   fair_shares::quantum_seconds);
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
    leases.add(first_trainer);
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
  x.leases.add(first_trainer);
  const auto where = place(x.view(), x.path_on(node));
  ASSERT_TRUE(where);
  EXPECT_EQ(where->trainer, first_trainer);
  EXPECT_DOUBLE_EQ(where->own, 100);
  EXPECT_DOUBLE_EQ(where->seconds, 100);
  EXPECT_TRUE(where->fits);
  EXPECT_EQ(where->leases, 0u);
}

TEST(Place, OfEqualTrainersTheFullestIsChosen) {
  world x{3};
  const auto study = x.add_study(100);
  for (std::uint64_t i = 1; i <= 3; ++i)
    x.leases.add(trainer_id{i});
  x.begin(trainer_id{2}, 0, x.add_trial(study, 100));
  x.begin(trainer_id{2}, 1, x.add_trial(study, 100));
  x.begin(trainer_id{3}, 0, x.add_trial(study, 100));
  const auto where = place(x.view(), x.path_on(x.add_trial(study, 100)));
  ASSERT_TRUE(where);
  EXPECT_EQ(where->trainer, trainer_id{2});
  EXPECT_EQ(where->leases, 2u);
  EXPECT_TRUE(where->fits);
}

TEST(Place, MisfitTakesTurnsAndSoLonger) {
  world x{2, policy::critical_path, {"width"}};
  const auto study = x.add_study(100);
  x.leases.add(first_trainer);
  const auto id = x.begin(first_trainer, 0, x.add_trial(study, 100, 1));
  const auto node = x.add_trial(study, 100, 2);
  auto where = place(x.view(), x.path_on(node));
  ASSERT_TRUE(where);
  EXPECT_FALSE(where->fits);
  EXPECT_DOUBLE_EQ(where->seconds, 200);
  x.leases.progress(id).reached = 70; // in turns for no longer than that
  where = place(x.view(), x.path_on(node));
  ASSERT_TRUE(where);
  EXPECT_DOUBLE_EQ(where->seconds, 130);
}

TEST(Place, MisfitsThatFitEachOtherTakeOneTurn) {
  world x{4, policy::critical_path, {"width"}};
  const auto study = x.add_study(100);
  x.leases.add(first_trainer);
  x.begin(first_trainer, 0, x.add_trial(study, 100, 1));
  x.begin(first_trainer, 1, x.add_trial(study, 100, 1));
  const auto node = x.add_trial(study, 100, 2);
  auto where = place(x.view(), x.path_on(node));
  ASSERT_TRUE(where);
  EXPECT_DOUBLE_EQ(where->seconds, 200);
  x.begin(first_trainer, 2, x.add_trial(study, 100, 3));
  where = place(x.view(), x.path_on(node));
  ASSERT_TRUE(where);
  EXPECT_DOUBLE_EQ(where->seconds, 300);
}

TEST(Place, StageThatALeaseComesToNextDecidesWhetherAPathFits) {
  world x{2, policy::critical_path, {"width"}};
  const auto study = x.add_study(100);
  x.leases.add(first_trainer);
  const auto narrow = x.add_trial(study, 100, 1);
  const auto wide = x.add_trial(study, 100, 2);
  const auto id = x.leases.next_id();
  auto lease = test::lease_of(id, first_trainer, 0,
                              {{narrow, 0, 10, {}}, {wide, 10, 20, {}}});
  for (std::size_t i = 0; i < 2; ++i)
    lease.speed_keys[i] = x.estimates.speed_key(
      x.plan.config_of(lease.work.stages[i].node), 0);
  x.leases.begin(lease);
  const auto path = x.path_on(wide);
  x.leases.progress(id).reached = 9;
  EXPECT_FALSE(place(x.view(), path)->fits);
  x.leases.progress(id).reached = 10;
  EXPECT_TRUE(place(x.view(), path)->fits);
}

TEST(Place, TurnsLastNoLongerThanThePathNorThanTheLongestMisfit) {
  world x{3, policy::critical_path, {"width"}};
  const auto study = x.add_study(1000);
  x.leases.add(first_trainer);
  x.begin(first_trainer, 0, x.add_trial(study, 1000, 1));
  x.begin(first_trainer, 1, x.add_trial(x.add_study(100), 100, 1));
  const auto shorter = x.add_trial(x.add_study(30), 30, 2);
  const auto longer = x.add_trial(x.add_study(1050), 1050, 2);
  auto where = place(x.view(), x.path_on(shorter));
  ASSERT_TRUE(where);
  EXPECT_DOUBLE_EQ(where->seconds, 30 + 30);
  where = place(x.view(), x.path_on(longer));
  ASSERT_TRUE(where);
  EXPECT_DOUBLE_EQ(where->seconds, 1050 + 1000);
}

TEST(Place, EmptyTrainerIsBetterThanTakingTurns) {
  world x{2, policy::critical_path, {"width"}};
  const auto study = x.add_study(100);
  x.leases.add(first_trainer);
  x.leases.add(second_trainer);
  x.begin(first_trainer, 0, x.add_trial(study, 100, 1));
  const auto where = place(x.view(), x.path_on(x.add_trial(study, 100, 2)));
  ASSERT_TRUE(where);
  EXPECT_EQ(where->trainer, second_trainer);
  EXPECT_TRUE(where->fits);
}

// Found by a simulation: else the path waits for the trainer on which it takes
// turns, and the pool is asked for the empty one again and again.
TEST(Place, EmptyTrainerIsBetterThanTurnsWithALeaseAtItsEnd) {
  world x{2, policy::critical_path, {"width"}};
  const auto study = x.add_study(100);
  const auto old = x.add_trial(study, 100, 2);
  const auto node = x.add_trial(study, 100);
  x.leases.add(first_trainer);
  x.leases.progress(x.begin(first_trainer, 0, old)).reached = 100;
  x.leases.add(second_trainer);
  const auto where = place(x.view(), x.path_on(node));
  ASSERT_TRUE(where);
  EXPECT_EQ(where->trainer, second_trainer);
  EXPECT_TRUE(where->fits);
}

TEST(Place, TrainerThatHasFailedAtAPathLeavesItToOthers) {
  world x{1};
  const auto study = x.add_study(100);
  x.leases.add(first_trainer);
  x.leases.add(second_trainer);
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
  x.leases.add(trainer_id{3});
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
  x.leases.add(first_trainer);
  x.leases.add(second_trainer);
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

/// A trainer of two lanes, one of which trains `width` 1, and two paths that
/// wait: one that fits and a longer one that does not.
std::optional<placed_path> placed_beside(step_t misfit, step_t fitting,
                                         node_id& misfit_node) {
  world x{2, policy::critical_path, {"width"}};
  const auto study = x.add_study(1000);
  x.leases.add(first_trainer);
  x.begin(first_trainer, 0, x.add_trial(study, 1000, 1));
  misfit_node = x.add_trial(x.add_study(misfit), misfit, 2);
  x.add_trial(x.add_study(fitting), fitting, 1);
  return next_placement(x.view());
}

TEST(NextPlacement, MisfitGivesWayToAPathThatFits) {
  node_id misfit{};
  const auto placed = placed_beside(190, 100, misfit);
  ASSERT_TRUE(placed && placed->where);
  EXPECT_NE(placed->what.stages.front().node, misfit);
  EXPECT_TRUE(placed->where->fits);
}

TEST(NextPlacement, MisfitGoesFirstIfItIsMuchLonger) {
  node_id misfit{};
  const auto placed = placed_beside(210, 100, misfit);
  ASSERT_TRUE(placed && placed->where);
  EXPECT_EQ(placed->what.stages.front().node, misfit);
  EXPECT_FALSE(placed->where->fits);
}

TEST(NextPlacement, PathThatFailedOnAllFreeTrainersGivesWay) {
  world x;
  const auto study = x.add_study(1000);
  x.leases.add(first_trainer);
  x.leases.add(second_trainer);
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
TEST(NextPlacement, TrainerWithoutALeaseTakesAnythingBeforeAMisfit) {
  world x{2, policy::critical_path, {"width"}};
  x.leases.add(first_trainer);
  x.leases.add(second_trainer);
  const auto node = x.add_trial(x.add_study(1000), 1000, 2);
  const auto failed = x.begin(first_trainer, 0, node);
  x.retries.judge(*x.leases.find(failed),
                  {failed, 4, error{errc::training_failed, ""}, {}},
                  x.plan);
  x.end(failed);
  x.retries.set_able({first_trainer, second_trainer});
  x.begin(second_trainer, 0, x.add_trial(x.add_study(500), 500, 1));
  auto placed = next_placement(x.view());
  ASSERT_TRUE(placed && placed->where);
  EXPECT_EQ(placed->where->trainer, second_trainer);
  EXPECT_FALSE(placed->where->fits);
  const auto other = x.add_trial(x.add_study(20), 20, 3);
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
  x.leases.add(first_trainer);
  x.leases.add(second_trainer);
  EXPECT_EQ(divided(x), (std::vector<std::uint64_t>{2, 6}));
}

TEST(DivideCapacity, LaneCountsAsAPartOfADevice) {
  capacity_world x{4, {1, 1}, {true, true}};
  x.leases.add(first_trainer);
  x.ledger.begin(lease_id{1}, second_trainer, {study_no{0}});
  EXPECT_EQ(divided(x), (std::vector<std::uint64_t>{0, 4}));
}

TEST(DivideCapacity, StudiesThatWantNoneGetNone) {
  capacity_world x{4, {1, 3}, {true, false}};
  x.leases.add(first_trainer);
  EXPECT_EQ(divided(x), (std::vector<std::uint64_t>{4, 0}));
}

TEST(DivideCapacity, WhereNobodyWantsAnyThereIsNothing) {
  capacity_world x{1, {1, 3}, {false, false}};
  x.leases.add(first_trainer);
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
      x.leases.add(trainer);
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
