#include "pool.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "actors/actor_fixture.hpp"
#include "hippo/net/wire/codec.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;

struct PoolTest : test::actor_test {
  pool_actor trainers = spawn(pool, pool_options{1h, 10h});
  std::map<std::string, std::uint64_t> held;
  std::map<std::string, std::vector<std::uint64_t>> asked_back;
  std::map<std::string, std::uint64_t> reports; ///< that were sent again

  /// A merger that takes every trainer.
  merger_actor greedy(const std::string& name) {
    auto* count = &held[name];
    auto* asked = &asked_back[name];
    auto* told = &reports[name];
    return spawn([count, asked,
                  told](merger_actor::pointer) -> merger_actor::behavior_type {
      return {
        [](report_atom, const stop_report_wire&) {},
        [](ended_atom, const lease_end_wire&) {},
        [](register_atom, const study_registration&, const trial_owner_actor&) {
          return study_no{};
        },
        [](order_atom, study_no, const study_orders&) {},
        [](weight_atom, study_no, double) {},
        [](raise_atom, study_no, double, double) {},
        [](go_atom) {},
        [](halt_atom) {},
        [](pause_atom, study_no, bool) {},
        [](budget_atom, std::uint64_t) {},
        [](retire_atom) { return std::uint64_t{0}; },
        [count](grant_atom, const trainer_actor&, const trainer_grant&) {
          ++*count;
        },
        [count](lost_atom, trainer_id, const std::string&) { --*count; },
        [](back_atom, const std::string&) {},
        [](able_atom, const trainer_kinds&) {},
        [](heartbeat_atom, trainer_id, lease_id, step_t) {},
        [told](resent_atom, const stop_report&, const trainer_actor&) {
          ++*told;
        },
        [asked](yield_atom, trainer_id number) {
          asked->push_back(number_of(number));
        },
        [](status_atom) { return merger_status{}; },
        [](overview_atom) { return merger_overview{}; },
      };
    });
  }

  void want(const merger_actor& who, double weight, std::uint64_t paths) {
    self->send(trainers, demand_atom::value, who, weight, paths, device_names{},
               placement_facts{}, helper_demand{});
    run();
  }

  /// A merger that takes every trainer that can train a workload.
  merger_actor greedy_for(const std::string& workload,
                          const std::string& numerics = {}) {
    auto result = greedy(workload);
    self->send(trainers, introduce_atom::value, result,
               workload_need{workload, workload, "", numerics});
    run();
    return result;
  }

  void release(std::uint64_t number) {
    self->send(trainers, release_atom::value, trainer_id{number});
    run();
  }

  /// Trainers stay silent.
  void pass(std::chrono::seconds span) {
    for (; span.count() > 0; span -= 1s) {
      sched.clock().advance_time(1s);
      run();
    }
  }

  /// A trainer that is of use to the mergers that need one of these, and to
  /// those that have not said what they need. Ends when it is cancelled.
  trainer_actor join(const std::vector<std::string>& workloads = {},
                     const std::string& numerics = {}) {
    auto handle
      = spawn([](trainer_actor::pointer ptr) -> trainer_actor::behavior_type {
          return {
            [](lease_atom, const lease_wire&, const lease_owner_actor&) {},
            [](stop_atom, const stop_wire&) {},
            [ptr](cancel_atom, const cancel_wire&) {
              ptr->quit();
            },
            [](ack_atom, const ack_wire&) {},
            [](lost_atom) {},
          };
        });
    hello x;
    x.device = "test";
    x.numerics = numerics;
    for (const auto& name : workloads)
      x.workloads[name];
    auto welcomed = ask<welcome_wire>(trainers, register_atom::value, encode(x),
                                      handle);
    EXPECT_TRUE(welcomed);
    heartbeat idle;
    idle.trainer = decode(*welcomed)->trainer;
    self->send(trainers, heartbeat_atom::value, encode(idle));
    run();
    return handle;
  }
};

