#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "hippo/service/pool/demand_table.hpp"
#include "hippo/service/pool/kind_gains.hpp"
#include "hippo/service/pool/kind_table.hpp"
#include "hippo/service/pool/machine_prices.hpp"
#include "hippo/service/pool/need_table.hpp"
#include "hippo/service/pool/options.hpp"
#include "hippo/service/pool/pool_view.hpp"
#include "hippo/service/pool/projected_shares.hpp"
#include "hippo/service/pool/stuck.hpp"
#include "hippo/service/pool/trainer_table.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;

constexpr moment start{};

pool_trainer trainer_of(const std::string& device,
                        const std::string& workload = "mlp",
                        std::uint64_t process = 1) {
  hello x;
  x.host = "node";
  x.process_id = process;
  x.device = device;
  x.workloads[workload] = "";
  auto result = pool_trainer::from(x, start);
  result.ready = true;
  return result;
}

/// The books of a pool, filled by hand.
struct PoolParts : testing::Test {
  trainer_table trainers;
  demand_table demands;
  need_table needs;
  kind_table kinds;

  pool_view view() { return {trainers, demands, needs, kinds, start}; }

  trainer_id add(const std::string& device, const std::string& workload = "mlp",
                 std::uint64_t process = 1) {
    kinds.add(device, 0);
    return trainers.add(trainer_of(device, workload, process), start);
  }

  void demand(merger_number merger, std::uint64_t wanted,
              kind_speeds speeds = {}, std::set<std::string> only = {}) {
    demands.set({merger, 1, wanted, std::move(only), {std::move(speeds), 1}});
    demands.set_waiting(*demands.place_of(merger), wanted > 0);
  }

  /// A merger is given a trainer.
  void give(trainer_id x, merger_number merger, moment when = start) {
    demands.give(*demands.place_of(merger));
    trainers.at(x).holder = merger;
    trainers.at(x).granted = when;
  }
};

// -- a trainer ----------------------------------------------------------------

TEST(PoolTrainer, CountsTimeWithWorkAndWithout) {
  auto x = trainer_of("gpu");
  x.count_time(start + 5s);
  x.holder = 1;
  x.count_time(start + 7s);
  EXPECT_EQ(x.record.idle_seconds, 5);
  EXPECT_EQ(x.record.work_seconds, 2);
  trainer_record later;
  x.add_time(start + 10s, later);
  EXPECT_EQ(later.work_seconds, 3);
}

TEST(PoolTrainer, RestsLongerEachTimeAndNotTwiceAtOnce) {
  auto x = trainer_of("gpu");
  EXPECT_EQ(x.fall_sick("broke", start), sick_rest_first);
  EXPECT_EQ(x.fall_sick("broke again", start), std::nullopt);
  EXPECT_EQ(x.record.sick, "broke again");
  EXPECT_FALSE(x.is_idle(start));
  EXPECT_EQ(x.fall_sick("broke", start + 1s), 2 * sick_rest_first);
  EXPECT_EQ(x.fall_sick("broke", start + 1s + 2 * sick_rest_max),
            sick_rest_first);
}

TEST(PoolTrainer, KnowsAWorkloadInAVersionAndWithNumerics) {
  auto x = trainer_of("gpu");
  x.workloads["mlp"] = "2";
  x.numerics = "native";
  EXPECT_TRUE(x.can_train({"key", "mlp", "", ""}));
  EXPECT_FALSE(x.knows({"key", "mlp", "1", ""}));
  EXPECT_TRUE(x.knows({"key", "mlp", "2", "portable"}));
  EXPECT_FALSE(x.can_train({"key", "mlp", "2", "portable"}));
}

// -- trainers -----------------------------------------------------------------

TEST_F(PoolParts, TrainersAreNumberedAndRestOnUnderTheirName) {
  const auto x = add("gpu");
  trainers.at(x).fall_sick("broke", start);
  trainers.at(x).gone = true;
  EXPECT_TRUE(trainers.has_gone("node:1"));
  EXPECT_FALSE(trainers.has_gone("node:2"));
  const auto y = add("gpu");
  EXPECT_EQ(number_of(y), number_of(x) + 1);
  EXPECT_EQ(trainers.at(y).record.sick, "broke");
  EXPECT_EQ(trainers.find_connected(x), nullptr);
  EXPECT_EQ(trainers.find_connected(y), &trainers.at(y));
  trainers.check_invariants();
}

