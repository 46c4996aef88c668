#include "pool.hpp"

#include <map>

#include <gtest/gtest.h>

#include "actors/actor_fixture.hpp"
#include "hippo/wire/codec.hpp"

namespace hippo {
namespace {

struct PoolTest : test::actor_test {
  pool_actor trainers = spawn(pool, pool_options{});
  std::map<std::string, std::uint64_t> held;

  /// A merger that takes every trainer.
  merger_actor greedy(const std::string& name) {
    auto* count = &held[name];
    return spawn([count](merger_actor::pointer) -> merger_actor::behavior_type {
      return {
        [](report_atom, const stop_report_wire&) {},
        [](ended_atom, const lease_end_wire&) {},
        [](register_atom, const study_registration&, const trial_owner_actor&) {
          return trial_id{0};
        },
        [](order_atom, std::uint64_t, const study_orders&) {},
        [](weight_atom, std::uint64_t, double) {},
        [](go_atom) {},
        [](halt_atom) {},
        [](hold_atom, std::uint64_t, bool) {},
        [](retire_atom) { return std::uint64_t{0}; },
        [count](grant_atom, std::uint64_t, const trainer_actor&) { ++*count; },
        [count](lost_atom, std::uint64_t) { --*count; },
        [](beat_atom, std::uint64_t, std::uint64_t, step_t) {},
        [](resent_atom, const stop_report&, const trainer_actor&) {},
        [](status_atom) { return merger_status{}; },
        [](status_atom, told_atom) { return merger_overview{}; },
      };
    });
  }

  void want(const merger_actor& who, double weight, std::uint64_t paths) {
    self->send(trainers, demand_atom::value, who, weight, paths);
    run();
  }

  trainer_actor join() {
    auto handle
      = spawn([](trainer_actor::pointer) -> trainer_actor::behavior_type {
          return {
            [](lease_atom, const lease_wire&, const lease_owner_actor&) {},
            [](stop_atom, const stop_wire&) {},
            [](cancel_atom, const cancel_wire&) {},
            [](ack_atom, const ack_wire&) {},
            [](lost_atom) {},
          };
        });
    hello x;
    x.device = "test";
    auto welcomed = ask<welcome_wire>(trainers, register_atom::value, encode(x),
                                      handle);
    EXPECT_TRUE(welcomed);
    beat idle;
    idle.trainer = decode(*welcomed)->trainer;
    self->send(trainers, beat_atom::value, encode(idle));
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
  self->send(trainers, release_atom::value, std::uint64_t{1});
  run();
  EXPECT_EQ(held["other"], 1u); // nothing more was wanted
  want(other, 1, 1);
  EXPECT_EQ(held["other"], 2u);
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

} // namespace
} // namespace hippo