TEST_F(PoolTest, SharesTrainersByWeight) {
  const auto light = greedy("light");
  const auto heavy = greedy("heavy");
  want(light, 1, 100);
  want(heavy, 3, 100);
  for (int i = 0; i < 8; ++i)
    join();
  EXPECT_EQ(held["light"], 2u);
  EXPECT_EQ(held["heavy"], 6u);
}

TEST_F(PoolTest, GrantsByTheTimeThatMergersHaveHadTrainers) {
  const auto first = greedy("first");
  const auto other = greedy("other");
  join();
  want(first, 1, 9);
  pass(20s);
  want(other, 1, 9); // has not waited until now
  pass(10s);
  EXPECT_EQ(held["other"], 0u);
  release(1); // 10 s more for the first
  EXPECT_EQ(held["other"], 1u);
  pass(5s);
  release(1);
  EXPECT_EQ(held["other"], 2u);
  pass(6s);
  release(1); // 11 s for the other
  EXPECT_EQ(held["other"], 2u);
}

TEST_F(PoolTest, AsksATrainerBackForWhoHasFallenBehind) {
  const auto first = greedy("first");
  const auto other = greedy("other");
  join();
  want(first, 2, 9);
  pass(1h); // nobody else
  want(other, 1, 9);
  // Behind by its first quantum, 3 s, when the first has had two more, of twice
  // the weight.
  pass(5s);
  EXPECT_TRUE(asked_back["first"].empty());
  pass(6s);
  EXPECT_EQ(asked_back["first"], (std::vector<std::uint64_t>{1}));
  pass(1h);
  EXPECT_EQ(asked_back["first"].size(), 1u) << "it was asked once";
  release(1);
  EXPECT_EQ(held["other"], 1u);
  want(first, 2, 0);
  pass(3h);
  EXPECT_TRUE(asked_back["other"].empty());
}

TEST_F(PoolTest, AsksForSoManyThatBothHaveTheirShare) {
  const auto first = greedy("first");
  const auto other = greedy("other");
  for (int i = 0; i < 9; ++i)
    join();
  want(first, 2, 100);
  pass(1s);
  want(other, 1, 2);
  EXPECT_EQ(asked_back["first"].size(), 2u);
  want(other, 1, 0); // the two are on their way
  want(other, 1, 2);
  EXPECT_EQ(asked_back["first"].size(), 2u);
  for (auto number : std::vector{asked_back["first"]})
    release(number);
  EXPECT_EQ(held["other"], 2u);
  want(other, 1, 100);
  pass(3s);
  ASSERT_EQ(asked_back["first"].size(), 3u);
  release(asked_back["first"][2]);
  EXPECT_EQ(held["other"], 3u);
  pass(30min);
  EXPECT_EQ(asked_back["first"].size(), 3u);
  EXPECT_TRUE(asked_back["other"].empty());
}

TEST_F(PoolTest, AsksForThoseThatAreHeldForTheLongestTime) {
  const auto first = greedy("first");
  const auto other = greedy("other");
  for (int i = 0; i < 3; ++i)
    join();
  want(first, 1, 100);
  for (std::uint64_t number : {1, 3}) {
    pass(1s);
    release(number);
  }
  want(other, 1, 1);
  EXPECT_EQ(asked_back["first"], (std::vector<std::uint64_t>{2}));
}

TEST_F(PoolTest, AsksNoTrainerBackForWhoCannotUseIt) {
  const auto a = greedy_for("a");
  const auto b = greedy_for("b");
  const auto c = greedy_for("c");
  join({"a", "c"});
  want(a, 1, 9);
  want(b, 1, 9);
  pass(1h);
  EXPECT_TRUE(asked_back["a"].empty());
  want(c, 1, 9);
  pass(2min);
  EXPECT_EQ(asked_back["a"], (std::vector<std::uint64_t>{1}));
  release(1);
  EXPECT_EQ(held["c"], 1u);
}

TEST_F(PoolTest, AsksForATrainerThatIsOfUseBesideOneThatIsNot) {
  const auto a = greedy_for("a");
  const auto b = greedy_for("b");
  const auto c = greedy_for("c");
  join({"a", "b"});
  join({"c"});
  want(a, 1, 9);
  want(c, 1, 9);
  pass(1s);
  want(b, 1, 9);
  pass(2min);
  EXPECT_EQ(asked_back["a"], (std::vector<std::uint64_t>{1}));
  EXPECT_TRUE(asked_back["c"].empty());
}