TEST_F(PoolParts, OnlyTheLastTrainersThatAreGoneAreRemembered) {
  for (std::size_t i = 0; i < gone_trainers_max + 2; ++i)
    trainers.at(add("gpu")).gone = true;
  const auto there = add("gpu");
  const auto forgotten = trainers.forget_gone();
  ASSERT_EQ(forgotten.size(), 2u);
  EXPECT_EQ(forgotten[0].number, 1u);
  EXPECT_EQ(trainers.find(trainer_id{2}), nullptr);
  EXPECT_NE(trainers.find(there), nullptr);
  EXPECT_EQ(trainers.all().size(), gone_trainers_max + 1);
}

// -- kinds --------------------------------------------------------------------

TEST(KindTable, CountsHowOftenTrainersGo) {
  kind_table x;
  x.add("gpu", 8);
  x.add("gpu", 9);
  x.advance(30);
  EXPECT_EQ(x.seconds_between_interruptions("gpu"), 0);
  x.note_interruption("gpu");
  x.remove("gpu");
  x.advance(20);
  EXPECT_EQ(x.seconds_between_interruptions("gpu"), 80);
  EXPECT_EQ(x.all().at("gpu").memory_bytes, 9u);
  x.remove("gpu");
  EXPECT_TRUE(x.there().empty());
  x.keep_only({"cpu"});
  EXPECT_TRUE(x.all().empty());
}

// -- demands and needs --------------------------------------------------------

TEST_F(PoolParts, PlacesFollowWhoGoes) {
  demand(7, 2);
  demand(8, 1);
  EXPECT_EQ(demands.place_of(8), 1u);
  give(add("gpu"), 7);
  EXPECT_EQ(demands[0].wanted, 1u);
  EXPECT_TRUE(demands.is_contended()) << "8 waits while 7 holds one";
  demands.take(0);
  EXPECT_FALSE(demands.is_contended());
  EXPECT_EQ(demands.waiting_leases(), 2u);
  demands.remove(0);
  EXPECT_EQ(demands.place_of(8), 0u);
  EXPECT_EQ(demands.place_of(7), std::nullopt);
  demands.check_invariants();
}

TEST(NeedTable, AKeyIsOfItsLastMergerAlone) {
  need_table x;
  x.add(1, {"key", "mlp", ""});
  x.add(2, {"key", "mlp", "2"});
  EXPECT_EQ(x.merger_of("key"), 2u);
  EXPECT_EQ(x.find(1), nullptr);
  ASSERT_NE(x.find(2), nullptr);
  EXPECT_EQ(x.find(2)->version, "2");
  x.remove(2);
  EXPECT_EQ(x.merger_of("key"), std::nullopt);
  x.check_invariants();
}

// -- prices -------------------------------------------------------------------

TEST(MachinePrices, PlacesATrainerAndKeepsItsCost) {
  machine_kind l4;
  l4.name = "l4";
  l4.device = "NVIDIA L4";
  l4.price = 2;
  l4.trainers = 2;
  machine_prices x{fleet{{l4}}};
  auto known = trainer_of("NVIDIA L4");
  const auto placed = x.place(known, "");
  ASSERT_TRUE(placed);
  EXPECT_FALSE(placed->is_warning);
  EXPECT_EQ(known.record.price, 1);
  auto other = trainer_of("A100");
  EXPECT_TRUE(x.place(other, "")->is_warning);
  EXPECT_NE(other.record.unpriced, "");
  known.record.work_seconds = 3600;
  x.keep(known.record);
  const auto costs = x.costs({known.record, other.record});
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_EQ(costs[0].trainers, 2u) << "the one that was forgotten, too";
  EXPECT_EQ(costs[0].work, 2);
}

TEST(MachinePrices, DevicesThatNobodyHasAreToldOnceAfterAWhile) {
  machine_kind l4;
  l4.name = "l4";
  l4.device = "NVIDIA L4";
  machine_prices x{fleet{{l4}}};
  EXPECT_FALSE(x.take_missing({"A100"}, start + 1h)) << "nobody has come";
  x.note_joined(start);
  EXPECT_FALSE(x.is_due(start + listed_devices_after - 1s));
  const auto said = x.take_missing({"A100"}, start + listed_devices_after);
  ASSERT_TRUE(said);
  EXPECT_NE(said->text.find("'NVIDIA L4' (l4); trainers report 'A100'"),
            std::string::npos)
    << said->text;
  EXPECT_FALSE(x.take_missing({"A100"}, start + 1h));
}

