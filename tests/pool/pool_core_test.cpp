#include "hippo/service/pool/pool_core.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "pool/admitting.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;
using core = pool_core;

struct PoolCoreTest : testing::Test {
  moment now{};
  core pool{pool_options{1s, 15s}, moment{}};

  /// The effects of one kind, in order.
  template <class T>
  static std::vector<T> all(const core::effects& xs) {
    return test::effects_of<T>(xs);
  }

  static hello named(const std::vector<std::string>& workloads = {},
                     const std::string& version = "") {
    hello x;
    x.host = "node";
    x.process_id = 7;
    x.device = "test";
    for (const auto& name : workloads)
      x.workloads[name] = version;
    return x;
  }

  trainer_id admit(const hello& x = named()) {
    core::effects out;
    return test::admitted(pool, x, std::nullopt, now, out).trainer;
  }

  core::effects heartbeat_of(trainer_id trainer, lease_id lease = {}) {
    return pool.apply(pool_event::heard{heartbeat{trainer, lease, 0, 0}}, now);
  }

  /// A trainer that is idle. Its effects are left in `last`.
  trainer_id join(const hello& x = named()) {
    const auto result = admit(x);
    last = heartbeat_of(result);
    return result;
  }

  core::effects demand(std::uint64_t merger, std::uint64_t wanted,
                       double weight = 1) {
    return pool.apply(pool_event::demanded{merger, weight, wanted, {}}, now);
  }

  std::size_t held_by(std::uint64_t merger) const {
    std::size_t result = 0;
    for (const auto& x : pool.trainers())
      result += pool.holder_of(trainer_id{x.number}) == merger;
    return result;
  }

  core::effects last;
};

using grants = std::vector<pool_effect::grant>;

TEST_F(PoolCoreTest, AGrantSaysHowManyLeasesATrainerTrainsAtOnce) {
  auto self = named();
  self.at_once = 16;
  self.code_at_once = 3;
  const auto x = join(self);
  EXPECT_EQ(all<pool_effect::grant>(demand(1, 1)),
            (grants{{1, x, "test", 0, 0, "node:7", 16, 3}}));
  EXPECT_EQ(pool.trainers().front().at_once, 16u);
}

/// A trainer of `named` is a merger's.
pool_effect::grant granted(merger_number merger, trainer_id x,
                           const std::string& kind = "test") {
  return {merger, x, kind, 0, 0, "node:7"};
}

using kinds = std::set<std::string>;

TEST_F(PoolCoreTest, TrainerThatSaidNothingIsGivenNoWork) {
  demand(1, 1);
  const auto x = admit();
  EXPECT_EQ(pool.holder_of(x), std::nullopt);
  EXPECT_EQ(pool.idle(), 1u);
}

TEST_F(PoolCoreTest, FirstIdleHeartbeatIsAnsweredWithAGrant) {
  demand(1, 1);
  const auto x = admit();
  EXPECT_EQ(all<pool_effect::grant>(heartbeat_of(x)), (grants{granted(1, x)}));
  EXPECT_EQ(pool.holder_of(x), 1u);
  EXPECT_EQ(pool.idle(), 0u);
}

TEST_F(PoolCoreTest, DemandIsAnsweredWithWhatIsIdle) {
  const auto x = join();
  const auto y = join();
  EXPECT_EQ(all<pool_effect::grant>(demand(4, 5)),
            (grants{granted(4, x), granted(4, y)}));
}

TEST_F(PoolCoreTest, NoMoreThanIsWantedIsGranted) {
  join();
  join();
  EXPECT_EQ(all<pool_effect::grant>(demand(1, 1)).size(), 1u);
  EXPECT_EQ(pool.idle(), 1u);
}

TEST_F(PoolCoreTest, TellsWhatCouldBeUsedByWorkload) {
  pool.apply(pool_event::introduced{1, {"sum;seed=1", "sum", ""}}, now);
  pool.apply(pool_event::introduced{2, {"cnn;seed=1", "cnn", ""}}, now);
  EXPECT_TRUE(pool.demands().empty());
  pool.apply(
    pool_event::demanded{2, 1, 3, {"a", "b"}, {{{"a", 2}, {"tiny", 0}}, 1}},
    now);
  demand(1, UINT32_MAX);
  EXPECT_EQ(pool.demands(), (std::vector<workload_demand>{
                              {"sum;seed=1", {}, {}, UINT32_MAX},
                              {"cnn;seed=1", {"a", "b"}, {"tiny"}, 3}}));
  pool.apply(pool_event::merger_ended{1}, now);
  EXPECT_EQ(pool.demands().size(), 1u);
}

TEST_F(PoolCoreTest, CountsForHowLongATrainerHasHadNoLease) {
  const auto x = admit();
  now += 5s;
  EXPECT_EQ(pool.idle_seconds(now), (std::map<trainer_id, double>{{x, 5}}));
  heartbeat_of(x);
  now += 5s;
  EXPECT_EQ(pool.idle_seconds(now).at(x), 10) << "since it has joined";
  demand(1, 1);
  heartbeat_of(x, lease_id{7});
  EXPECT_TRUE(pool.idle_seconds(now).empty());
  now += 5s;
  heartbeat_of(x);
  now += 2s;
  heartbeat_of(x);
  EXPECT_EQ(pool.idle_seconds(now).at(x), 2);
  pool.apply(pool_event::disconnected{x, false, "gone"}, now);
  EXPECT_TRUE(pool.idle_seconds(now).empty());
}

TEST_F(PoolCoreTest, LeasesWaitUntilThereAreTrainers) {
  EXPECT_EQ(pool.waiting_leases(), 0u);
  demand(1, 3);
  demand(2, UINT32_MAX);
  EXPECT_EQ(pool.waiting_leases(), 3 + waiting_leases_max);
  demand(2, 0);
  join();
  EXPECT_EQ(pool.waiting_leases(), 2u);
}

