// Trainers that come and go, and a service that does.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "actors/service_fixture.hpp"
#include "actors/studies.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;

/// One path of nine steps, measured at each.
const char* const one_path = R"(
study: one
workload: {name: model}
objective: {metric: value}
max_steps: 9
space: {lr: {choice: [0.1]}}
algorithm: grid
)";

const char* const grid_study = R"(
study: grid
workload: {name: model}
objective: {metric: value}
max_steps: 12
space:
  lr:
    choice:
      - 0.1
      - multistep: {initial: 0.1, milestones: [6], gamma: 0.1}
      - multistep: {initial: 0.1, milestones: [4, 8], gamma: 0.1}
      - warmup: {steps: 2, from: 0.01, to: 0.1}
  batch_size: {choice: [64, {multistep: {initial: 64, milestones: [6], gamma: 2}}]}
algorithm: grid
)";

using test::sha_study;

struct NodesTest : test::service_test {
  /// Lets time pass second by second, with the heartbeats of these trainers.
  void pass(int seconds, const std::vector<manual_trainer>& alive = {},
            lease_id lease = {}, step_t at = 0) {
    for (; seconds > 0; --seconds) {
      for (const auto& x : alive)
        heartbeat_by_hand(x, lease, at);
      sched.advance_time(1s);
      run();
    }
  }

  /// What a trainer of the hash model would report of a lease at a step.
  stop_report report_of(const lease& x, step_t at) {
    stop_report result;
    result.lease = x.number;
    result.at = at;
    result.device = "model";
    test::model_state state;
    for (const auto& s : x.stages)
      for (auto t = s.begin; t < std::min(s.end, at); ++t)
        state.train(s.config, t, t + 1);
    result.values = state.evaluate();
    const auto* stage = stage_reaching(x, at);
    result.node = stage->node;
    result.identity = stage->identity;
    return result;
  }

  void report_by_hand(const manual_trainer& x, const stop_report& report) {
    caf::send_as(x.handle, *x.owner, report_atom::value, encode(report));
    run();
  }

};

// -- what trainers can do -----------------------------------------------------

TEST_F(NodesTest, APathGoesOnlyToATrainerThatCanRunIt) {
  merger_options options;
  options.workload_version = "v2";
  open(std::move(options));
  add_study(one_path);
  go();
  run();
  ASSERT_EQ(pool_now().stuck.size(), 1u);
  EXPECT_EQ(pool_now().stuck[0].why, "no trainer is connected");
  EXPECT_EQ(pool_now().stuck[0].key, "model");
  const auto none = join_by_hand({{"toy", "v2"}});
  const auto old = join_by_hand({{"model", "v1"}, {"toy", ""}});
  EXPECT_TRUE(none.leases->empty());
  EXPECT_TRUE(old.leases->empty());
  ASSERT_EQ(pool_now().stuck.size(), 1u);
  EXPECT_EQ(pool_now().stuck[0].why,
            "none of the 2 trainers can train 'model' in its version 'v2', "
            "only 'v1': run the same release or library everywhere");
  const auto right = join_by_hand({{"model", "v2"}});
  EXPECT_EQ(right.leases->size(), 1u);
  EXPECT_TRUE(pool_now().stuck.empty());
  EXPECT_EQ(pool_now().idle, 2u);
}

TEST_F(NodesTest, SaysWhatToDoAboutAWorkloadThatNobodyKnows) {
  open();
  add_study(one_path);
  go();
  join_by_hand({{"toy", ""}});
  ASSERT_EQ(pool_now().stuck.size(), 1u);
  EXPECT_EQ(pool_now().stuck[0].why,
            "none of the 1 trainers can train 'model': start one with the "
            "library that it is in");
}

TEST_F(NodesTest, ATrainerGetsNothingBeforeItSaysThatItIsIdle) {
  open();
  add_study(one_path);
  go();
  manual_trainer x = join_by_hand({});
  register_by_hand(x);
  EXPECT_TRUE(x.leases->empty());
  heartbeat_by_hand(x, lease_id{17}, 3); // it still works on a lease of before
  EXPECT_TRUE(x.leases->empty());
  heartbeat_by_hand(x);
  EXPECT_EQ(x.leases->size(), 1u);
}

// -- leaving ------------------------------------------------------------------