TEST_F(PoolTest, NumericsOfTrainersAndWorkloadsMustBeTheSame) {
  const auto a = greedy_for("a", "native");
  want(a, 1, 9);
  join({"a"}, "portable");
  EXPECT_EQ(held["a"], 0u);
  const auto status = ask<pool_status>(trainers, status_atom::value);
  ASSERT_TRUE(status);
  ASSERT_EQ(status->stuck.size(), 1u);
  EXPECT_EQ(status->stuck[0].why,
            "none of the 1 trainers can train 'a' with numerics: native: "
            "start one with --numerics native");
  join({"a"}, "native");
  EXPECT_EQ(held["a"], 1u);
  join({"a"}); // a GPU: any
  EXPECT_EQ(held["a"], 2u);
}

TEST_F(PoolTest, AnyTrainerIsOfUseToWorkloadsWithoutNumerics) {
  const auto a = greedy_for("a");
  want(a, 1, 9);
  join({"a"}, "portable");
  join({"a"}, "native");
  EXPECT_EQ(held["a"], 2u);
}

TEST_F(PoolTest, WhoNoTrainerIsOfUseToSavesUpNoTurns) {
  const auto a = greedy_for("a");
  const auto b = greedy_for("b");
  const auto c = greedy_for("c");
  join({"a", "c"});
  want(b, 1, 9);
  want(a, 1, 9);
  pass(1h);
  want(c, 1, 9); // does not go on from where the one that is stuck is
  pass(40s);
  release(1);
  EXPECT_EQ(held["c"], 1u);
  pass(41s);
  release(1);
  EXPECT_EQ(held["a"], 2u);
  join({"b", "c"});
  EXPECT_EQ(held["b"], 1u);
}

TEST_F(PoolTest, ATrainerThatLeavesIsNotAskedBack) {
  const auto first = greedy("first");
  const auto other = greedy("other");
  join();
  want(first, 1, 9);
  self->send(trainers, leave_atom::value, encode(goodbye{trainer_id{1}}));
  run();
  want(other, 1, 9);
  pass(1h);
  EXPECT_TRUE(asked_back["first"].empty());
}

TEST_F(PoolTest, ATrainerThatEndsBeforeItsMergerReleasesItHasLeft) {
  const auto one = greedy("one");
  const auto well_behaved = join();
  const auto other = join();
  want(one, 1, 9);
  for (std::uint64_t number : {1, 2})
    self->send(trainers, leave_atom::value,
               encode(goodbye{trainer_id{number}}));
  run();
  self->send(well_behaved, cancel_atom::value, encode(cancel_request{}));
  self->send_exit(other, caf::exit_reason::kill);
  run();
  const auto known = ask<pool_status>(trainers, status_atom::value)->trainers;
  EXPECT_TRUE(known.at(0).left);
  EXPECT_EQ(known.at(0).lost, "");
  EXPECT_FALSE(known.at(1).left);
  EXPECT_NE(known.at(1).lost, "");
  EXPECT_EQ(held["one"], 0u); // told in both cases
}

TEST_F(PoolTest, AWeightThatChangesCountsFromThen) {
  const auto first = greedy("first");
  const auto other = greedy("other");
  want(first, 1, 100);
  want(other, 1, 100);
  want(other, 3, 100);
  for (int i = 0; i < 8; ++i)
    join();
  EXPECT_EQ(held["first"], 2u);
  EXPECT_EQ(held["other"], 6u);
}

TEST_F(PoolTest, GrantsNoMoreThanIsWanted) {
  const auto modest = greedy("modest");
  want(modest, 1, 2);
  for (int i = 0; i < 5; ++i)
    join();
  EXPECT_EQ(held["modest"], 2u);
  want(modest, 1, 1); // another path appears
  EXPECT_EQ(held["modest"], 3u);
}

