// Studies that start as many trials as keep the trainers busy.

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "actors/service_fixture.hpp"

namespace hippo {
namespace {

using verb = study_command::verb;
using rooms = std::vector<std::uint64_t>;

/// Trials without a step in common, and no two of one value.
std::string apart_study(const std::string& name, const std::string& algorithm,
                        double scale = 1) {
  std::string rates;
  for (int i = 1; i <= 12; ++i)
    rates += (i > 1 ? ", " : "") + std::to_string(scale * i);
  return "study: " + name
         + "\nworkload: {name: model}\nobjective: {metric: value}\nmax_steps: "
           "9\nspace: {lr: {choice: ["
         + rates + "]}}\nalgorithm: " + algorithm + "\n";
}

struct RoomTest : test::service_test {
  /// How many trials of a study have been asked for.
  std::ptrdiff_t started(std::size_t i) {
    return std::ranges::count_if(record_of(i).trials, [](const auto& x) {
      return x.state != trial_state::pending;
    });
  }

  std::ptrdiff_t in_state(std::size_t i, trial_state state) {
    return std::ranges::count(record_of(i).trials, state, &trial_record::state);
  }

  std::ptrdiff_t busy() {
    return std::ranges::count_if(trainers,
                                 [](auto& x) { return x.device->busy(); });
  }

  /// A study whose every word the test says itself.
  struct manual_study {
    study_no number{};
    std::shared_ptr<rooms> offers = std::make_shared<rooms>();
    std::shared_ptr<std::uint64_t> news = std::make_shared<std::uint64_t>(0);
    std::uint64_t added = 0;
  };

  manual_study register_by_hand(double weight = 1) {
    manual_study result;
    const auto owner = spawn(
      [=](trial_owner_actor::pointer) -> trial_owner_actor::behavior_type {
        return {
          [=](outcome_atom, const study_news& x) { *result.news += x.size(); },
          [](quiesced_atom) {},
          [](spent_atom, study_limit, std::uint64_t) {},
          [=](capacity_atom, std::uint64_t free) {
            result.offers->push_back(free);
          },
        };
      });
    const auto number = ask<study_no>(
      merging, register_atom::value,
      study_registration{study_id{1}, {9, {9}}, weight, false}, owner);
    EXPECT_TRUE(number);
    result.number = *number;
    return result;
  }

  /// Asks for so many trials more, having heard all that was told.
  void order(manual_study& x, int trials, bool wants_capacity = true) {
    study_orders orders;
    for (int i = 0; i < trials; ++i) {
      const auto rate
        = static_cast<double>(100 * number_of(x.number) + ++x.added);
      orders.added.push_back(
        {x.added - 1, {{0, {{"lr", form::constant(rate)}}}}, {}, false});
      orders.asked.push_back({x.added - 1, 9, 0, false});
    }
    orders.wants_capacity = wants_capacity;
    orders.acked = *x.news + x.offers->size();
    self->send(merging, order_atom::value, x.number, orders);
  }
};

struct InterleavedRoomTest : RoomTest, testing::WithParamInterface<unsigned> {};

TEST_F(RoomTest, AshaStartsAsManyTrialsAsKeepTheTrainersBusy) {
  open();
  add_study(apart_study("asha", "{asha: {eta: 3, min: 1}}"));
  go();
  run();
  EXPECT_EQ(started(0), 1);
  for (int i = 0; i < 3; ++i)
    add_trainer();
  run();
  EXPECT_EQ(started(0), 3);
  EXPECT_EQ(busy(), 3);
  add_trainer();
  run();
  EXPECT_EQ(started(0), 4);
  run_all();
  expect_results_as_alone(0);
  EXPECT_EQ(started(0), 12);
}

TEST_F(RoomTest, ATrialThatSharesWhatRunsLeavesATrainerToTheNextOne) {
  open();
  add_study(R"(
study: shared
workload: {name: model}
objective: {metric: value}
max_steps: 9
space:
  lr: {multistep: {initial: 0.1, milestones: [{choice: [4, 5, 6, 7]}], gamma: {choice: [0.1, 0.2]}}}
  batch_size: {choice: [64, 128]}
algorithm: {asha: {eta: 3, min: 1, sampler: grid}}
)");
  go();
  add_trainer();
  add_trainer();
  run();
  EXPECT_EQ(busy(), 2);
  EXPECT_GT(started(0), 1);
  run_all();
  expect_results_as_alone(0);
  EXPECT_EQ(trained(), status().figures.unique_steps);
}

TEST_F(RoomTest, ResultsOfAnyOrderKeepTheirTrainersBusy) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    open();
    specs.clear();
    studies.clear();
    *kept = {};
    trainers.clear();
    add_study(apart_study("asha", "{asha: {eta: 3, min: 1}}"));
    add_study(apart_study("tpe", "{tpe: {startup: 3}}", 0.01));
    go();
    for (int i = 0; i < 3; ++i)
      add_trainer();
    run();
    std::mt19937_64 random{seed};
    for (int turn = 0; turn < 40; ++turn) {
      // As long as trials are left, nobody waits once all is said.
      if (started(0) + started(1) < 24) {
        EXPECT_EQ(busy(), 3) << seed << ' ' << turn;
      }
      trainers[random() % 3].device->step();
      run();
    }
    run_all();
    expect_results_as_alone(0);
    expect_results_as_alone(1);
    for (const auto& x : trainers)
      self->send_exit(x.handle, caf::exit_reason::kill);
  }
}