TEST_F(NodesTest, ATrainerThatLeavesSavesAfterItsStepAndHandsTheRestBack) {
  open();
  add_study(one_path);
  go();
  auto leaver = add_trainer();
  run();
  leaver.device->step(); // up to step 1
  self->send(leaver.handle, leave_atom::value);
  run();
  EXPECT_TRUE(leaver.device->step());
  EXPECT_FALSE(leaver.device->busy());
  run();
  EXPECT_EQ(trained(), 2u);
  ASSERT_EQ(kept->plan().checkpoints.size(), 1u);
  EXPECT_EQ(kept->plan().checkpoints[0].step, 2u);
  const auto known = pool_now().trainers.at(0);
  EXPECT_TRUE(known.left);
  EXPECT_EQ(known.lost, "");
  EXPECT_TRUE(status().running.empty());
  add_trainer();
  run_all();
  expect_results_as_alone(0);
  EXPECT_EQ(trained(), 9u); // nothing is trained twice
}

TEST_F(NodesTest, AnIdleTrainerLeavesAtOnceAndGetsNothingMore) {
  open();
  add_study(one_path);
  auto x = add_trainer();
  run();
  bool gone = false;
  self->monitor(x.handle);
  self->send(x.handle, leave_atom::value);
  run();
  self->receive([&](const caf::down_msg& msg) {
    gone = !msg.reason;
  });
  EXPECT_TRUE(gone);
  EXPECT_TRUE(pool_now().trainers.at(0).left);
  go();
  run();
  EXPECT_TRUE(status().running.empty());
}

TEST_F(NodesTest, ALeaseThatComesTooLateIsHandedBack) {
  open();
  add_study(one_path);
  auto x = add_trainer();
  run();
  go();
  self->send(x.handle, leave_atom::value);
  run();
  EXPECT_FALSE(x.device->busy());
  EXPECT_TRUE(status().running.empty());
  add_trainer();
  run_all();
  expect_results_as_alone(0);
}

// -- reports that are kept until they are durable -----------------------------

/// A journal that commits when the test says so.
struct withheld {
  struct entry {
    journal_entry what;
    caf::typed_response_promise<std::uint64_t> promise;
  };
  std::vector<entry> entries;
};

journal_actor::behavior_type
withholding_journal(journal_actor::pointer self, withheld* to) {
  return {
    [self, to](commit_atom, const journal_entry& x)
      -> caf::result<std::uint64_t> {
      auto promise = self->make_response_promise<std::uint64_t>();
      to->entries.push_back({x, promise});
      return promise;
    },
    [to](flush_atom) {
      for (auto& x : to->entries)
        x.promise.deliver(std::uint64_t{x.what.records.size()});
      to->entries.clear();
    },
    [](status_atom) { return journal_status{}; },
  };
}

TEST_F(NodesTest, AReportIsAcknowledgedOnceItIsDurable) {
  withheld waiting;
  log = spawn(withholding_journal, &waiting);
  open();
  const auto study = ask<study_no>(
    merging, register_atom::value,
    study_registration{study_id{1}, {1, {9}}, 1, false},
    trial_owner_actor{});
  ASSERT_TRUE(study);
  study_orders orders;
  orders.added.push_back({0, {{0, {{"lr", form::constant(0.1)}}}}, {}, false});
  orders.asked.push_back({0, 9, 0, false});
  self->send(merging, order_atom::value, *study, orders);
  go();
  const auto x = join_by_hand();
  ASSERT_EQ(x.leases->size(), 1u);
  report_by_hand(x, report_of(x.leases->at(0), 1));
  report_by_hand(x, report_of(x.leases->at(0), 2));
  EXPECT_TRUE(x.acks->empty());
  self->send(log, flush_atom::value);
  run();
  EXPECT_EQ(*x.acks, (std::vector<ack>{{x.leases->at(0).number, 1},
                                       {x.leases->at(0).number, 2}}));
}