TEST_F(PoolCoreTest, TrainersAreSharedByWeight) {
  demand(1, 100, 1);
  demand(2, 100, 3);
  for (int i = 0; i < 8; ++i)
    join();
  EXPECT_EQ(held_by(1), 2u);
  EXPECT_EQ(held_by(2), 6u);
}

TEST_F(PoolCoreTest, OtherProtocolIsRefused) {
  auto x = named();
  x.protocol = protocol_version + 1;
  core::effects out;
  const auto answer = test::admitted(pool, x, std::nullopt, now, out);
  ASSERT_TRUE(answer.refusal);
  EXPECT_EQ(answer.refusal->code, errc::incompatible_version);
  EXPECT_TRUE(pool.trainers().empty());
  EXPECT_TRUE(all<pool_effect::watch>(out).empty());
  ASSERT_EQ(pool.refused().size(), 1u);
  EXPECT_EQ(pool.refused()[0].name, "node:7");
  EXPECT_EQ(pool.refused()[0].reason, answer.refusal->message);
}

TEST_F(PoolCoreTest, TheLastRefusedTrainersAreRemembered) {
  auto x = named();
  x.protocol = protocol_version + 1;
  core::effects out;
  const auto refuse = [&](std::uint64_t process) {
    x.process_id = process;
    test::admitted(pool, x, std::nullopt, now, out);
  };
  for (std::uint64_t i = 1; i <= refused_trainers_max + 2; ++i)
    refuse(i);
  refuse(5); // it tries again
  ASSERT_EQ(pool.refused().size(), refused_trainers_max);
  EXPECT_EQ(pool.refused().front().name, "node:3");
  EXPECT_EQ(pool.refused().back().name, "node:5");
}

TEST_F(PoolCoreTest, TrialsOfSeveralRanksNeedTrainersOfAsMany) {
  pool.apply(pool_event::introduced{1, {"one", "python", ""}}, now);
  pool.apply(pool_event::introduced{2, {"four", "python", "", "", 4}}, now);
  demand(1, 1);
  demand(2, 2);
  auto self = named({"python"});
  self.ranks = 2;
  join(self);
  EXPECT_EQ(held_by(1) + held_by(2), 0u);
  ASSERT_EQ(pool.stuck().size(), 2u);
  EXPECT_EQ(pool.stuck()[1].key, "four");
  EXPECT_EQ(pool.stuck()[1].why,
            "none of the 1 trainers can train 'python', whose trials are 4 "
            "ranks each: start one with --ranks 4 (there are trainers of 2), "
            "or 2 of 2 with --gang-listen");
  self.ranks = 1;
  join(self);
  EXPECT_EQ(held_by(1), 1u);
  EXPECT_TRUE(
    pool.stuck().at(0).why.ends_with("(there are trainers of 1 and 2), or 2 of "
                                     "2 with --gang-listen"));
  self.ranks = 4;
  const auto right = join(self);
  EXPECT_EQ(pool.holder_of(right), 2u);
  EXPECT_TRUE(pool.stuck().empty());
}

TEST_F(PoolCoreTest, ATimeLimitComesCloser) {
  auto self = named();
  self.seconds_left = 100;
  const auto x = join(self);
  now += std::chrono::seconds{30};
  const auto given = all<pool_effect::grant>(demand(1, 1));
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(given[0].seconds_left, 70);
  EXPECT_EQ(pool.trainers(now).front().seconds_left, 70);
  now += std::chrono::seconds{200};
  EXPECT_EQ(pool.trainers(now).front().seconds_left, 0);
  pool.apply(pool_event::disconnected{x}, now);
  EXPECT_EQ(pool.trainers(now).front().seconds_left, std::nullopt);
  join();
  EXPECT_EQ(pool.trainers(now).back().seconds_left, std::nullopt);
}

TEST_F(PoolCoreTest, AdmittedTrainerIsWatchedAndRecorded) {
  core::effects out;
  const auto answer = test::admitted(pool, named(), std::nullopt, now, out);
  EXPECT_EQ(answer.trainer, trainer_id{1});
  EXPECT_EQ(answer.heartbeat_interval_ms, 1000u);
  EXPECT_EQ(all<pool_effect::watch>(out),
            (std::vector<pool_effect::watch>{{trainer_id{1}}}));
  ASSERT_EQ(pool.trainers().size(), 1u);
  EXPECT_EQ(pool.trainers()[0].name, "node:7");
  EXPECT_EQ(pool.trainers()[0].device, "test");
}

TEST_F(PoolCoreTest, TrainerThatRegistersAnewIsParted) {
  demand(3, 1);
  const auto x = join();
  core::effects out;
  const auto y = test::admitted(pool, named(), x, now, out).trainer;
  EXPECT_EQ(number_of(y), number_of(x) + 1);
  EXPECT_EQ(pool.trainers()[0].lost, "registered anew");
  EXPECT_EQ(all<pool_effect::notify_lost>(out),
            (std::vector<pool_effect::notify_lost>{{3, x}}));
  // The same handle: it must be watched after it was unwatched.
  ASSERT_EQ(out.size(), 4u);
  EXPECT_TRUE(std::holds_alternative<pool_effect::unwatch>(out[1]));
  EXPECT_TRUE(std::holds_alternative<pool_effect::watch>(out[2]));
  EXPECT_TRUE(all<pool_effect::dismiss>(out).empty());
}

TEST_F(PoolCoreTest, ReleasedTrainerGoesToTheNextMerger) {
  demand(1, 1);
  const auto x = join();
  demand(2, 1);
  EXPECT_EQ(all<pool_effect::grant>(pool.apply(pool_event::released{x}, now)),
            (grants{granted(2, x)}));
}

TEST_F(PoolCoreTest, ReleaseOfAnUnknownTrainerDoesNothing) {
  EXPECT_TRUE(pool.apply(pool_event::released{trainer_id{9}}, now).empty());
}

