#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/service/pool/pool_core.hpp"
#include "pool/admitting.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;

/// Mergers of trials of several ranks, and trainers that hold some of them.
struct PoolRanks : testing::Test {
  moment now{};
  pool_core pool{pool_options{1s, 15s}, moment{}};
  pool_core::effects last;

  void apply(any_pool_event event) {
    last = pool.apply(std::move(event), now);
    pool.check_invariants();
  }

  trainer_id join(std::uint32_t ranks, const std::string& gang = "node:1",
                  const std::string& kind = "cpu") {
    hello x;
    x.host = "node" + std::to_string(++joined_);
    x.device = kind;
    x.gang = gang;
    x.ranks = ranks;
    x.workloads["python"];
    pool_core::effects out;
    const auto result = test::admitted(pool, x, std::nullopt, now, out).trainer;
    apply(pool_event::heard{heartbeat{result, {}, 0, 0}});
    return result;
  }

  void introduce(merger_number merger, std::uint32_t ranks) {
    workload_need need{"key" + std::to_string(merger), "python", ""};
    need.ranks = ranks;
    apply(pool_event::introduced{merger, need});
  }

  void demand(merger_number merger, std::uint64_t trainers,
              std::set<trainer_id> collected = {}) {
    apply(pool_event::demanded{
      merger, 1, trainers, {}, {}, {0, {}, std::move(collected)}});
  }

  template <class T>
  [[nodiscard]] std::vector<T> all() const {
    return test::effects_of<T>(last);
  }

  [[nodiscard]] std::vector<trainer_id> asked() const {
    std::vector<trainer_id> result;
    for (const auto& x : all<pool_effect::ask_to_yield>())
      result.push_back(x.trainer);
    return result;
  }

  [[nodiscard]] std::string why_stuck() const {
    return pool.stuck().empty() ? std::string{} : pool.stuck().front().why;
  }

private:
  unsigned joined_ = 0;
};

using numbers = std::vector<trainer_id>;

TEST_F(PoolRanks, NobodyIsGrantedBeforeEnoughAreThere) {
  introduce(1, 4);
  demand(1, 4);
  const auto a = join(1);
  const auto b = join(1);
  const auto c = join(1);
  EXPECT_FALSE(pool.holder_of(a) || pool.holder_of(b) || pool.holder_of(c));
  EXPECT_EQ(
    why_stuck(),
    "it needs 4 trainers of one kind at once (trials of 4 ranks); there "
    "are 3: start 1 more with --gang-listen, or one with --ranks 4");
  const auto d = join(1);
  for (const auto x : {a, b, c, d})
    EXPECT_EQ(pool.holder_of(x), 1u);
  EXPECT_EQ(why_stuck(), "");
  const auto& given = all<pool_effect::grant>();
  ASSERT_FALSE(given.empty());
  EXPECT_EQ(given.front().ranks, 1u);
}

TEST_F(PoolRanks, TrainersOfOtherKindsOrRanksOrWithoutAnAddressDoNotCount) {
  introduce(1, 4);
  demand(1, 4);
  join(2, "node:1", "gpu");
  join(2);
  join(1);
  join(2, "");
  join(3); // divides it not
  join(8);
  for (std::uint64_t i = 1; i <= 6; ++i)
    EXPECT_FALSE(pool.holder_of(trainer_id{i})) << i;
  EXPECT_EQ(why_stuck(),
            "it needs 2 trainers of 2 ranks of one kind at once (trials of 4 "
            "ranks); there is 1: start 1 more with --gang-listen and --ranks "
            "2, or one with --ranks 4");
  const auto last_one = join(2);
  EXPECT_EQ(pool.holder_of(last_one), 1u);
  EXPECT_EQ(pool.holder_of(trainer_id{2}), 1u);
}