TEST_F(NodesTest, WhatAServiceDidNotStoreBeforeItDiedIsSentAgain) {
  open();
  add_study(one_path);
  go();
  auto x = add_trainer();
  run();
  x.device->step();
  run();
  EXPECT_EQ(kept->plan().results.size(), 1u);
  // From here on the journal takes nothing.
  caf::anon_send_exit(log, caf::exit_reason::kill);
  run();
  for (int i = 0; i < 4; ++i)
    x.device->step();
  crash();
  run();
  x.device->step(); // what was asked for when the service went
  EXPECT_FALSE(x.device->busy());
  EXPECT_EQ(kept->plan().results.size(), 1u);
  const auto before = trained();
  merger_options options;
  options.kept = kept->restored();
  options.first_lease = lease_id{1000};
  open(std::move(options));
  add_study(one_path);
  go();
  connect_trainers();
  run();
  EXPECT_EQ(kept->plan().results.size(), before);
  run_all();
  expect_results_as_alone(0);
  EXPECT_EQ(trained(), 9u); // nothing twice
}

TEST_F(NodesTest, ReportsWaitForAMergerThatIsNotThereYet) {
  open();
  add_study(one_path);
  go();
  auto x = add_trainer();
  run();
  caf::anon_send_exit(log, caf::exit_reason::kill);
  run();
  x.device->step();
  crash();
  run();
  x.device->step();
  trainers_pool = spawn(pool, watching);
  connect_trainers();
  run();
  log = spawn(test::keeping_journal, kept);
  merger_options options;
  options.workload.name = "model";
  options.first_lease = lease_id{1000};
  options.kept = kept->restored();
  ASSERT_EQ(options.kept->plan.size(), 2u);
  merging = spawn(merger, std::move(options), trainers_pool, log);
  run();
  EXPECT_EQ(kept->plan().results.size(), 2u);
  EXPECT_EQ(kept->plan().checkpoints.size(), 1u);
}

TEST_F(NodesTest, ALateReportCountsOnlyIfNothingElseCameFirst) {
  open();
  add_study(one_path);
  go();
  auto slow = join_by_hand();
  ASSERT_EQ(slow.leases->size(), 1u);
  const auto work = slow.leases->at(0);
  pass(20);
  EXPECT_EQ(pool_now().trainers.at(0).lost, "silent for 15 s");
  EXPECT_EQ(*slow.given_up, 1);
  EXPECT_TRUE(status().running.empty());
  // It comes back, and tells of what it did.
  report_by_hand(slow, report_of(work, 1));
  EXPECT_EQ(kept->plan().results.size(), 1u);
  EXPECT_EQ(slow.acks->size(), 1u);
  add_trainer();
  run_all();
  EXPECT_EQ(trained(), 9u); // there is no checkpoint of step 1
  auto wrong = report_of(work, 5);
  wrong.values["value"] += 1;
  const auto records = kept->records.size();
  report_by_hand(slow, wrong);
  EXPECT_EQ(kept->records.size(), records);
  EXPECT_EQ(slow.acks->size(), 2u);
  expect_results_as_alone(0);
}

TEST_F(NodesTest, AReportOfAnotherPlanIsRefusedAndAcknowledged) {
  open();
  add_study(one_path);
  go();
  auto x = join_by_hand();
  auto foreign = report_of(x.leases->at(0), 3);
  foreign.lease = lease_id{number_of(foreign.lease) + 1000};
  ++foreign.identity;
  const auto records = kept->records.size();
  self->send(trainers_pool, resent_atom::value,
             encode(resent{"model", foreign}), x.handle);
  run();
  EXPECT_EQ(kept->records.size(), records);
  EXPECT_EQ(x.acks->size(), 1u);
}