// -- sharing ------------------------------------------------------------------

TEST_F(PoolParts, ATrainerIsOfUseByWorkloadKindAndRest) {
  needs.add(1, {"key", "mlp", ""});
  demand(1, 1, {}, {"gpu"});
  const auto other = add("gpu", "cnn");
  const auto wrong = add("cpu");
  const auto right = add("gpu");
  EXPECT_FALSE(view().suits(trainers.at(other), 1));
  EXPECT_FALSE(view().is_of_use(trainers.at(wrong), 1));
  EXPECT_TRUE(view().could_use(trainers.at(right), 0));
  trainers.at(right).rests[1] = {start + 1s, "no module"};
  EXPECT_FALSE(view().could_use(trainers.at(right), 0));
  EXPECT_TRUE(view().has_trainer_for(1)) << "later";
  EXPECT_EQ(view().able_for(1),
            (std::map<trainer_id, std::string>{{wrong, "cpu"}}));
}

TEST_F(PoolParts, WhoGainsMoreByAKindGoesFirst) {
  add("fast");
  add("slow");
  demand(1, 1, {{"fast", 1}, {"slow", 1}});
  demand(2, 1, {{"fast", 9}, {"slow", 1}});
  const auto turns = kind_gains{};
  const auto gains = kind_gains{demands, kinds, placement_rule::advantage};
  EXPECT_FALSE(gains.empty());
  EXPECT_TRUE((kind_gains{demands, kinds, placement_rule::fair}.empty()));
  EXPECT_GT(gains.of(1, "fast"), gains.of(0, "fast"));
  const auto& fast = trainers.at(trainer_id{1});
  EXPECT_EQ(next_for(view(), turns, fast, demands.shares()), 0u);
  EXPECT_EQ(next_for(view(), gains, fast, demands.shares()), 1u);
}

TEST_F(PoolParts, TheTrainerThatWasGrantedFirstIsAskedBack) {
  const auto x = add("gpu");
  const auto y = add("gpu");
  demand(1, 2);
  give(x, 1, start + 2s);
  give(y, 1, start + 1s);
  demand(2, 1);
  const projected_shares next{view()};
  EXPECT_EQ(next.shares().next(), 1u);
  EXPECT_EQ(candidate_for(view(), {}, next, 1), (yield_candidate{y, 0}));
  trainers.at(y).reserved_for = 2;
  EXPECT_EQ(projected_shares{view()}.shares().devices(1), 1)
    << "as it will be once it is there";
  EXPECT_EQ(candidate_for(view(), {}, next, 1), (yield_candidate{x, 0}));
}

TEST_F(PoolParts, AMergerThatWasPassedIsNotPassedOver) {
  const auto x = add("gpu");
  demand(1, 1);
  give(x, 1);
  demand(2, 1);
  demand(3, 1);
  projected_shares next{view()};
  next.pass(1);
  EXPECT_TRUE(next.is_spoken_for(view(), trainers.at(x)));
  EXPECT_EQ(candidate_for(view(), {}, next, 2), std::nullopt);
}

// -- who has to wait ----------------------------------------------------------

TEST_F(PoolParts, AWorkloadIsStuckForAReason) {
  needs.add(1, {"key", "mlp", ""});
  const auto why = [&] { return why_stuck(view(), needs.all().front()); };
  EXPECT_EQ(why(), "") << "it wants nothing";
  demand(1, 1);
  EXPECT_EQ(why(), "no trainer is connected");
  add("gpu", "cnn");
  EXPECT_EQ(why(), "none of the 1 trainers can train 'mlp': start one with the "
                   "library that it is in");
  const auto x = add("gpu");
  EXPECT_EQ(why(), "");
  trainers.at(x).rests[1] = {start, "no module"};
  EXPECT_NE(why().find("says: no module"), std::string::npos) << why();
  EXPECT_EQ(stuck_workloads(view()).size(), 1u);
}

} // namespace
} // namespace hippo