TEST_F(PoolCoreTest, SilentTrainerIsLost) {
  demand(1, 1);
  const auto x = join();
  for (int i = 0; i < 15; ++i) {
    now += 1s;
    EXPECT_TRUE(pool.apply(pool_event::ticked{}, now).empty());
  }
  now += 1s;
  const auto out = pool.apply(pool_event::ticked{}, now);
  EXPECT_EQ(all<pool_effect::notify_lost>(out),
            (std::vector<pool_effect::notify_lost>{{1, x, "silent for 15 s"}}));
  EXPECT_EQ(all<pool_effect::dismiss>(out),
            (std::vector<pool_effect::dismiss>{{x}}));
  EXPECT_EQ(all<pool_effect::unwatch>(out),
            (std::vector<pool_effect::unwatch>{{x}}));
  EXPECT_EQ(pool.trainers()[0].lost, "silent for 15 s");
  EXPECT_EQ(pool.holder_of(x), std::nullopt);
}

TEST_F(PoolCoreTest, HeartbeatsKeepATrainer) {
  const auto x = join();
  for (int i = 0; i < 60; ++i) {
    now += 1s;
    heartbeat_of(x);
    EXPECT_TRUE(pool.apply(pool_event::ticked{}, now).empty());
  }
}

TEST_F(PoolCoreTest, ReportsToMergersKeepATrainer) {
  const auto x = join();
  for (int i = 0; i < 60; ++i) {
    now += 1s;
    pool.apply(pool_event::alive{x}, now);
    EXPECT_TRUE(pool.apply(pool_event::ticked{}, now).empty());
  }
}

TEST_F(PoolCoreTest, LateTickCountsForNoTrainer) {
  join();
  now += 100s; // the pool itself has not run
  EXPECT_TRUE(pool.apply(pool_event::ticked{}, now).empty());
}

TEST_F(PoolCoreTest, HeartbeatOfALeaseIsForwardedToTheHolder) {
  demand(5, 1);
  const auto x = join();
  const auto out = heartbeat_of(x, lease_id{8});
  EXPECT_EQ(
    all<pool_effect::forward_heartbeat>(out),
    (std::vector<pool_effect::forward_heartbeat>{{5, {x, lease_id{8}, 0, 0}}}));
}

TEST_F(PoolCoreTest, IdleHeartbeatOfAHeldTrainerIsForwarded) {
  demand(5, 1);
  const auto x = join();
  EXPECT_EQ(
    all<pool_effect::forward_heartbeat>(heartbeat_of(x)),
    (std::vector<pool_effect::forward_heartbeat>{{5, {x, lease_id{}, 0, 0}}}));
  pool.apply(pool_event::released{x}, now);
  EXPECT_TRUE(all<pool_effect::forward_heartbeat>(heartbeat_of(x)).empty());
}

TEST_F(PoolCoreTest, HeartbeatOfALeaseWithoutHolderIsNotForwarded) {
  const auto x = admit();
  EXPECT_TRUE(heartbeat_of(x, lease_id{8}).empty());
}

TEST_F(PoolCoreTest, HeartbeatOfALostTrainerDoesNothing) {
  const auto x = join();
  pool.apply(pool_event::disconnected{x, false, "killed"}, now);
  EXPECT_TRUE(heartbeat_of(x).empty());
}

TEST_F(PoolCoreTest, CoolingTrainerIsGrantedOnlyAfterTheSpan) {
  demand(1, 1);
  const auto x = join();
  const auto out = pool.apply(pool_event::cooled_down{x, 500ms, ""}, now);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(all<pool_effect::review_after>(out),
            (std::vector<pool_effect::review_after>{{500ms, true}}));
  EXPECT_TRUE(
    all<pool_effect::grant>(pool.apply(pool_event::released{x}, now)).empty());
  EXPECT_TRUE(all<pool_effect::grant>(demand(1, 1)).empty());
  now += 500ms;
  EXPECT_EQ(
    all<pool_effect::grant>(pool.apply(pool_event::review_due{true}, now)),
    (grants{granted(1, x)}));
}

TEST_F(PoolCoreTest, TrainerThatRestsForOneMergerIsGrantedToOthers) {
  demand(1, 1);
  const auto x = join();
  pool.apply(pool_event::cooled_down{x, 60s, ""}, now);
  pool.apply(pool_event::released{x}, now);
  demand(1, 1);
  EXPECT_EQ(pool.holder_of(x), std::nullopt);
  EXPECT_EQ(all<pool_effect::grant>(demand(2, 1)), (grants{granted(2, x)}));
}

/// One merger's leases end at once, and so use no time; another's take five
/// seconds each. It gets nearly all of the time.
TEST_F(PoolCoreTest, MergerThatFailsAtOnceTakesNobodysShare) {
  pool.apply(pool_event::introduced{1, {"bad", "mlp", ""}}, now);
  pool.apply(pool_event::introduced{2, {"good", "mlp", ""}}, now);
  const auto x = join(named({"mlp"}));
  auto span = 1000ms;
  auto failures = 0, good = 0;
  demand(1, 1000);
  demand(2, 1000);
  for (const auto end = now + 600s; now < end;) {
    if (pool.holder_of(x) == 1u) {
      ++failures;
      pool.apply(pool_event::cooled_down{x, span, ""}, now);
      span = std::min(2 * span, 60'000ms);
    } else {
      ASSERT_EQ(pool.holder_of(x), 2u);
      ++good;
      now += 5s;
    }
    pool.apply(pool_event::released{x}, now);
    demand(1, 1000);
    demand(2, 1000);
  }
  EXPECT_EQ(good, 120);
  EXPECT_LT(failures, 20);
}

TEST_F(PoolCoreTest, SickTrainerRestsForAllLongerEachTime) {
  demand(1, 1);
  const auto x = join();
  auto span = 1000ms;
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(all<pool_effect::review_after>(
                pool.apply(pool_event::blamed{x, "broke"}, now)),
              (std::vector<pool_effect::review_after>{{span, true}}));
    EXPECT_EQ(pool.trainers()[0].sick, "broke");
    pool.apply(pool_event::released{x}, now);
    demand(1, 1);
    demand(2, 1);
    EXPECT_EQ(pool.holder_of(x), std::nullopt);
    now += span;
    pool.apply(pool_event::review_due{true}, now);
    EXPECT_TRUE(pool.holder_of(x)) << "it is tried again";
    EXPECT_EQ(pool.trainers()[0].sick, "broke") << "until it trains";
    span = std::min<std::chrono::milliseconds>(2 * span, sick_rest_max);
  }
  pool.apply(pool_event::alive{x}, now);
  EXPECT_EQ(pool.trainers()[0].sick, "");
  now += 601s;
  EXPECT_EQ(all<pool_effect::review_after>(
              pool.apply(pool_event::blamed{x, "broke"}, now)),
            (std::vector<pool_effect::review_after>{{1000ms, true}}));
}