TEST_F(NodesTest, ACheckpointThatNobodyNeedsIsDeleted) {
  const auto folder = std::filesystem::path{testing::TempDir()}
                      / "hippo-nodes-unneeded";
  std::filesystem::create_directories(folder);
  merger_options options;
  options.folder = folder;
  options.checkpoint_bytes_max = 60; // one fits, if it is counted once
  open(std::move(options));
  add_study(one_path);
  go();
  auto x = join_by_hand();
  const auto work = x.leases->at(0);
  const auto saved = [&](std::uint64_t later) {
    auto report = report_of(work, 2);
    report.lease = lease_id{number_of(work.number) + later};
    report.saved
      = checkpoint{checkpoint_name(report.node, 2, report.lease), 40, 1};
    std::ofstream{folder / report.saved->file} << "state";
    return report;
  };
  const auto is_there = [&](const stop_report& report) {
    return std::filesystem::exists(folder / report.saved->file);
  };
  const auto first = saved(0);
  report_by_hand(x, first);
  EXPECT_TRUE(is_there(first));
  const auto late = saved(1000);
  report_by_hand(x, late); // of a lease of before: there is one now
  EXPECT_FALSE(is_there(late));
  EXPECT_TRUE(is_there(first));
  report_by_hand(x, first); // sent twice
  EXPECT_TRUE(is_there(first));
  auto foreign = saved(2000);
  ++foreign.identity;
  report_by_hand(x, foreign);
  EXPECT_FALSE(is_there(foreign));
  // A name that is not that of its report harms nobody.
  auto thief = saved(3000);
  thief.saved = first.saved;
  report_by_hand(x, thief);
  EXPECT_TRUE(is_there(first));
  EXPECT_EQ(kept->plan().checkpoints.size(), 1u);
  std::filesystem::remove_all(folder);
}

TEST_F(NodesTest, ATrainerForgetsTheOldestReportsRatherThanGrow) {
  open();
  auto x = add_trainer();
  run();
  // A service that acknowledges nothing.
  lease work;
  work.number = lease_id{5};
  work.workload.name = "model";
  work.stages = {{node_id{1}, 0, unacknowledged_max + 50, {}, 7}};
  for (step_t at = 1; at <= unacknowledged_max + 50; ++at)
    work.stops.push_back({.at = at, .evaluate = true});
  const auto owner
    = spawn([](lease_owner_actor::pointer) -> lease_owner_actor::behavior_type {
        return {
          [](report_atom, const stop_report_wire&) {},
          [](ended_atom, const lease_end_wire&) {},
        };
      });
  self->send(x.handle, lease_atom::value, encode(work), owner);
  run();
  while (x.device->step())
    run();
  std::vector<step_t> sent;
  auto other = spawn([&](registrar_actor::pointer)
                       -> registrar_actor::behavior_type {
    return {
      [](register_atom, const hello_wire&, const trainer_actor&) {
        return encode(welcome{{}, trainer_id{1}, 1000});
      },
      [](heartbeat_atom, const heartbeat_wire&) {},
      [&](resent_atom, const resent_wire& y, const trainer_actor&) {
        sent.push_back(decode(y)->report.at);
      },
      [](leave_atom, const goodbye_wire&) {},
    };
  });
  self->send(x.handle, connect_atom::value, other);
  run();
  ASSERT_EQ(sent.size(), unacknowledged_max);
  EXPECT_EQ(sent.front(), 51u);
  EXPECT_EQ(sent.back(), unacknowledged_max + 50);
}

// -- silence ------------------------------------------------------------------

TEST_F(NodesTest, HowLongATrainerMayBeSilentIsConfigured) {
  watching.silence_max = 5s;
  open();
  const auto x = join_by_hand();
  const auto y = join_by_hand();
  pass(5, {y});
  EXPECT_EQ(pool_now().trainers.at(0).lost, "");
  pass(2, {y});
  EXPECT_EQ(pool_now().trainers.at(0).lost, "silent for 5 s");
  EXPECT_EQ(pool_now().trainers.at(1).lost, "");
  EXPECT_EQ(*x.given_up, 1);
}

TEST_F(NodesTest, WhatATrainerTellsAMergerShowsThatItLives) {
  open();
  add_study(one_path);
  go();
  const auto x = join_by_hand();
  for (step_t at = 1; at < 5; ++at) {
    pass(10);
    report_by_hand(x, report_of(x.leases->at(0), at));
  }
  EXPECT_EQ(pool_now().trainers.at(0).lost, "");
  pass(17);
  EXPECT_EQ(pool_now().trainers.at(0).lost, "silent for 15 s");
}

TEST_F(NodesTest, ThePoolsOwnAbsenceIsNoSilenceOfTheTrainers) {
  open();
  const auto x = join_by_hand();
  for (int i = 0; i < 5; ++i) {
    sched.advance_time(60s); // the service was stopped for a minute
    run();
    EXPECT_EQ(pool_now().trainers.at(0).lost, "");
  }
  pass(17);
  EXPECT_EQ(pool_now().trainers.at(0).lost, "silent for 15 s");
}

