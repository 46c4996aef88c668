#include "hippo/service/merge/lease_table.hpp"

#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "merge/leases.hpp"

namespace hippo {
namespace {

using test::at_second;
using test::lease_of;

constexpr trainer_id first_trainer{1};
constexpr trainer_id second_trainer{2};

TEST(StageIndex, StateAtABorderBelongsToTheStageThatEndsThere) {
  lease x;
  x.stages = {{node_id{1}, 5, 10, {}}, {node_id{2}, 10, 20, {}}};
  EXPECT_EQ(stage_index(x, 5), 0u);
  EXPECT_EQ(stage_index(x, 10), 0u);
  EXPECT_EQ(stage_index(x, 11), 1u);
  EXPECT_EQ(stage_index(x, 20), 1u);
}

TEST(StageIndex, StateBeyondAllStagesIsOfTheLast) {
  lease x;
  x.stages = {{node_id{1}, 0, 10, {}}, {node_id{2}, 10, 20, {}}};
  EXPECT_EQ(stage_index(x, 21), 1u);
}

TEST(RunningLease, LeaseIsToldOnceItsLastStopIs) {
  auto x = lease_of(lease_id{1}, first_trainer, 0,
                    {{node_id{1}, 0, 10, {}}, {node_id{2}, 10, 20, {}}});
  ASSERT_TRUE(x.next_stop());
  EXPECT_EQ(x.next_stop()->at, 10u);
  x.progress.has_reported = true;
  x.progress.reached = 19;
  EXPECT_FALSE(x.is_told());
  EXPECT_EQ(x.next_stop()->at, 20u);
  x.progress.reached = 20;
  EXPECT_TRUE(x.is_told());
  EXPECT_FALSE(x.next_stop());
}

TEST(RunningLease, LeaseThatOnlyMeasuresIsNotToldFromTheBegin) {
  auto x = lease_of(lease_id{1}, first_trainer, 0, {{node_id{1}, 10, 10, {}}});
  EXPECT_EQ(x.progress.reached, 10u);
  EXPECT_FALSE(x.is_told());
  ASSERT_TRUE(x.next_stop());
  EXPECT_EQ(x.next_stop()->at, 10u);
  EXPECT_TRUE(x.next_stop()->evaluate);
  x.progress.has_reported = true;
  EXPECT_TRUE(x.is_told());
}

TEST(LeaseTable, AddedTrainerIsFreeAndHasEmptyLanes) {
  lease_table x{lease_id{1}};
  EXPECT_FALSE(x.has(first_trainer));
  x.add(first_trainer, 3);
  EXPECT_TRUE(x.has(first_trainer));
  EXPECT_EQ(x.trainers(), 1u);
  EXPECT_EQ(x.trainers_at_work(), 0u);
  EXPECT_EQ(x.trainer(first_trainer).lanes.size(), 3u);
  EXPECT_EQ(x.free_trainers(), std::set<trainer_id>{first_trainer});
  EXPECT_TRUE(x.leases_of(first_trainer).empty());
}

TEST(LeaseTable, LeasesAreNumberedFromTheFirstOn) {
  lease_table x{lease_id{7}};
  EXPECT_EQ(x.begun(), 0u);
  EXPECT_EQ(x.next_id(), lease_id{7});
  EXPECT_EQ(x.next_id(), lease_id{8});
  EXPECT_EQ(x.begun(), 2u);
}

TEST(LeaseTable, TrainerWithAnEmptyLaneStaysFree) {
  lease_table x{lease_id{1}};
  x.add(first_trainer, 2);
  x.begin(lease_of(x.next_id(), first_trainer, 1));
  EXPECT_EQ(x.free_trainers().count(first_trainer), 1u);
  x.begin(lease_of(x.next_id(), first_trainer, 0));
  EXPECT_EQ(x.free_trainers().count(first_trainer), 0u);
}

TEST(LeaseTable, LeasesOfATrainerComeByLane) {
  lease_table x{lease_id{1}};
  x.add(first_trainer, 3);
  x.begin(lease_of(x.next_id(), first_trainer, 2));
  x.begin(lease_of(x.next_id(), first_trainer, 0));
  EXPECT_EQ(x.leases_of(first_trainer),
            (std::vector<lease_id>{lease_id{2}, lease_id{1}}));
}

TEST(LeaseTable, TrainersAtWorkAreCountedOnceForAllLanes) {
  lease_table x{lease_id{1}};
  x.add(first_trainer, 2);
  x.add(second_trainer, 2);
  x.begin(lease_of(x.next_id(), first_trainer, 0));
  x.begin(lease_of(x.next_id(), first_trainer, 1));
  EXPECT_EQ(x.trainers_at_work(), 1u);
  x.end(lease_id{1});
  EXPECT_EQ(x.trainers_at_work(), 1u);
  x.end(lease_id{2});
  EXPECT_EQ(x.trainers_at_work(), 0u);
}

TEST(LeaseTable, EndedLeaseIsReturnedWithItsProgress) {
  lease_table x{lease_id{1}};
  x.add(first_trainer);
  const auto id = x.next_id();
  x.begin(lease_of(id, first_trainer));
  x.progress(id).reached = 4;
  ASSERT_NE(x.find(id), nullptr);
  EXPECT_EQ(x.find(id)->progress.reached, 4u);
  const auto ended = x.end(id);
  EXPECT_EQ(ended.id(), id);
  EXPECT_EQ(ended.progress.reached, 4u);
  EXPECT_EQ(x.find(id), nullptr);
  EXPECT_FALSE(x.trainer(first_trainer).lanes[0].lease);
}

TEST(LeaseTable, TrainerOfAnEndedLeaseIsNotFreeBeforeItIsSetFree) {
  lease_table x{lease_id{1}};
  x.add(first_trainer, 2);
  x.begin(lease_of(x.next_id(), first_trainer, 0));
  x.end(lease_id{1});
  EXPECT_TRUE(x.free_trainers().empty());
  x.set_free(first_trainer);
  EXPECT_EQ(x.free_trainers().count(first_trainer), 1u);
}

TEST(LeaseTable, TrainerThatWindsDownIsNeverFreeAgain) {
  lease_table x{lease_id{1}};
  x.add(first_trainer, 2);
  x.begin(lease_of(x.next_id(), first_trainer, 0));
  x.wind_down(first_trainer);
  EXPECT_TRUE(x.trainer(first_trainer).yields);
  EXPECT_TRUE(x.free_trainers().empty());
  x.end(lease_id{1});
  x.set_free(first_trainer);
  EXPECT_TRUE(x.free_trainers().empty());
}

TEST(LeaseTable, RemovedTrainerHandsBackItsLeases) {
  lease_table x{lease_id{1}};
  x.add(first_trainer, 2);
  x.add(second_trainer, 2);
  x.begin(lease_of(x.next_id(), first_trainer, 0));
  x.begin(lease_of(x.next_id(), second_trainer, 0));
  x.begin(lease_of(x.next_id(), first_trainer, 1));
  const auto ended = x.remove(first_trainer);
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(ended[0].id(), lease_id{1});
  EXPECT_EQ(ended[1].id(), lease_id{3});
  EXPECT_FALSE(x.has(first_trainer));
  EXPECT_EQ(x.leases().size(), 1u);
  EXPECT_EQ(x.trainers_at_work(), 1u);
  EXPECT_EQ(x.free_trainers(), std::set<trainer_id>{second_trainer});
}

TEST(LeaseTable, TrainersSetAsideAreThoseWithoutALease) {
  lease_table x{lease_id{1}};
  x.add(first_trainer, 2);
  x.add(second_trainer, 2);
  x.begin(lease_of(x.next_id(), first_trainer, 0));
  EXPECT_EQ(x.idle_trainers(), std::vector<trainer_id>{second_trainer});
  x.set_aside_free();
  EXPECT_TRUE(x.free_trainers().empty());
  EXPECT_EQ(x.trainers(), 2u);
}

TEST(LeaseTable, StateOfALaneIsForgottenWhenALeaseBegins) {
  lease_table x{lease_id{1}};
  x.add(first_trainer, 2);
  x.set_present(first_trainer, 1, "a.ckpt");
  EXPECT_EQ(x.trainer(first_trainer).lanes[1].present, "a.ckpt");
  EXPECT_EQ(x.trainer(first_trainer).lanes[0].present, "");
  x.begin(lease_of(x.next_id(), first_trainer, 1));
  EXPECT_EQ(x.trainer(first_trainer).lanes[1].present, "");
}

TEST(LeaseTable, FollowsAModelUnderRandomChanges) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng{seed};
    lease_table x{lease_id{1}};
    // By trainer: the lease of each lane, whether it is free and winds down.
    struct model {
      std::uint32_t most = 0; ///< lanes
      std::map<std::uint32_t, lease_id> lanes;
      bool free = true;
      bool yields = false;
    };
    std::map<trainer_id, model> want;
    std::uint64_t last_trainer = 0;
    for (int turn = 0; turn < 150; ++turn) {
      const auto what = rng() % 10;
      if (what < 2 || want.empty()) {
        const trainer_id id{++last_trainer};
        const auto lanes = static_cast<std::uint32_t>(1 + rng() % 4);
        x.add(id, lanes);
        want[id].most = lanes;
        continue;
      }
      auto chosen = std::next(want.begin(),
                              static_cast<long>(rng() % want.size()));
      auto& [id, entry] = *chosen;
      const auto lane = static_cast<std::uint32_t>(rng() % entry.most);
      if (what < 6) {
        if (entry.yields || entry.lanes.count(lane) > 0)
          continue;
        const auto number = x.next_id();
        x.begin(lease_of(number, id, lane));
        entry.lanes[lane] = number;
        entry.free = entry.free && entry.lanes.size() < entry.most;
      } else if (what < 8) {
        if (entry.lanes.count(lane) == 0)
          continue;
        x.end(entry.lanes[lane]);
        entry.lanes.erase(lane);
        entry.free = rng() % 3 > 0;
        if (entry.free)
          x.set_free(id);
        entry.free = entry.free && !entry.yields;
      } else if (what == 8) {
        x.wind_down(id);
        entry.yields = true;
        entry.free = false;
      } else {
        EXPECT_EQ(x.remove(id).size(), entry.lanes.size());
        want.erase(chosen);
      }
      std::set<trainer_id> free;
      std::size_t at_work = 0;
      std::size_t leases = 0;
      for (const auto& [trainer, y] : want) {
        if (y.free)
          free.insert(trainer);
        at_work += y.lanes.empty() ? 0 : 1;
        leases += y.lanes.size();
        std::vector<lease_id> numbers;
        for (const auto& kvp : y.lanes)
          numbers.push_back(kvp.second);
        ASSERT_EQ(x.leases_of(trainer), numbers);
      }
      ASSERT_EQ(x.free_trainers(), free);
      ASSERT_EQ(x.trainers_at_work(), at_work);
      ASSERT_EQ(x.leases().size(), leases);
      ASSERT_EQ(x.trainers(), want.size());
      x.check_invariants();
    }
  }
}