TEST_F(PoolCoreTest, WhoRegistersAnewRestsOn) {
  demand(1, 1);
  auto x = join();
  auto span = 1000ms;
  for (int i = 0; i < 6; ++i) {
    pool.apply(pool_event::blamed{x, "broke"}, now);
    pool.apply(pool_event::disconnected{x, false, "it closed the connection"},
               now);
    x = join();
    demand(1, 1);
    EXPECT_EQ(pool.holder_of(x), std::nullopt) << i;
    now += span - 1ms;
    pool.apply(pool_event::review_due{true}, now);
    EXPECT_EQ(pool.holder_of(x), std::nullopt) << i;
    now += 1ms;
    pool.apply(pool_event::review_due{true}, now);
    EXPECT_TRUE(pool.holder_of(x)) << i;
    span *= 2;
  }
  auto other = named();
  other.process_id = 8;
  const auto y = join(other);
  demand(2, 1);
  EXPECT_TRUE(pool.holder_of(y)) << "it is another one";
}

TEST_F(PoolCoreTest, FailuresAreCountedWhoeverIsToBlame) {
  const auto x = join();
  EXPECT_EQ(pool.trainers()[0].failures, 0u);
  pool.apply(pool_event::lease_failed{x, "no such file"}, now);
  pool.apply(pool_event::lease_failed{x, "no room"}, now);
  pool.apply(pool_event::lease_failed{trainer_id{99}, "nobody"}, now);
  EXPECT_EQ(pool.trainers()[0].failures, 2u);
  EXPECT_EQ(pool.trainers()[0].failed, "no room");
  EXPECT_EQ(pool.trainers()[0].sick, "") << "it may be nobody's fault";
}

TEST_F(PoolCoreTest, MergersAreToldWhoCanTrainForThem) {
  using told = std::vector<pool_effect::tell_able>;
  pool.apply(pool_event::introduced{1, {"key", "mlp", ""}}, now);
  demand(1, 1);
  const auto x = admit(named({"mlp"}));
  core::effects out;
  const trainer_id y{
    test::admitted(pool, named({"mlp"}), std::nullopt, now, out).trainer};
  EXPECT_EQ(all<pool_effect::tell_able>(out),
            (told{{1, {{x, "test"}, {y, "test"}}}}));
  admit(named({"cnn"}));
  EXPECT_EQ(all<pool_effect::tell_able>(
              pool.apply(pool_event::blamed{x, "broke"}, now)),
            (told{{1, {{y, "test"}}}}));
  EXPECT_EQ(all<pool_effect::tell_able>(pool.apply(pool_event::alive{x}, now)),
            (told{{1, {{x, "test"}, {y, "test"}}}}));
  EXPECT_EQ(
    all<pool_effect::tell_able>(pool.apply(pool_event::leaving{y}, now)),
    (told{{1, {{x, "test"}}}}));
}

TEST_F(PoolCoreTest, MergerWhoseWorkloadStartsNowhereWaitsAndSaysWhy) {
  pool.apply(pool_event::introduced{1, {"key", "python", ""}}, now);
  demand(1, 1);
  const auto x = join(named({"python"}));
  ASSERT_EQ(pool.holder_of(x), 1u);
  EXPECT_TRUE(pool.stuck().empty());
  pool.apply(pool_event::cooled_down{x, 1s, "no module 'data'\nmore"}, now);
  pool.apply(pool_event::released{x}, now);
  demand(1, 1);
  ASSERT_EQ(pool.stuck().size(), 1u);
  EXPECT_NE(pool.stuck()[0].why.find("says: no module 'data';"),
            std::string::npos)
    << pool.stuck()[0].why;
  now += 1s;
  pool.apply(pool_event::review_due{true}, now);
  ASSERT_EQ(pool.holder_of(x), 1u) << "it is tried again";
  EXPECT_EQ(pool.stuck().size(), 1u) << "it has not started yet";
  pool.apply(pool_event::alive{x}, now);
  EXPECT_TRUE(pool.stuck().empty());
}

TEST_F(PoolCoreTest, MergerThatWaitsForAKindGetsNoOtherAndSaysWhy) {
  pool.apply(pool_event::introduced{1, {"key", "mlp", ""}}, now);
  const auto other = join(named({"mlp"}));
  EXPECT_TRUE(all<pool_effect::grant>(
                pool.apply(pool_event::demanded{1, 1, 2, {"gpu"}}, now))
                .empty());
  ASSERT_EQ(pool.stuck().size(), 1u);
  EXPECT_EQ(pool.stuck()[0].why,
            "what it has begun was trained on 'gpu', and none of the 1 trainers"
            " is of that kind: start one on such a device");
  auto gpu = named({"mlp"});
  gpu.device = "gpu";
  const auto x = join(gpu);
  EXPECT_EQ(all<pool_effect::grant>(last), (grants{granted(1, x, "gpu")}));
  EXPECT_TRUE(pool.stuck().empty());
  EXPECT_EQ(
    all<pool_effect::grant>(pool.apply(pool_event::demanded{1, 1, 2, {}}, now)),
    (grants{granted(1, other)}));
}