TEST_F(PoolTest, ATrainerThatComesBackIsGrantedAgain) {
  const auto other = greedy("other");
  join();
  want(other, 1, 1);
  EXPECT_EQ(held["other"], 1u);
  self->send(trainers, release_atom::value, trainer_id{1});
  run();
  EXPECT_EQ(held["other"], 1u); // nothing more was wanted
  want(other, 1, 1);
  EXPECT_EQ(held["other"], 2u);
}

TEST_F(PoolTest, AMergerThatEndsIsForgottenAndItsTrainersAreFree) {
  const auto first = greedy_for("first");
  const auto other = greedy_for("other");
  join({"first", "other", "last"});
  want(first, 1, 9);
  want(other, 1, 9);
  EXPECT_EQ(held["first"], 1u);
  EXPECT_EQ(held["other"], 0u);
  self->send_exit(first, caf::exit_reason::kill);
  run();
  EXPECT_EQ(held["other"], 1u);
  const auto last = greedy_for("last");
  want(last, 1, 9);
  pass(10s);
  release(1);
  EXPECT_EQ(held["last"], 1u); // the other one has had 10 s
}

TEST_F(PoolTest, TheDeathOfATrainerIsToldToItsMerger) {
  const auto one = greedy("one");
  want(one, 1, 5);
  auto trainer = join();
  EXPECT_EQ(held["one"], 1u);
  self->send_exit(trainer, caf::exit_reason::kill);
  run();
  EXPECT_EQ(held["one"], 0u);
  auto known = ask<pool_status>(trainers, status_atom::value);
  ASSERT_TRUE(known);
  EXPECT_FALSE(known->trainers[0].lost.empty());
}

struct ResentTest : PoolTest {
  std::shared_ptr<byte_ledger> ledger
    = std::make_shared<byte_ledger>("trainers", 1 << 20);

  ResentTest() {
    pool_options options{1h, 10h};
    options.held = ledger;
    trainers = spawn(pool, options);
  }

  void send_again(const trainer_actor& from, const std::string& key,
                  std::size_t bytes) {
    resent x;
    x.workload_key = key;
    x.report.lease = lease_id{7};
    x.report.node = node_id{1};
    x.report.at = 1;
    x.report.device = "test";
    x.report.output = std::string(bytes, 'o');
    self->send(trainers, resent_atom::value, encode(x), from);
    run();
  }
};

TEST_F(ResentTest, ReportsForWhatHasNotBegunAreBookedUntilItHas) {
  const auto x = join({"later"});
  for (int i = 0; i < 3; ++i)
    send_again(x, "later", 10'000);
  EXPECT_GE(ledger->root().held(), 30'000u);
  greedy_for("other");
  EXPECT_GE(ledger->root().held(), 30'000u);
  greedy_for("later");
  EXPECT_EQ(ledger->root().held(), 0u);
  EXPECT_EQ(reports["later"], 3u);
  send_again(x, "later", 10'000);
  EXPECT_EQ(reports["later"], 4u);
  EXPECT_EQ(ledger->root().held(), 0u);
}

TEST_F(ResentTest, WhatIsBeyondAShareIsLeftWithTheTrainer) {
  const auto greedy_one = join({"never"});
  for (int i = 0; i < 100; ++i)
    send_again(greedy_one, "never", 50'000);
  EXPECT_LE(ledger->root().held(), ledger->room() / 2);
  const auto modest = join({"later"});
  for (int i = 0; i < 3; ++i)
    send_again(modest, "later", 10'000);
  greedy_for("later");
  EXPECT_EQ(reports["later"], 3u);
}

TEST_F(ResentTest, WhatIsHeldGoesWithItsTrainer) {
  const auto x = join({"never"});
  for (int i = 0; i < 3; ++i)
    send_again(x, "never", 10'000);
  EXPECT_GT(ledger->root().held(), 0u);
  self->send(x, cancel_atom::value, encode(cancel_request{}));
  run();
  EXPECT_EQ(ledger->root().held(), 0u);
}

} // namespace
} // namespace hippo