TEST_P(InterleavedRoomTest, OneTrainerHasOneTrialInFlight) {
  // A trial whose first rung another one has trained is answered at once.
  open();
  add_study(R"(
study: shared
workload: {name: model}
objective: {metric: value}
max_steps: 9
space:
  lr: {multistep: {initial: {choice: [0.1, 0.2, 0.3]}, milestones: [{choice: [2, 4, 6]}], gamma: {choice: [0.1, 0.2]}}}
algorithm: {asha: {eta: 3, min: 1}}
)");
  go();
  add_trainer();
  std::mt19937_64 random{GetParam()};
  do {
    while (run_one(random))
      ;
    EXPECT_LE(in_state(0, trial_state::running), 1);
  } while (trainers[0].device->step());
  expect_results_as_alone(0);
}

TEST_F(RoomTest, AfterARestartAsManyTrialsAreUnderWayAsBefore) {
  open();
  add_study(apart_study("asha", "{asha: {eta: 3, min: 1}}"));
  go();
  for (int i = 0; i < 4; ++i)
    add_trainer();
  run();
  ASSERT_EQ(started(0), 4);
  crash();
  run();
  merger_options options;
  options.kept = kept->restored();
  options.first_lease = lease_id{1000};
  open(std::move(options));
  add_study(apart_study("asha", "{asha: {eta: 3, min: 1}}"));
  go();
  run();
  EXPECT_EQ(started(0), 4);
  connect_trainers();
  run_all();
  expect_results_as_alone(0);
}

TEST_F(RoomTest, APausedStudyIsOfferedNothing) {
  open();
  add_study(apart_study("asha", "{asha: {eta: 3, min: 1}}"));
  go();
  run();
  ASSERT_TRUE(command(0, verb::pause));
  add_trainer();
  add_trainer();
  run_all();
  EXPECT_EQ(started(0), 1);
  EXPECT_EQ(trained(), 0u);
  ASSERT_TRUE(command(0, verb::resume));
  run();
  EXPECT_EQ(busy(), 2);
  run_all();
  expect_results_as_alone(0);
}