TEST_F(PoolCoreTest, NobodyIsAskedForATrainerOfAKindThatIsOfNoUse) {
  demand(1, 5);
  const auto x = join();
  EXPECT_EQ(pool.holder_of(x), 1u);
  join(); // of two trainers one may be asked for
  const auto is_asked_for = [&](const std::string& kind) {
    auto asked = all<pool_effect::ask_to_yield>(
      pool.apply(pool_event::demanded{2, 1, 1, {kind}}, now));
    for (int i = 0; i < 100 && asked.empty(); ++i) {
      now += 3s;
      asked = all<pool_effect::ask_to_yield>(
        pool.apply(pool_event::review_due{false}, now));
    }
    return !asked.empty();
  };
  EXPECT_FALSE(is_asked_for("gpu"));
  EXPECT_TRUE(is_asked_for("test"));
}

TEST_F(PoolCoreTest, StalledTrainerIsGrantedOnceItIsIdle) {
  demand(1, 1);
  const auto x = join();
  pool.apply(pool_event::stalled{x, "no progress"}, now);
  EXPECT_EQ(pool.trainers()[0].stalled, "no progress");
  EXPECT_TRUE(all<pool_effect::grant>(demand(1, 1)).empty());
  EXPECT_TRUE(all<pool_effect::grant>(heartbeat_of(x, lease_id{3})).empty());
  EXPECT_EQ(all<pool_effect::grant>(heartbeat_of(x)), (grants{granted(1, x)}));
  EXPECT_EQ(pool.trainers()[0].stalled, "");
}

TEST_F(PoolCoreTest, StalledTrainerIsExpectedBackForAWhile) {
  pool.apply(pool_event::introduced{1, {"key", "mlp", ""}}, now);
  const auto x = join(named({"mlp"}));
  demand(1, 1);
  EXPECT_TRUE(all<pool_effect::tell_able>(
                pool.apply(pool_event::stalled{x, "no progress"}, now))
                .empty());
  now += stalled_awaited - 1s;
  pool.apply(pool_event::heard{heartbeat{x, lease_id{3}, 0, 0}}, now);
  EXPECT_TRUE(
    all<pool_effect::tell_able>(pool.apply(pool_event::ticked{}, now)).empty());
  now += 1s;
  using told = std::vector<pool_effect::tell_able>;
  EXPECT_EQ(all<pool_effect::tell_able>(pool.apply(pool_event::ticked{}, now)),
            (told{{1, {}}}));
  EXPECT_TRUE(
    all<pool_effect::tell_able>(pool.apply(pool_event::ticked{}, now)).empty())
    << "once";
  EXPECT_EQ(all<pool_effect::tell_able>(heartbeat_of(x)),
            (told{{1, {{x, "test"}}}}));
}

TEST_F(PoolCoreTest, OneThatDoesNotReturnIsHeldUpAndNotIdle) {
  demand(1, 1);
  const auto x = join();
  const auto held_up = [&] { return pool.trainers(now)[0].held_up; };
  const auto beat = [&](lease_id lease, std::uint64_t overdue_ms) {
    return pool.apply(pool_event::heard{heartbeat{x, lease, 0, 1, overdue_ms}},
                      now);
  };
  beat(lease_id{3}, 0);
  EXPECT_EQ(held_up(), "") << "it trains";
  beat(lease_id{3}, 1000);
  EXPECT_EQ(held_up(), "") << "most calls return by themselves";
  now += 4s;
  beat(lease_id{3}, 5000);
  EXPECT_EQ(held_up(), "does not return since 5 s from a call of training that "
                       "was to end");
  now += 2s;
  EXPECT_NE(held_up().find("since 7 s"), std::string::npos) << held_up();
  pool.apply(pool_event::stalled{x, "no step for 9 s"}, now);
  EXPECT_EQ(pool.idle(), 0u) << "it is given nothing yet";
  EXPECT_NE(held_up().find("since 7 s"), std::string::npos);
  EXPECT_NE(held_up().find("no step for 9 s"), std::string::npos);
  beat(lease_id{3}, 7000);
  EXPECT_TRUE(all<pool_effect::grant>(demand(1, 1)).empty());
  EXPECT_EQ(all<pool_effect::grant>(beat({}, 0)), (grants{granted(1, x)}));
  EXPECT_EQ(held_up(), "");
}