TEST_F(NodesTest, ATrainerThatWasGivenUpRegistersAnew) {
  watching.silence_max = 3s;
  watching.heartbeat_interval = 1s;
  open();
  add_study(one_path);
  go();
  auto x = add_trainer();
  run();
  x.device->step();
  run();
  // Its heartbeats are lost for a while.
  self->send(x.handle, lost_atom::value);
  run();
  EXPECT_EQ(pool_now().trainers.at(0).lost, "registered anew");
  EXPECT_EQ(pool_now().trainers.size(), 2u);
  run_all();
  expect_results_as_alone(0);
  EXPECT_EQ(trained(), 9u);
}

TEST_F(NodesTest, RemembersOnlyTheLastTrainersThatAreGone) {
  open();
  for (std::size_t i = 0; i < gone_trainers_max + 5; ++i) {
    const auto x = join_by_hand();
    self->send_exit(x.handle, caf::exit_reason::kill);
    run();
  }
  const auto known = pool_now().trainers;
  EXPECT_EQ(known.size(), gone_trainers_max);
  EXPECT_EQ(known.back().number, gone_trainers_max + 5);
}

// -- no progress --------------------------------------------------------------

TEST_F(NodesTest, ALeaseThatMakesNoStepEndsAndItsTrainerGetsNothing) {
  merger_options options;
  options.stall_max = options.unmeasured_stall_max = 30s;
  open(std::move(options));
  add_study(one_path);
  go();
  const auto x = join_by_hand();
  ASSERT_EQ(x.leases->size(), 1u);
  const auto work = x.leases->at(0);
  pass(29, {x}, work.number, 1);
  pass(29, {x}, work.number, 2);
  EXPECT_EQ(status().running.size(), 1u);
  pass(5, {x}, work.number, 2);
  EXPECT_TRUE(status().running.empty());
  EXPECT_EQ(pool_now().trainers.at(0).stalled, "no step for 31 s, at step 2");
  EXPECT_EQ(pool_now().trainers.at(0).lost, "");
  pass(5, {x}, work.number, 2);
  EXPECT_EQ(x.leases->size(), 1u);
  // It goes on after all: what it tells counts, and then it gets work again.
  report_by_hand(x, report_of(work, 3));
  EXPECT_EQ(kept->plan().results.size(), 1u);
  heartbeat_by_hand(x);
  EXPECT_EQ(pool_now().trainers.at(0).stalled, "");
  EXPECT_EQ(x.leases->size(), 2u);
}

TEST_F(NodesTest, AStageThatStallsEveryTrainerFails) {
  merger_options options;
  options.stall_max = options.unmeasured_stall_max = 30s;
  open(std::move(options));
  add_study(one_path);
  go();
  const auto x = join_by_hand();
  for (std::size_t i = 1; i <= 3; ++i) {
    ASSERT_EQ(x.leases->size(), i);
    const auto work = x.leases->back();
    for (const step_t step : {1u, 2u}) // what it measures is told
      report_by_hand(x, report_of(work, step));
    pass(40, {x}, work.number, 2);
    heartbeat_by_hand(x); // idle
  }
  const auto record = record_of(0);
  EXPECT_EQ(record.trials[0].state, trial_state::failed);
  EXPECT_NE(record.trials[0].failure.find("trainer 1 made no step for 31 s"),
            std::string::npos)
    << record.trials[0].failure;
}

// -- failures -----------------------------------------------------------------

TEST_F(NodesTest, AFailedStageIsTriedOnAnotherTrainer) {
  open();
  add_study(grid_study);
  go();
  const error broken{errc::training_failed, "out of memory"};
  int attempts = 0;
  // The first one fails at whatever has the small rate; others do not.
  add_trainer().device->poison = [&](const configuration& x) {
    const bool fails = x.at("lr") == form::constant(0.01);
    attempts += fails;
    return fails ? &broken : nullptr;
  };
  add_trainer();
  add_trainer();
  for (int second = 0; second < 120; ++second) {
    run();
    // All take turns, so that the others are at work.
    for (auto& x : trainers)
      x.device->step();
    sched.advance_time(1s);
  }
  run_all();
  expect_results_as_alone(0);
  EXPECT_GT(attempts, 0);
  for (const auto& x : record_of(0).trials)
    EXPECT_EQ(x.state, trial_state::complete) << x.failure;
}