TEST_P(InterleavedRoomTest, AnOfferToAStudyThatIsBeingPausedHoldsNothingUp) {
  open();
  add_study(apart_study("asha", "{asha: {eta: 3, min: 1}}"));
  go();
  run();
  std::mt19937_64 random{GetParam()};
  add_trainer();
  add_trainer();
  for (auto n = random() % 30; n > 0; --n)
    run_one(random);
  self->send(studies[0], command_atom::value,
             study_command{verb::pause, 0, 0, {}, 0});
  while (run_one(random))
    ;
  ASSERT_TRUE(command(0, verb::resume));
  run();
  EXPECT_EQ(busy(), 2);
  run_all();
  expect_results_as_alone(0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, InterleavedRoomTest, test::seeds(40));

TEST_F(RoomTest, FreeTrainersAreOfferedUntilTheStudyWantsNoMore) {
  open();
  auto x = register_by_hand();
  go();
  std::vector<manual_trainer> by_hand;
  for (int i = 0; i < 3; ++i)
    by_hand.push_back(join_by_hand());
  EXPECT_EQ(pool_now().idle, 3u);
  order(x, 0);
  run();
  EXPECT_EQ(*x.offers, (rooms{1})); // the others come when that is under way
  EXPECT_EQ(pool_now().idle, 0u);
  order(x, 1);
  run();
  EXPECT_EQ(*x.offers, (rooms{1, 2}));
  order(x, 1, false);
  run();
  EXPECT_EQ(*x.offers, (rooms{1, 2}));
  EXPECT_EQ(pool_now().idle, 1u);
  EXPECT_EQ(status().running.size(), 2u);
}

TEST_F(RoomTest, NoRoomIsOfferedBeforeAStudyHasHeardItsNews) {
  open();
  auto x = register_by_hand();
  go();
  order(x, 1);
  const auto trainer = join_by_hand();
  ASSERT_EQ(trainer.leases->size(), 1u);
  const auto& work = trainer.leases->at(0);
  stop_report report;
  report.lease = work.number;
  report.at = 9;
  report.node = stage_reaching(work, 9)->node;
  report.identity = stage_reaching(work, 9)->identity;
  report.device = "model";
  report.trained_steps = 9;
  report.values = {{"value", 1}};
  self->send(*trainer.owner, report_atom::value, encode(report));
  self->send(*trainer.owner, ended_atom::value,
             encode(lease_end{report.lease, 9, {}}));
  run();
  ASSERT_EQ(*x.news, 1u);
  EXPECT_EQ(*x.offers, rooms{});
  order(x, 1); // what it starts then is enough
  run();
  EXPECT_EQ(*x.offers, rooms{});
  EXPECT_EQ(trainer.leases->size(), 2u);
}

TEST_F(RoomTest, RoomIsSharedByWeight) {
  open();
  auto x = register_by_hand(1);
  auto y = register_by_hand(3);
  for (int i = 0; i < 9; ++i)
    join_by_hand();
  order(x, 0);
  order(y, 0);
  go();
  run();
  ASSERT_EQ(x.offers->size() + y.offers->size(), 1u);
  auto& first = x.offers->empty() ? y : x;
  order(first, 1);
  run();
  ASSERT_EQ(x.offers->size() + y.offers->size(), 3u);
  EXPECT_EQ(x.offers->back(), 2u);
  EXPECT_EQ(y.offers->back(), 6u);
}

TEST_F(RoomTest, ATrainerThatWaitsMayBeLost) {
  open();
  auto x = register_by_hand();
  go();
  order(x, 0);
  const auto gone = join_by_hand();
  ASSERT_EQ(*x.offers, (rooms{1}));
  self->send_exit(gone.handle, caf::exit_reason::kill);
  run();
  order(x, 1);
  run();
  EXPECT_TRUE(gone.leases->empty());
  EXPECT_TRUE(status().running.empty());
  EXPECT_EQ(join_by_hand().leases->size(), 1u);
}

TEST_F(RoomTest, AServiceThatEndsGivesBackTheTrainersThatWait) {
  open();
  auto x = register_by_hand();
  go();
  order(x, 0);
  join_by_hand();
  EXPECT_EQ(pool_now().idle, 0u);
  self->send(merging, halt_atom::value);
  run();
  EXPECT_EQ(pool_now().idle, 1u);
}

TEST_F(RoomTest, ATrainerThatWaitsIsGivenToWhoNeedsItMore) {
  open();
  auto x = register_by_hand();
  go();
  order(x, 0);
  const auto trainer = join_by_hand();
  EXPECT_EQ(pool_now().idle, 0u);
  self->send(merging, yield_atom::value, trainer.number);
  // It wants the trainer still, and is the only one to do so.
  run();
  order(x, 1);
  run();
  EXPECT_EQ(trainer.leases->size(), 1u);
}

} // namespace
} // namespace hippo