TEST_F(PoolCoreTest, OneThatHasGoneOnWithAnotherLeaseIsNotHeldUp) {
  demand(1, 1);
  const auto x = join();
  const auto beat = [&](std::uint64_t lease, std::uint64_t overdue_ms) {
    pool.apply(
      pool_event::heard{heartbeat{x, lease_id{lease}, 0, 1, overdue_ms}}, now);
  };
  beat(3, 9000);
  beat(4, 0); // of another lane
  EXPECT_NE(pool.trainers(now)[0].held_up, "");
  now += 1s;
  beat(3, 10'000);
  beat(4, 0);
  EXPECT_NE(pool.trainers(now)[0].held_up, "");
  for (int i = 0; i < 3; ++i) { // nothing is said of the first any more
    now += 1s;
    beat(4, 0);
  }
  EXPECT_EQ(pool.trainers(now)[0].held_up, "");
}

TEST_F(PoolCoreTest, OneThatEndsWhatItWasGivenBeforeIsHeldUp) {
  const auto x = admit();
  pool.apply(pool_event::heard{heartbeat{x, lease_id{3}, 0, 1}}, now);
  EXPECT_EQ(pool.trainers()[0].held_up,
            "ends what it was leased before it registered");
  EXPECT_EQ(pool.idle(), 0u);
  heartbeat_of(x);
  EXPECT_EQ(pool.trainers()[0].held_up, "");
  EXPECT_EQ(pool.idle(), 1u);
}

TEST_F(PoolCoreTest, IdleTrainerLeavesAtOnce) {
  const auto x = join();
  const auto out = pool.apply(pool_event::leaving{x}, now);
  EXPECT_EQ(all<pool_effect::unwatch>(out),
            (std::vector<pool_effect::unwatch>{{x}}));
  EXPECT_TRUE(pool.trainers()[0].left);
  EXPECT_EQ(pool.trainers()[0].lost, "");
}

TEST_F(PoolCoreTest, HeldTrainerLeavesOnceItIsReleased) {
  demand(1, 1);
  const auto x = join();
  EXPECT_TRUE(pool.apply(pool_event::leaving{x}, now).empty());
  EXPECT_FALSE(pool.trainers()[0].left);
  demand(2, 1);
  EXPECT_TRUE(
    all<pool_effect::grant>(pool.apply(pool_event::released{x}, now)).empty());
  EXPECT_TRUE(pool.trainers()[0].left);
}

TEST_F(PoolCoreTest, TrainerThatEndsInOrderAfterItsLeaveIsNotLost) {
  demand(1, 1);
  const auto x = join();
  pool.apply(pool_event::leaving{x}, now);
  const auto out = pool.apply(pool_event::disconnected{x, true, "none"}, now);
  EXPECT_TRUE(pool.trainers()[0].left);
  EXPECT_EQ(all<pool_effect::notify_lost>(out),
            (std::vector<pool_effect::notify_lost>{{1, x}}))
    << "it has not died";
}

/// The process is known by its heartbeats, which count on.
TEST_F(PoolCoreTest, TrainerThatComesAgainWasOnlyCutOff) {
  using backs = std::vector<pool_effect::notify_back>;
  demand(1, 1);
  const auto first = join();
  EXPECT_EQ(all<pool_effect::notify_lost>(
              pool.apply(pool_event::disconnected{first, false, "cut"}, now)),
            (std::vector<pool_effect::notify_lost>{{1, first, "cut"}}));
  pool.apply(pool_event::introduced{1, {}}, now);
  const auto started_anew = admit();
  EXPECT_TRUE(all<pool_effect::notify_back>(
                pool.apply(pool_event::heard{{started_anew, {}, 0, 0}}, now))
                .empty());
  const auto back = admit();
  EXPECT_EQ(all<pool_effect::notify_back>(
              pool.apply(pool_event::heard{{back, {}, 0, 4}}, now)),
            (backs{{1, "node:7"}}));
  auto other = named();
  other.process_id = 8;
  EXPECT_TRUE(all<pool_effect::notify_back>(
                pool.apply(pool_event::heard{{admit(other), {}, 0, 4}}, now))
                .empty())
    << "nobody has missed it";
}

TEST_F(PoolCoreTest, TrainerThatGoesOnHasNotComeAgain) {
  auto self = named();
  self.workloads["mlp"];
  pool.apply(pool_event::introduced{1, {"key", "mlp", ""}}, now);
  demand(1, 2);
  pool.apply(pool_event::disconnected{join(self), false, "cut"}, now);
  const auto back = admit(self);
  const auto idle = [&] {
    return all<pool_effect::notify_back>(
      pool.apply(pool_event::heard{{back, {}, 0, 4}}, now));
  };
  EXPECT_EQ(idle().size(), 1u);
  ASSERT_EQ(pool.holder_of(back), 1u);
  pool.apply(pool_event::stalled{back, "no step for 9 s"}, now);
  EXPECT_TRUE(idle().empty());
}

TEST_F(PoolCoreTest, TrainerThatEndsWithoutLeaveIsLost) {
  const auto x = join();
  pool.apply(pool_event::disconnected{x, true, "normal"}, now);
  EXPECT_FALSE(pool.trainers()[0].left);
  EXPECT_EQ(pool.trainers()[0].lost, "normal");
}

TEST_F(PoolCoreTest, TrainersOfAMergerThatEndsGoToOthers) {
  demand(1, 1);
  const auto x = join();
  demand(2, 1);
  EXPECT_EQ(
    all<pool_effect::grant>(pool.apply(pool_event::merger_ended{1}, now)),
    (grants{granted(2, x)}));
}

TEST_F(PoolCoreTest, TrainerOfNoUseIsNotGranted) {
  pool.apply(pool_event::introduced{1, {"key", "cnn", ""}}, now);
  demand(1, 1);
  const auto x = join(named({"mlp"}));
  EXPECT_EQ(pool.holder_of(x), std::nullopt);
  const auto y = join(named({"cnn"}));
  EXPECT_EQ(pool.holder_of(y), 1u);
}

TEST_F(PoolCoreTest, MergerWithoutATrainerIsStuckAndLoggedOnce) {
  pool.apply(pool_event::introduced{1, {"key", "cnn", ""}}, now);
  auto out = demand(1, 1);
  EXPECT_EQ(all<pool_effect::log_line>(out),
            (std::vector<pool_effect::log_line>{
              {true, "key has to wait: no trainer is connected"}}));
  EXPECT_TRUE(demand(1, 2).empty());
  join(named({"mlp"}));
  ASSERT_EQ(pool.stuck().size(), 1u);
  EXPECT_EQ(pool.stuck()[0].key, "key");
  EXPECT_EQ(pool.stuck()[0].why,
            "none of the 1 trainers can train 'cnn': start one with the "
            "library that it is in");
}

TEST_F(PoolCoreTest, OtherVersionIsNamedInTheReason) {
  pool.apply(pool_event::introduced{1, {"key", "cnn", "2"}}, now);
  demand(1, 1);
  join(named({"cnn"}, "1"));
  ASSERT_EQ(pool.stuck().size(), 1u);
  EXPECT_NE(pool.stuck()[0].why.find("in its version '2', only '1'"),
            std::string::npos);
  join(named({"cnn"}, "2"));
  EXPECT_TRUE(pool.stuck().empty());
}

TEST_F(PoolCoreTest, LaterMergerOfAKeyReplacesTheFirst) {
  pool.apply(pool_event::introduced{1, {"key", "cnn", ""}}, now);
  EXPECT_EQ(pool.merger_of("key"), 1u);
  pool.apply(pool_event::introduced{2, {"key", "cnn", ""}}, now);
  EXPECT_EQ(pool.merger_of("key"), 2u);
  pool.apply(pool_event::merger_ended{2}, now);
  EXPECT_EQ(pool.merger_of("key"), std::nullopt);
}

TEST_F(PoolCoreTest, WhoHasHadNothingWaitsSecondsForTheOnlyTrainer) {
  demand(1, 10);
  const auto x = join();
  now += 1h;
  last = demand(2, 1);
  auto asked = all<pool_effect::ask_to_yield>(last);
  int reviews = 0;
  for (; asked.empty(); ++reviews) {
    now += 3s;
    asked = all<pool_effect::ask_to_yield>(
      pool.apply(pool_event::review_due{false}, now));
    ASSERT_LT(reviews, 10);
  }
  EXPECT_LE(reviews, 2);
  EXPECT_EQ(asked, (std::vector<pool_effect::ask_to_yield>{{1, x}}));
  pool.apply(pool_event::released{x}, now);
  ASSERT_EQ(pool.holder_of(x), 2u);
  // From then on turns are long: it has had one.
  now += 3s;
  EXPECT_TRUE(all<pool_effect::ask_to_yield>(
                pool.apply(pool_event::demanded{1, 10, 3, {}}, now))
                .empty());
  EXPECT_TRUE(all<pool_effect::ask_to_yield>(
                pool.apply(pool_event::review_due{false}, now))
                .empty());
}

TEST_F(PoolCoreTest, MergerFarBehindHasATrainerAskedBack) {
  demand(1, 10);
  const auto x = join();
  const auto y = join();
  EXPECT_EQ(held_by(1), 2u);
  last = demand(2, 10);
  EXPECT_EQ(all<pool_effect::review_after>(last),
            (std::vector<pool_effect::review_after>{{3s, false}}));
  std::vector<pool_effect::ask_to_yield> asked =
    all<pool_effect::ask_to_yield>(last);
  for (int i = 0; i < 100 && asked.empty(); ++i) {
    now += 3s;
    asked = all<pool_effect::ask_to_yield>(
      pool.apply(pool_event::review_due{false}, now));
  }
  EXPECT_EQ(asked, (std::vector<pool_effect::ask_to_yield>{{1, x}}));
  EXPECT_EQ(pool.reserved_for(x), 2u);
  EXPECT_EQ(pool.reserved_for(y), std::nullopt);
  EXPECT_EQ(all<pool_effect::grant>(pool.apply(pool_event::released{x}, now)),
            (grants{granted(2, x)}));
  EXPECT_EQ(pool.reserved_for(x), std::nullopt);
}

TEST_F(PoolCoreTest, ReviewIsDueOnceAtATime) {
  demand(1, 10);
  join();
  EXPECT_EQ(all<pool_effect::review_after>(demand(2, 10)).size(), 1u);
  EXPECT_TRUE(all<pool_effect::review_after>(demand(3, 10)).empty());
  now += 3s;
  EXPECT_EQ(all<pool_effect::review_after>(
              pool.apply(pool_event::review_due{false}, now))
              .size(),
            1u);
}

TEST_F(PoolCoreTest, OldestOfThoseThatAreGoneAreForgotten) {
  for (std::size_t i = 0; i < gone_trainers_max + 3; ++i)
    pool.apply(pool_event::leaving{join()}, now);
  EXPECT_EQ(pool.trainers().size(), gone_trainers_max);
  EXPECT_EQ(pool.trainers().front().number, 4u);
}

/// Whatever comes in whatever order, the invariants hold, and what is granted
/// is held.
TEST_F(PoolCoreTest, CountsWhoGoes) {
  demand(1, 100);
  const auto x = join();
  const auto y = join();
  EXPECT_EQ(pool.seconds_between_interruptions("test"), 0);
  now += 90s;
  pool.apply(pool_event::leaving{x}, now);
  pool.apply(pool_event::released{x}, now);
  EXPECT_EQ(pool.seconds_between_interruptions("test"), 180);
  now += 20s;
  pool.apply(pool_event::disconnected{y, false, "gone"}, now);
  EXPECT_EQ(pool.seconds_between_interruptions("test"), 100);
  EXPECT_EQ(pool.seconds_between_interruptions("other"), 0);
}

TEST_F(PoolCoreTest, WhoRegistersAnewHasNotGone) {
  const auto x = join();
  now += 90s;
  core::effects out;
  test::admitted(pool, named(), x, now, out);
  EXPECT_EQ(pool.seconds_between_interruptions("test"), 0);
}

/// Trainers of two kinds, one of them better for the second merger.
struct PoolPlacementTest : PoolCoreTest {
  void open(placement_rule rule) {
    pool_options options{1s, 15s};
    options.placement = rule;
    pool = core{options, now};
  }

  void want(std::uint64_t merger, std::uint64_t wanted, kind_speeds speeds,
            double complexity = 1) {
    pool.apply(
      pool_event::demanded{
        merger, 1, wanted, {}, {std::move(speeds), complexity}},
      now);
  }

  /// Who gets a trainer of a device that comes now.
  std::optional<std::uint64_t> goes_to(const std::string& device) {
    auto x = named();
    x.device = device;
    return pool.holder_of(join(x));
  }
};

TEST_F(PoolPlacementTest, WhoGainsMostGoesFirstWithinASlack) {
  open(placement_rule::advantage);
  want(1, 100, {{"cpu", 1}, {"gpu", 1}});
  want(2, 100, {{"cpu", 1}, {"gpu", 9}});
  EXPECT_EQ(goes_to("cpu"), 1u);
  EXPECT_EQ(goes_to("gpu"), 2u);
  EXPECT_EQ(goes_to("gpu"), 2u); // though it is the first one's turn
  EXPECT_EQ(goes_to("cpu"), 1u);
  EXPECT_EQ(goes_to("gpu"), 2u);
  EXPECT_EQ(goes_to("gpu"), 2u);
  now += 600s; // it is ahead by more than two quanta for each trainer
  EXPECT_EQ(goes_to("gpu"), 1u);
}

TEST_F(PoolPlacementTest, FairIsByTurnsAlone) {
  open(placement_rule::fair);
  want(1, 100, {{"cpu", 1}, {"gpu", 1}});
  want(2, 100, {{"cpu", 1}, {"gpu", 9}});
  EXPECT_EQ(goes_to("gpu"), 1u);
  EXPECT_EQ(goes_to("gpu"), 2u);
  EXPECT_EQ(goes_to("cpu"), 1u);
  EXPECT_EQ(goes_to("gpu"), 2u);
}

TEST_F(PoolPlacementTest, LargeSpacesGoToStrongKinds) {
  open(placement_rule::complexity);
  for (std::uint64_t i = 1; i <= 4; ++i)
    want(i, 100, {{"a", 1}, {"b", 2}, {"c", 3}}, static_cast<double>(i));
  goes_to("a");
  goes_to("b");
  // Kinds are there from now on: only the largest space is on the last one,
  // others have their turns there when it is too far ahead.
  EXPECT_EQ(goes_to("c"), 4u);
  EXPECT_EQ(goes_to("c"), 4u);
}

TEST_F(PoolPlacementTest, AKindOfNoUseIsLeftToOthers) {
  open(placement_rule::advantage);
  want(1, 100, {{"small", 0}, {"large", 1}});
  want(2, 100, {{"small", 1}, {"large", 1}});
  goes_to("large");
  goes_to("large");
  EXPECT_EQ(goes_to("small"), 2u);
  EXPECT_EQ(goes_to("small"), 2u);
}

class PoolCoreSeeds : public PoolCoreTest,
                      public testing::WithParamInterface<unsigned> {};

TEST_P(PoolCoreSeeds, InvariantsHold) {
  std::mt19937 random(GetParam());
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const std::vector<std::string> names{"mlp", "cnn"};
  const std::vector<std::string> devices{"test", "other", "third"};
  pool_options options{1s, 15s};
  options.placement = static_cast<placement_rule>(GetParam() % 3);
  pool = core{options, now};
  const auto any_speeds = [&] {
    kind_speeds result;
    for (const auto& x : devices)
      if (below(2) == 0)
        result[x] = static_cast<double>(below(4));
    return result;
  };
  for (int turn = 0; turn < 800; ++turn) {
    now += std::chrono::milliseconds(below(2000));
    const trainer_id trainer{below(pool.trainers().size() + 2) + 1};
    const auto merger = below(4) + 1;
    core::effects out;
    pool_event::demanded demanded;
    switch (below(14)) {
      case 0: {
        auto x = named({names[below(2)]});
        x.device = devices[below(1 + GetParam() % 4) % 3];
        test::admitted(pool, x,
                       below(4) == 0 ? std::optional{trainer} : std::nullopt,
                       now, out);
        break;
      }
      case 1:
      case 2:
      case 3:
        out = pool.apply(pool_event::heard{{trainer, lease_id{below(2)}, 0, 0}},
                         now);
        break;
      case 4:
        out = pool.apply(pool_event::leaving{trainer}, now);
        break;
      case 5:
        out = pool.apply(
          pool_event::disconnected{trainer, below(2) == 0, "gone"}, now);
        break;
      case 6:
        pool.apply(
          pool_event::introduced{merger,
                                 {names[below(2)], names[below(2)], ""}},
          now);
        break;
      case 7:
        demanded.merger = merger;
        demanded.facts = {any_speeds(), 1 + static_cast<double>(below(9))};
        demanded.kinds = below(3) == 0   ? kinds{"test"}
                         : below(4) == 0 ? kinds{"other"}
                                         : kinds{};
        demanded.trainers = below(5);
        demanded.weight = 1 + static_cast<double>(below(3));
        out = pool.apply(std::move(demanded), now);
        break;
      case 8:
        out = below(6) == 0 ? pool.apply(pool_event::merger_ended{merger}, now)
                            : pool.apply(pool_event::ticked{}, now);
        break;
      case 9:
        out = pool.apply(pool_event::released{trainer}, now);
        break;
      case 10:
        out = below(2) == 0
                ? pool.apply(pool_event::stalled{trainer, "stalls"}, now)
                : pool.apply(pool_event::cooled_down{trainer, 3s,
                                                     below(2) == 0 ? "no" : ""},
                             now);
        break;
      case 11:
        out = pool.apply(pool_event::blamed{trainer, "failed"}, now);
        break;
      case 12:
        out = pool.apply(pool_event::alive{trainer}, now);
        break;
      default:
        out = pool.apply(pool_event::review_due{below(2) == 0}, now);
        break;
    }
    pool.check_invariants();
    const auto asked = all<pool_effect::ask_to_yield>(out);
    for (const auto& x : all<pool_effect::grant>(out)) {
      EXPECT_EQ(pool.holder_of(x.trainer), x.merger);
      // Else it could go to and fro for ever.
      EXPECT_TRUE(std::ranges::none_of(asked, [&](const auto& y) {
        return y.trainer == x.trainer;
      })) << "asked back as soon as it was granted";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PoolCoreSeeds, testing::Range(0u, 100u));

} // namespace
} // namespace hippo