TEST_F(NodesTest, AFailureTellsWhatTheTrainersLogSaid) {
  open();
  add_study(one_path);
  go();
  const error broken{errc::training_failed, "out of memory"};
  add_trainer().device->poison = [&](const configuration&) { return &broken; };
  run_all();
  EXPECT_EQ(record_of(0).trials[0].failure,
            "at step 1: out of memory\nlog of trainer 1:\nthe last words");
}

TEST_F(NodesTest, AFullDiskIsNotTheStagesFault) {
  open();
  add_study(one_path);
  go();
  const error full{errc::io_failed, "no space left on device"};
  int attempts = 0;
  bool is_full = true;
  add_trainer().device->poison = [&](const configuration&) {
    attempts += is_full;
    return is_full ? &full : nullptr;
  };
  std::vector<int> seconds;
  for (int second = 0; second < 200; ++second) {
    const auto before = attempts;
    run_all();
    if (attempts > before)
      seconds.push_back(second);
    sched.advance_time(1s);
  }
  // It is tried less and less often, for as long as it takes.
  EXPECT_EQ(seconds, (std::vector<int>{0, 1, 3, 7, 15, 31, 63, 123, 183}));
  is_full = false;
  for (int second = 0; second < 61; ++second) {
    run_all();
    sched.advance_time(1s);
  }
  run_all();
  expect_results_as_alone(0);
  EXPECT_EQ(record_of(0).trials[0].state, trial_state::complete);
}

// -- everything at once -------------------------------------------------------

/// The service dies and comes back, trainers die, fall silent, are cut off and
/// leave, in any interleaving.
struct NodesSimulation : test::service_test,
                         testing::WithParamInterface<unsigned> {
  std::mt19937 rng{GetParam()};
  std::uint64_t lives = 0;

  /// Lets one of the leases of any trainer go on.
  void step() {
    auto& device = *trainers[rng() % trainers.size()].device;
    if (const auto leases = device.leases(); !leases.empty())
      device.step(leases[rng() % leases.size()]);
  }

  void begin() {
    merger_options options;
    at_once = 1 + GetParam() % 3;
    options.kept = kept->restored();
    options.first_lease = lease_id{1 + 1'000'000 * lives++};
    open(std::move(options));
    for (const auto* text : {sha_study, grid_study})
      add_study(text);
    go();
    connect_trainers();
  }

  void fault() {
    auto& x = trainers[rng() % trainers.size()];
    switch (rng() % 5) {
      case 0: // the service dies at this moment
        crash();
        for (auto turns = rng() % 30; turns > 0; --turns) {
          run_one(rng);
          step();
        }
        run();
        begin();
        return;
      case 1: // the pool gives a trainer up that lives
        self->send(x.handle, lost_atom::value);
        return;
      case 2:
        self->send(x.handle, leave_atom::value);
        add_trainer();
        return;
      case 3:
        self->send_exit(x.handle, caf::exit_reason::kill);
        add_trainer();
        return;
      case 4:
        sched.advance_time(1s);
        return;
    }
  }
};

TEST_P(NodesSimulation, EveryResultIsAsAloneAndWhatIsKnownIsKept) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  begin();
  for (int i = 0; i < 3; ++i)
    add_trainer();
  std::size_t known = 0;
  for (int turn = 0; turn < 500; ++turn) {
    run_one(rng);
    if (rng() % 2 == 0)
      step();
    if (rng() % 50 == 0)
      fault();
    EXPECT_GE(kept->plan().results.size(), known);
    known = kept->plan().results.size();
  }
  add_trainer(); // from here on nothing fails
  for (int second = 0; second < 5; ++second) {
    run_all();
    sched.advance_time(1s);
  }
  run_all();
  for (std::size_t i = 0; i < studies.size(); ++i)
    expect_results_as_alone(i);
  // No result is stored twice, whoever told of it.
  std::set<std::pair<node_id, step_t>> seen;
  for (const auto& x : kept->plan().results)
    EXPECT_TRUE(seen.emplace(x.node, x.step).second)
      << to_string(x.node) << ' ' << x.step;
  EXPECT_TRUE(status().running.empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, NodesSimulation, test::seeds(500));

} // namespace
} // namespace hippo