TEST(LeaseTable, LeasesOfATrainerAreCountedByTheTimeThatItHadThem) {
  lease_table x{lease_id{1}};
  x.add(first_trainer, 3);
  const auto begin = [&](std::uint32_t lane, double now) {
    x.count_leases(first_trainer, at_second(now));
    auto lease = lease_of(x.next_id(), first_trainer, lane);
    lease.progress.reported = lease.progress.leases_counted = at_second(now);
    const auto id = lease.id();
    x.begin(std::move(lease));
    return id;
  };
  const auto first = begin(0, 0);
  const auto second = begin(1, 6);
  EXPECT_DOUBLE_EQ(x.take_mean_leases(first, at_second(10)), 1.4);
  x.progress(first).reported = at_second(10);
  const auto third = begin(2, 12);
  x.count_leases(first_trainer, at_second(15));
  x.end(second);
  EXPECT_DOUBLE_EQ(x.take_mean_leases(first, at_second(20)),
                   (2 * 2 + 3 * 3 + 5 * 2) / 10.0);
  EXPECT_DOUBLE_EQ(x.take_mean_leases(third, at_second(20)),
                   (3 * 3 + 5 * 2) / 8.0);
  x.progress(third).reported = at_second(20);
  EXPECT_DOUBLE_EQ(x.take_mean_leases(third, at_second(20)), 2);
}

TEST(LeaseTableDeathTest, MisuseIsAsserted) {
  lease_table x{lease_id{1}};
  x.add(first_trainer);
  EXPECT_DEBUG_DEATH(x.add(first_trainer), "has");
  const auto id = x.next_id();
  x.begin(lease_of(id, first_trainer));
  EXPECT_DEBUG_DEATH(x.begin(lease_of(x.next_id(), first_trainer)), "lease");
  EXPECT_DEBUG_DEATH(x.set_free(first_trainer), "lanes");
}

TEST(LeaseTableDeathTest, SavingBeyondWhatIsReachedIsAsserted) {
  lease_table x{lease_id{1}};
  x.add(first_trainer);
  const auto id = x.next_id();
  x.begin(lease_of(id, first_trainer));
  x.progress(id).saved = 5;
#ifndef NDEBUG
  EXPECT_DEATH(x.check_invariants(), "saved");
#endif
}

} // namespace
} // namespace hippo