TEST_F(PoolRanks, AnUnableTrainerIsOneTooFew) {
  introduce(1, 2);
  demand(1, 2);
  const auto x = join(1);
  join(1);
  apply(pool_event::cooled_down{x, 60s, "others do not reach it"});
  EXPECT_EQ(why_stuck(), "none of the 2 trainers can train 'python', which "
                         "does not start there; trainer 1 (node1:0) says: "
                         "others do not reach it; install there what it "
                         "lacks, or start a trainer that has it");
  // Neither may be left to the other.
  const auto told = all<pool_effect::tell_able>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].trainers.empty());
}

TEST_F(PoolRanks, OneThatHoldsAllIsGrantedFirst) {
  introduce(1, 4);
  const auto a = join(2);
  const auto b = join(2);
  const auto whole = join(4);
  demand(1, 1);
  EXPECT_EQ(pool.holder_of(whole), 1u);
  EXPECT_FALSE(pool.holder_of(a) || pool.holder_of(b));
  demand(1, 2);
  EXPECT_TRUE(pool.holder_of(a) && pool.holder_of(b));
}

TEST_F(PoolRanks, AMergerThatRestsGetsOnlyThoseThatHoldAll) {
  introduce(1, 2);
  demand(1, 2);
  const auto a = join(1);
  const auto b = join(1);
  const auto c = join(1);
  apply(pool_event::cooled_down{a, 10s, "", true});
  const auto later = all<pool_effect::review_after>();
  ASSERT_EQ(later.size(), 1u);
  EXPECT_EQ(later[0].span, 10s);
  apply(pool_event::released{a});
  apply(pool_event::released{b});
  demand(1, 2);
  EXPECT_FALSE(pool.holder_of(a) || pool.holder_of(b) || pool.holder_of(c));
  EXPECT_EQ(why_stuck(), "");
  const auto whole = join(2);
  EXPECT_EQ(pool.holder_of(whole), 1u);
  now += 10s;
  apply(pool_event::review_due{true});
  EXPECT_EQ(pool.holder_of(a), 1u);
}

TEST_F(PoolRanks, NothingIsAskedBackForAMergerThatRests) {
  introduce(1, 2);
  introduce(2, 1);
  const auto a = join(1);
  const auto b = join(1);
  demand(1, 2);
  apply(pool_event::cooled_down{a, 10s, "", true});
  apply(pool_event::released{a});
  apply(pool_event::released{b});
  demand(2, 2);
  EXPECT_EQ(pool.holder_of(a), 2u);
  EXPECT_EQ(pool.holder_of(b), 2u);
  now += 9s;
  demand(1, 2);
  EXPECT_EQ(asked(), (numbers{}));
  // Its turns are not over: all that it needs is asked for.
  demand(2, 9);
  now += 100s;
  apply(pool_event::review_due{true});
  EXPECT_EQ(asked(), (numbers{a, b}));
}

TEST_F(PoolRanks, TrainersThatWaitForOthersAreAskedBackAtOnce) {
  introduce(1, 2);
  introduce(2, 1);
  demand(1, 1);
  const auto a = join(1);
  const auto b = join(1);
  EXPECT_EQ(pool.holder_of(a), 1u);
  demand(1, 0, {a});
  demand(2, 3);
  EXPECT_EQ(pool.holder_of(b), 2u);
  EXPECT_EQ(asked(), (numbers{a}));
}

TEST_F(PoolRanks, DemandIsOfTheTrainersThatAreThere) {
  introduce(1, 4);
  demand(1, 8);
  EXPECT_EQ(pool.demands().at(0).ranks, 4u);
  EXPECT_EQ(pool.demands().at(0).members, 1u);
  join(2, "");
  EXPECT_EQ(pool.demands().at(0).ranks, 4u);
  join(1);
  EXPECT_EQ(pool.demands().at(0).members, 4u);
  join(2);
  EXPECT_EQ(pool.demands().at(0).ranks, 2u);
  EXPECT_EQ(pool.demands().at(0).members, 2u);
  join(4);
  EXPECT_EQ(pool.demands().at(0).members, 1u);
}

} // namespace
} // namespace hippo
