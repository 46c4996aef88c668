// Studies, merger, pool and trainers together, under seeds, death and silence.

#include <algorithm>
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "actors/service_fixture.hpp"
#include "actors/studies.hpp"
#include "base/resident.hpp"
#include "hippo/net/wire/codec.hpp"

namespace hippo {
namespace {

using verb = study_command::verb;

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
  batch_size:
    choice: [64, {multistep: {initial: 64, milestones: [6], gamma: 2}}]
algorithm: grid
)";

using test::sha_study;

const char* const asha_study = R"(
study: asha
workload: {name: model}
objective: {metric: value, direction: minimize}
max_steps: 9
space:
  lr: {choice: [0.1, 0.2, {linear: {from: 0.1, to: 0.01, horizon: 9}}]}
  batch_size: {choice: [64, {piecewise: [[0, 64], [3, 128]]}]}
algorithm: {asha: {eta: 3, min: 1}}
budget: {trials: 6}
)";

const char* const pbt_study = R"(
study: pbt
workload: {name: model}
objective: {metric: value}
max_steps: 12
space:
  lr: {choice: [0.1, 0.2, {linear: {from: 0.1, to: 0.01, horizon: 9}}]}
  batch_size: {choice: [64, 128, 256]}
algorithm: {pbt: {population: 5, interval: 3, quantile: 0.4}}
)";

const char* const tpe_study = R"(
study: tpe
workload: {name: model}
objective: {metric: value}
max_steps: 9
space:
  lr:
    choice:
      - 0.1
      - 0.2
      - multistep: {initial: 0.1, milestones: [{choice: [3, 5]}], gamma: 0.1}
      - exponential: {initial: 0.1, gamma: 0.8}
  batch_size: {choice: [64, 128]}
algorithm: {tpe: {startup: 3, max_concurrent: 3}}
budget: {trials: 8}
)";

const char* const bohb_study = R"(
study: bohb
workload: {name: model}
objective: {metric: value, direction: minimize}
eval_every: 2
max_steps: 9
space:
  lr: {choice: [0.1, 0.2, {linear: {from: 0.1, to: 0.01, horizon: 9}}]}
  batch_size: {choice: [64, {piecewise: [[0, 64], [3, 128]]}]}
algorithm: {bohb: {startup: 3, min: 1}}
)";

const char* const plateau_study = R"(
study: plateau
workload: {name: model}
objective: {metric: value}
eval_every: 2
max_steps: 12
space:
  lr:
    choice:
      - 0.1
      - reduce_on_plateau:
          {initial: 0.1, patience: {choice: [0, 1]}, factor: 0.5}
      - warmup:
          steps: 3
          from: 0.1
          to: 0.4
          then: {reduce_on_plateau: {initial: 0.4, patience: 0}}
  batch_size: {choice: [64, {piecewise: [[0, 64], [4, 128]]}]}
algorithm: {asha: {eta: 2, min: 3}}
)";

const char* const plateau_pbt_study = R"(
study: plateau-pbt
workload: {name: model}
objective: {metric: value}
max_steps: 12
space:
  lr:
    choice:
      - 0.1
      - reduce_on_plateau: {initial: {choice: [0.1, 0.2]}, patience: 0}
      - reduce_on_plateau: {initial: 0.2, patience: 1, factor: 0.5}
  batch_size: {choice: [64, 128]}
algorithm: {pbt: {population: 6, interval: 4, quantile: 0.5, resample: 0.5}}
)";

const auto all_studies
  = {grid_study, sha_study,  asha_study,    pbt_study,
     tpe_study,  bohb_study, plateau_study, plateau_pbt_study};

/// Returns the study of that name, so that tests are named after studies.
const char* text_of(const std::string& name) {
  for (const auto* text : all_studies)
    if (std::string{text}.starts_with("\nstudy: " + name + '\n'))
      return text;
  ADD_FAILURE() << "there is no study " << name;
  return "";
}

struct ServiceTest : test::service_test {};

TEST_F(ServiceTest, TrainsEveryUniqueStepOnceForAllStudies) {
  open();
  for (auto* text : {grid_study, sha_study, asha_study})
    add_study(text);
  go();
  add_trainer();
  add_trainer();
  run_all();
  for (std::size_t i = 0; i < studies.size(); ++i)
    expect_results_as_alone(i);
  const auto x = status();
  EXPECT_EQ(x.trained_steps, x.figures.unique_steps);
  EXPECT_EQ(trained(), x.figures.unique_steps);
  EXPECT_LT(x.figures.unique_steps, x.figures.asked_steps);
  EXPECT_TRUE(x.running.empty());
  EXPECT_EQ(record_of(0).trials.size(), 8u);
}

// Each by itself, with one trainer and with two, and with merging off.
struct SingleStudy
  : test::service_test,
    testing::WithParamInterface<std::tuple<std::string, int, bool>> {};

TEST_P(SingleStudy, GivesWhatTrainingAloneGivesAndTrainsNothingTwice) {
  merger_options options;
  options.merge = std::get<2>(GetParam());
  open(std::move(options));
  add_study(text_of(std::get<0>(GetParam())));
  go();
  for (int i = 0; i < std::get<1>(GetParam()); ++i)
    add_trainer();
  run_all();
  expect_results_as_alone(0);
  EXPECT_EQ(trained(), status().figures.unique_steps);
  std::uint64_t apart = 0; // a fork shares with its parent, merging or not
  for (const auto& x : record_of(0).trials) {
    EXPECT_NE(x.state, trial_state::failed) << x.failure;
    apart += x.steps;
    if (x.params.contains("forked"))
      apart -= x.params["forked"]["at"].get<step_t>();
  }
  if (!std::get<2>(GetParam())) {
    EXPECT_EQ(trained(), apart);
  }
}

INSTANTIATE_TEST_SUITE_P(Studies, SingleStudy,
                         testing::Combine(
                           testing::Values("grid", "sha", "asha", "pbt", "tpe",
                                           "bohb", "plateau", "plateau-pbt"),
                           testing::Values(1, 2), testing::Bool()));

TEST_F(ServiceTest, AllKindsOfStudiesShareWhatTheyHaveInCommon) {
  open();
  for (const auto* text : all_studies)
    add_study(text);
  go();
  add_trainer();
  add_trainer();
  run_all();
  for (std::size_t i = 0; i < studies.size(); ++i)
    expect_results_as_alone(i);
  const auto x = status();
  EXPECT_EQ(trained(), x.figures.unique_steps);
  std::uint64_t apart = 0;
  for (const auto& own : x.by_study)
    apart += own.unique_steps;
  EXPECT_LT(x.figures.unique_steps, apart);
}

TEST_F(ServiceTest, WhatIsPrunedOnItsWayIsTrainedNoFurther) {
  open();
  add_study(R"(
study: median
workload: {name: model}
objective: {metric: value}
max_steps: 12
space:
  lr: {choice: [0.1, 0.2, {reduce_on_plateau: {initial: 0.3, patience: 1}}]}
  batch_size: {choice: [64, 128, 256]}
algorithm: {median: {grace: 1, min_others: 1}}
)");
  go();
  add_trainer();
  run_all();
  expect_results_as_alone(0);
  const auto trials = record_of(0).trials;
  const auto pruned = std::ranges::count(trials, trial_state::pruned,
                                         &trial_record::state);
  EXPECT_GT(pruned, 0);
  EXPECT_LT(pruned, 9);
  EXPECT_LT(trained(), status().figures.unique_steps);
}

TEST_F(ServiceTest, ATrialIsPausedWhereItRestsAndNotOnItsWay) {
  open();
  for (const auto* text : {grid_study, sha_study})
    add_study(text);
  go();
  auto& x = add_trainer();
  std::set<trial_state> seen[2];
  for (int turn = 0; turn < 20; ++turn) {
    run();
    x.device->step();
    run();
    for (std::size_t i : {0u, 1u})
      for (const auto& trial : record_of(i).trials)
        if (!trial.results.empty())
          seen[i].insert(trial.state);
  }
  EXPECT_FALSE(seen[0].contains(trial_state::paused));
  EXPECT_TRUE(seen[0].contains(trial_state::running));
  EXPECT_TRUE(seen[1].contains(trial_state::paused));
}

TEST_F(ServiceTest, NothingIsLeasedBeforeItMayGo) {
  open();
  add_study(grid_study);
  add_trainer();
  run_all();
  EXPECT_EQ(trained(), 0u);
  go();
  run_all();
  EXPECT_GT(trained(), 0u);
}

TEST_F(ServiceTest, WithMergingOffEveryTrialIsTrainedAlone) {
  merger_options options;
  options.merge = false;
  open(std::move(options));
  add_study(grid_study);
  go();
  add_trainer();
  run_all();
  expect_results_as_alone(0);
  EXPECT_EQ(trained(), 8u * 12u);
}

TEST_F(ServiceTest, ATrialThatDivergesFailsAloneWithAReason) {
  open();
  add_study(grid_study);
  go();
  const error diverged{errc::diverged, "loss is nan"};
  add_trainer().device->poison = [&](const configuration& x) {
    return x.at("batch_size") == form::constant(128) ? &diverged : nullptr;
  };
  run_all();
  expect_results_as_alone(0);
  const auto record = record_of(0);
  int failed = 0;
  for (const auto& x : record.trials)
    if (x.state == trial_state::failed) {
      ++failed;
      EXPECT_NE(x.failure.find("loss is nan"), std::string::npos);
      EXPECT_EQ(x.params["batch_size"].is_object(), true);
    } else {
      EXPECT_EQ(x.state, trial_state::complete);
    }
  EXPECT_EQ(failed, 4);
}

TEST_F(ServiceTest, WhoPassesADivergedStateUnmeasuredGoesOn) {
  const auto text = [](const char* name, int every) {
    return std::string{"study: "} + name
           + "\nworkload: {name: model}\nobjective: {metric: "
             "value}\neval_every: "
           + std::to_string(every)
           + "\nmax_steps: 6\nspace: {lr: {choice: [0.1]}, batch_size: "
             "{choice: [64]}}\nalgorithm: grid\n";
  };
  test::model_state second;
  second.train({{"batch_size", form::constant(64)}, {"lr", form::constant(0.1)}},
               0, 2);
  diverges = [&](const metrics& xs) { return xs == second.evaluate(); };
  open();
  add_study(text("often", 1).c_str());
  add_study(text("seldom", 3).c_str());
  go();
  add_trainer();
  run_all();
  expect_results_as_alone(0);
  expect_results_as_alone(1);
  const auto often = record_of(0).trials.at(0);
  EXPECT_EQ(often.state, trial_state::failed);
  EXPECT_EQ(often.steps, 1u);
  EXPECT_NE(often.failure.find("not finite"), std::string::npos);
  const auto seldom = record_of(1).trials.at(0);
  EXPECT_EQ(seldom.state, trial_state::complete);
  EXPECT_EQ(seldom.results.size(), 2u);
}

TEST_F(ServiceTest, AStageThatKeepsFailingIsGivenUpAfterSomeAttempts) {
  open();
  add_study((std::string{grid_study} + "on_error: continue\n").c_str());
  go();
  const error broken{errc::training_failed, "out of memory"};
  int attempts = 0;
  add_trainer().device->poison = [&](const configuration&) {
    ++attempts;
    return &broken;
  };
  run_all();
  for (const auto& x : record_of(0).trials)
    EXPECT_EQ(x.state, trial_state::failed);
  EXPECT_LE(attempts, 3 * 2); // two ways to begin, three attempts each
}

TEST_F(ServiceTest, AStudyOfWhichNothingCanBeTrainedPauses) {
  open();
  add_study(grid_study);
  go();
  const error broken{errc::training_failed, "out of memory"};
  add_trainer().device->poison = [&](const configuration&) { return &broken; };
  run_all();
  std::size_t failed = 0;
  for (const auto& x : record_of(0).trials)
    failed += x.state == trial_state::failed ? 1 : 0;
  EXPECT_GE(failed, 3u);
  EXPECT_LT(failed, record_of(0).trials.size());
}

TEST_F(ServiceTest, ALostCheckpointMeansTrainingAgainNotAWrongResult) {
  open();
  add_study(grid_study);
  go();
  auto& x = add_trainer();
  const error lost{errc::bad_checkpoint, "no such file"};
  int misses = 2;
  x.device->poison = [&](const configuration& c) {
    return misses > 0 && c.at("lr") == form::constant(0.01) && misses-- > 0
             ? &lost
             : nullptr;
  };
  run_all();
  expect_results_as_alone(0);
  EXPECT_GT(trained(), status().figures.unique_steps);
  for (const auto& t : record_of(0).trials)
    EXPECT_EQ(t.state, trial_state::complete);
}

TEST_F(ServiceTest, ABudgetForCheckpointsCostsTimeAndNoResult) {
  merger_options options;
  options.checkpoint_bytes_max = 1; // each counts as one byte here
  open(std::move(options));
  add_study(sha_study);
  add_study(asha_study);
  go();
  add_trainer();
  add_trainer();
  run_all();
  expect_results_as_alone(0);
  expect_results_as_alone(1);
  EXPECT_GT(trained(), status().figures.unique_steps);
}

TEST_F(ServiceTest, ASilentTrainerLosesItsLease) {
  open();
  add_study(sha_study);
  go();
  // Registers, takes its lease, and is never heard of again. Nobody is told
  // that it is dead: in CAF 0.17 a hanging node answers no request, ever.
  join_by_hand();
  EXPECT_EQ(status().running.size(), 1u);
  add_trainer();
  for (int second = 0; second < 60; ++second) {
    run_all();
    sched.advance_time(std::chrono::seconds(1));
  }
  run_all();
  expect_results_as_alone(0);
  auto known = ask<pool_status>(trainers_pool, status_atom::value);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->trainers[0].lost, "silent for 15 s");
  EXPECT_TRUE(known->trainers[1].lost.empty()); // it heartbeats
}

TEST_F(ServiceTest, HaltEndsWhatRunsAndKeepsWhatIsDone) {
  open();
  add_study(grid_study);
  go();
  auto& x = add_trainer();
  run();
  x.device->step();
  run();
  self->send(merging, halt_atom::value);
  run_all();
  EXPECT_TRUE(status().running.empty());
  EXPECT_EQ(trained(), 2u) << "the present step is trained, and saved";
  std::size_t results = 0;
  for (const auto& t : record_of(0).trials)
    results = std::max(results, t.results.size());
  EXPECT_EQ(results, 2u);
}

TEST_F(ServiceTest, CancellingAStudyFreesItsTrainers) {
  open();
  add_study(grid_study);
  go();
  auto& x = add_trainer();
  run();
  x.device->step();
  ASSERT_TRUE(command(0, verb::cancel, "no longer needed"));
  EXPECT_EQ(phase_of(0), study_phase::cancelled);
  run_all();
  for (const auto& t : record_of(0).trials)
    EXPECT_EQ(t.state, trial_state::cancelled);
  EXPECT_EQ(status().runnable_paths, 0u);
  EXPECT_TRUE(status().running.empty());
  EXPECT_LE(trained(), 2u); // nothing was trained in vain to its end
}

TEST_F(ServiceTest, ALeaseGoesOnWhileAnotherStudyWaitsForIt) {
  open();
  add_study(grid_study);
  std::string other = grid_study;
  other.replace(other.find("study: "), 7, "study: x");
  add_study(other);
  go();
  auto& x = add_trainer();
  run();
  x.device->step();
  ASSERT_TRUE(command(0, verb::cancel));
  run_all();
  expect_results_as_alone(1);
  EXPECT_EQ(trained(), status().figures.unique_steps);
}

// -- pause, stop, and clients that decide -------------------------------------

TEST_F(ServiceTest, APausedStudyStartsNothingNewUntilItIsResumed) {
  open();
  add_study(grid_study);
  go();
  auto& x = add_trainer();
  run();
  x.device->step();
  ASSERT_TRUE(command(0, verb::pause));
  EXPECT_EQ(phase_of(0), study_phase::paused);
  const auto refused = command(0, verb::pause);
  ASSERT_FALSE(refused);
  EXPECT_NE(sys.render(refused.error()).find("PAUSED already"),
            std::string::npos);
  run_all();
  // The lease that ran has come to its end, and nothing else has begun.
  const auto trained_before = trained();
  EXPECT_GT(trained_before, 1u);
  EXPECT_LT(trained_before, status().figures.unique_steps);
  EXPECT_EQ(status().runnable_paths, 0u);
  ASSERT_TRUE(command(0, verb::resume));
  run_all();
  expect_results_as_alone(0);
  EXPECT_EQ(trained(), status().figures.unique_steps);
}

TEST_F(ServiceTest, APausedStudyDoesNotHoldUpOthers) {
  open();
  add_study(grid_study);
  add_study(sha_study);
  go();
  add_trainer();
  ASSERT_TRUE(command(0, verb::pause));
  run_all();
  expect_results_as_alone(1);
  EXPECT_EQ(phase_of(0), study_phase::paused);
  ASSERT_TRUE(command(0, verb::resume));
  run_all();
  expect_results_as_alone(0);
}

TEST_F(ServiceTest, WhatALostTrainerDidNotReachIsNotTrainedForAPausedStudy) {
  open();
  add_study(grid_study);
  go();
  auto x = add_trainer();
  run();
  x.device->step();
  ASSERT_TRUE(command(0, verb::pause));
  self->send_exit(x.handle, caf::exit_reason::kill);
  run();
  const auto before = trained();
  trainers.back().device = std::make_shared<test::fake_engine>(files);
  add_trainer();
  run_all();
  EXPECT_EQ(trained(), 0u) << before;
  EXPECT_EQ(phase_of(0), study_phase::paused);
}

TEST_F(ServiceTest, AStudyThatIsStoppedFinishesWhatRunsAndEnds) {
  open();
  add_study(sha_study);
  go();
  auto& x = add_trainer();
  run();
  x.device->step();
  ASSERT_TRUE(command(0, verb::stop));
  EXPECT_EQ(phase_of(0), study_phase::stopping);
  run_all();
  EXPECT_EQ(phase_of(0), study_phase::complete);
  std::size_t results = 0;
  for (const auto& t : record_of(0).trials) {
    EXPECT_TRUE(has_ended(t.state)) << t.id;
    results += t.results.size();
  }
  EXPECT_GT(results, 0u);
  EXPECT_LT(trained(), 9u);
  const auto late = command(0, verb::resume);
  ASSERT_FALSE(late);
  EXPECT_NE(sys.render(late.error()).find("has ended: COMPLETE"),
            std::string::npos);
}

TEST_F(ServiceTest, AStudyEndsWhenItsTimeIsSpentAndPausesDoNotCount) {
  open();
  add_study(std::string{grid_study} + "budget: {seconds: 100}\n");
  go();
  sched.advance_time(std::chrono::seconds(60));
  ASSERT_TRUE(command(0, verb::pause));
  sched.advance_time(std::chrono::seconds(600));
  run();
  EXPECT_EQ(phase_of(0), study_phase::paused);
  ASSERT_TRUE(command(0, verb::resume));
  sched.advance_time(std::chrono::seconds(39));
  run();
  EXPECT_EQ(phase_of(0), study_phase::running);
  sched.advance_time(std::chrono::seconds(2));
  run();
  EXPECT_EQ(phase_of(0), study_phase::complete);
  EXPECT_EQ(kept->study(study_id{1})->reason, "its time, 100 s, is spent");
}

const char* const client_study = R"(
study: mine
workload: {name: model}
objective: {metric: value}
eval_every: 2
max_steps: 9
space:
  lr: {choice: [0.1, {multistep: {initial: 0.1, milestones: [3], gamma: 0.5}}]}
  batch_size: {choice: [64, 128]}
algorithm: client
budget: {trials: 5}
)";

TEST_F(ServiceTest, AClientDecidesAndStillShares) {
  open();
  add_study(client_study);
  go();
  add_trainer();
  const auto first = command(0, verb::ask, R"({"lr": 0.1, "batch_size": 64})");
  ASSERT_TRUE(first) << sys.render(first.error());
  EXPECT_EQ(first->trial, 0u);
  EXPECT_EQ(first->params.dump(), R"({"lr":0.1,"batch_size":64})");
  const auto second = command(
    0, verb::ask,
    R"({"lr": {"multistep": {"initial": 0.1, "milestones": [3],
                             "gamma": 0.5}}, "batch_size": 64})");
  ASSERT_TRUE(second);
  const auto drawn = command(0, verb::ask);
  ASSERT_TRUE(drawn);
  EXPECT_TRUE(drawn->params.contains("lr"));
  const auto train = [&](std::uint64_t trial, step_t to) {
    auto pending = self->request(studies[0], caf::infinite, train_atom::value,
                                 trial, to);
    run_all();
    trained_trial result;
    pending.receive([&](trained_trial& x) { result = std::move(x); },
                    [&](caf::error& e) { ADD_FAILURE() << sys.render(e); });
    return result;
  };
  EXPECT_EQ(train(0, 2).step, 2u);
  EXPECT_EQ(train(0, 2).step, 2u); // answered at once
  EXPECT_EQ(train(0, 4).step, 4u);
  EXPECT_EQ(train(1, 4).step, 4u);
  EXPECT_EQ(trained(), 5u); // the first three steps are the same
  EXPECT_EQ(train(0, 9).state, trial_state::complete);
  ASSERT_TRUE(command(0, verb::tell, R"({"state": "PRUNED"})", 1));
  ASSERT_TRUE(
    command(0, verb::tell, R"({"state": "COMPLETE", "value": 0.75})", 2));
  const auto record = record_of(0);
  EXPECT_EQ(record.trials[1].state, trial_state::pruned);
  EXPECT_EQ(record.trials[2].state, trial_state::complete);
  EXPECT_EQ(record.trials[2].results.back().values.at("value"), 0.75);
  EXPECT_EQ(phase_of(0), study_phase::running);
  ASSERT_TRUE(command(0, verb::close));
  EXPECT_EQ(phase_of(0), study_phase::complete);
}

// A client waits for as long as training takes: it must hear that none comes.
TEST_F(ServiceTest, WhoWaitsForAStudyThatGoesAwayIsTold) {
  open();
  add_study(client_study);
  go();
  ASSERT_TRUE(command(0, verb::ask));
  auto pending = self->request(studies[0], caf::infinite, train_atom::value,
                               trial_no{0}, step_t{4});
  run();
  ASSERT_FALSE(self->has_next_message()) << "there is no trainer";
  caf::anon_send_exit(studies[0], caf::exit_reason::user_shutdown);
  run();
  ASSERT_TRUE(self->has_next_message());
  // It had taken the request in, so that nobody may send it again.
  pending.receive([](trained_trial&) { ADD_FAILURE() << "it was trained"; },
                  [](caf::error& why) {
                    EXPECT_EQ(why, errc::io_failed);
                    EXPECT_EQ(why.context().get_as<std::string>(0),
                              "the study was interrupted before it had "
                              "answered; what was asked for may be done");
                  });
  auto late = self->request(studies[0], caf::infinite, train_atom::value,
                            trial_no{0}, step_t{4});
  run();
  late.receive([](trained_trial&) { ADD_FAILURE() << "nobody is there"; },
               [](caf::error& why) {
                 EXPECT_EQ(why, caf::sec::request_receiver_down);
               });
}

TEST_F(ServiceTest, AStudyGoesAwayOnlyOnceItHasEndedAndThatIsStored) {
  open();
  add_study(client_study);
  go();
  EXPECT_EQ(ask<bool>(studies[0], retire_atom::value), false);
  // In one go: what follows from the first is not stored yet.
  self->send(studies[0], command_atom::value,
             study_command{verb::close, 0, 0, "", 0});
  auto early
    = self->request(studies[0], caf::infinite, retire_atom::value);
  run();
  bool went = true;
  early.receive([&](bool goes) { went = goes; }, [](caf::error&) {});
  EXPECT_FALSE(went);
  EXPECT_EQ(ask<bool>(studies[0], retire_atom::value), true);
  EXPECT_FALSE(ask<study_status>(studies[0], status_atom::value));
}

TEST_F(ServiceTest, SaysWhatAClientMayNotDo) {
  open();
  add_study(client_study);
  add_study(sha_study);
  go();
  const auto refusal = [&](const caf::expected<command_answer>& x) {
    return x ? "granted" : sys.render(x.error());
  };
  const auto expect = [&](const std::string& said, const std::string& part) {
    EXPECT_NE(said.find(part), std::string::npos) << said;
  };
  expect(refusal(command(1, verb::ask)),
         "the study's algorithm, sha, decides by itself");
  expect(refusal(command(0, verb::ask, "{lr: 0.1, bach_size: 64}")),
         "batch_size");
  expect(refusal(command(0, verb::ask, "{lr: {choice: [0.1, 0.2]}}")),
         "one value for each");
  expect(refusal(command(0, verb::train, {}, 3, 2)), "there is no trial 3");
  ASSERT_TRUE(command(0, verb::ask));
  expect(refusal(command(0, verb::train, {}, 0, 3)),
         "where nothing is measured: the nearest step is 4");
  expect(refusal(command(0, verb::tell, R"({"state": "RUNNING"})", 0)),
         "COMPLETE, PRUNED or FAILED");
  expect(refusal(command(0, verb::weight, "-1")), "a number above 0");
  for (int i = 0; i < 4; ++i)
    ASSERT_TRUE(command(0, verb::ask));
  expect(refusal(command(0, verb::ask)), "there may be 5 trials");
}

TEST_F(ServiceTest, WhatEarlierRunsLeftIsNotTrainedAgain) {
  stored_plan known;
  known.nodes.push_back({node_id{1}, root_node, 0, 0,
                         {{"batch_size", form::constant(64)},
                          {"lr", form::constant(0.1)}}});
  test::model_state state;
  state.train(known.nodes[0].config, 0, 3);
  (*files)["old"] = state;
  for (step_t t = 1; t <= 3; ++t) {
    test::model_state x;
    x.train(known.nodes[0].config, 0, t);
    known.results.push_back({node_id{1}, t, x.evaluate(), "model"});
  }
  known.checkpoints.push_back({node_id{1}, 3, {"old", 1, 1}});
  merger_options options;
  options.kept = std::make_shared<kept_plan>();
  options.kept->restore(known);
  open(std::move(options));
  add_study(grid_study);
  go();
  add_trainer();
  run_all();
  expect_results_as_alone(0);
  EXPECT_EQ(status().reused_steps, 3u);
  EXPECT_EQ(trained() + 3, status().figures.unique_steps);
}

TEST_F(ServiceTest, WhatIsColdLeavesTheMemoryOfTheProcess) {
  constexpr std::size_t bytes = 32 << 20;
  auto cold = std::make_shared<file_memory>(testing::TempDir());
  auto* at = static_cast<unsigned char*>(cold->allocate(bytes));
  std::memset(at, 7, bytes);
  merger_options options;
  options.kept = std::make_shared<kept_plan>(waiting_limits{}, false, cold);
  open(std::move(options));
  const auto before = test::resident_kb("VmRSS");
  add_study(grid_study);
  sched.advance_time(std::chrono::seconds(2));
  go();
  add_trainer();
  run_all();
  EXPECT_LT(test::resident_kb("VmRSS"), before - (16 << 10));
  expect_results_as_alone(0);
  EXPECT_EQ(at[bytes - 1], 7);
  cold->deallocate(at, bytes);
}

TEST_F(ServiceTest, MalformedBytesHarmNobody) {
  open();
  add_study(sha_study);
  go();
  auto words = kj::heapArray<capnp::word>(4);
  std::memset(words.asBytes().begin(), 0xff, words.asBytes().size());
  self->send(merging, report_atom::value, stop_report_wire{kj::mv(words)});
  self->send(merging, ended_atom::value, lease_end_wire{});
  self->send(trainers_pool, heartbeat_atom::value, heartbeat_wire{});
  auto refused = ask<welcome_wire>(
    trainers_pool, register_atom::value, hello_wire{},
    caf::actor_cast<trainer_actor>(add_trainer().handle));
  EXPECT_FALSE(refused);
  run_all();
  expect_results_as_alone(0);
}

TEST_F(ServiceTest, ATrainerOfAnotherVersionIsRefused) {
  open();
  hello x;
  x.protocol = protocol_version + 1;
  x.device = "model";
  auto device = std::make_shared<test::fake_engine>(files);
  auto handle
    = spawn(trainer, caf::actor_cast<registrar_actor>(trainers_pool), x,
            std::static_pointer_cast<engine>(device), nullptr);
  caf::error reason;
  self->monitor(handle);
  run();
  self->receive([&](const caf::down_msg& msg) { reason = msg.reason; });
  EXPECT_EQ(reason, errc::incompatible_version);
}

/// One state of 23, whoever comes by.
bool diverges_here_and_there(const metrics& xs) {
  return !xs.empty()
         && static_cast<std::uint64_t>(xs.begin()->second) % 23 == 0;
}

// Any interleaving, trainers that die or fall silent at random: first nothing
// may be wrong, then everything must be done. A failure prints its seed.
struct ServiceSimulation
  : test::service_test,
    testing::WithParamInterface<
      std::tuple<policy, unsigned, std::vector<std::string>>> {};

TEST_P(ServiceSimulation, EveryResultIsAsAloneWhateverHappens) {
  const auto seed = std::get<1>(GetParam());
  std::mt19937 rng{seed};
  SCOPED_TRACE("seed " + std::to_string(seed));
  merger_options options;
  options.policy = std::get<0>(GetParam());
  options.merge = seed % 5 != 0;
  if (seed % 3 == 0)
    options.checkpoint_bytes_max = 6; // each counts as one byte here
  const bool breaks = seed % 4 == 0;
  const error broken{errc::diverged, "loss is nan"};
  if (seed % 4 == 1)
    diverges = diverges_here_and_there;
  open(std::move(options));
  for (const auto& name : std::get<2>(GetParam()))
    add_study(text_of(name));
  go();
  std::vector<std::size_t> alive;
  const auto join = [&] {
    add_trainer().device->poison = [&](const configuration& x) {
      return breaks && x.at("batch_size") == form::constant(128)
                 && x.at("lr") == form::constant(0.1)
               ? &broken
               : nullptr;
    };
    alive.push_back(trainers.size() - 1);
  };
  for (int i = 0; i < 3; ++i)
    join();
  int faults = 6;
  for (int turn = 0; turn < 600; ++turn) {
    run_one(rng);
    auto& x = trainers[alive[rng() % alive.size()]];
    if (rng() % 2 == 0)
      x.device->step();
    if (faults > 0 && rng() % 40 == 0) {
      --faults;
      const auto i = rng() % alive.size();
      self->send_exit(trainers[alive[i]].handle, caf::exit_reason::kill);
      alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(i));
      join();
    }
  }
  run_all(); // from here on nothing fails
  // A trainer that could take nothing rests before it is asked for its word.
  for (int i = 0; seed % 4 < 2 && i < 70; ++i) {
    sched.advance_time(std::chrono::seconds{1});
    run_all();
  }
  for (std::size_t i = 0; i < studies.size(); ++i)
    expect_results_as_alone(i);
  if (seed % 4 > 1) {
    EXPECT_GE(trained(), status().figures.unique_steps);
  }
}

/// A service that goes on from what another one has left.
struct ServiceAgain : test::service_test {
  explicit ServiceAgain(std::shared_ptr<test::remains> x,
                        const std::vector<const char*>& texts,
                        bool some_diverge) {
    if (some_diverge)
      diverges = diverges_here_and_there;
    merger_options options;
    options.kept = x->restored();
    options.first_lease = lease_id{1 + 1000 * x->records.size()};
    kept = x;
    files = {kept, &kept->files};
    open(std::move(options));
    for (const auto* text : texts)
      add_study(text);
    go();
    add_trainer();
    add_trainer();
  }

  void TestBody() override {}
};

/// What a study was known to hold must still be there, the same, in a later
/// state of it.
void expect_goes_on(const study_record& before, const study_record& after) {
  ASSERT_LE(before.trials.size(), after.trials.size());
  for (std::size_t no = 0; no < before.trials.size(); ++no) {
    const auto& x = before.trials[no];
    const auto& y = after.trials[no];
    if (x.state != trial_state::pending) {
      EXPECT_EQ(x.params, y.params) << no;
    }
    ASSERT_LE(x.results.size(), y.results.size()) << no;
    for (std::size_t i = 0; i < x.results.size(); ++i) {
      EXPECT_EQ(x.results[i].step, y.results[i].step);
      EXPECT_EQ(x.results[i].values, y.results[i].values);
    }
    if (has_ended(x.state)) {
      EXPECT_EQ(x.state, y.state);
      EXPECT_EQ(x.failure, y.failure);
    }
  }
}

struct ServiceRestart : testing::TestWithParam<unsigned> {};

TEST_P(ServiceRestart, LosesNothingWhenItDiesAtAnyMoment) {
  const auto seed = GetParam();
  const bool some_diverge = seed % 2 == 1;
  std::mt19937_64 rng{seed};
  const std::vector texts{pbt_study, plateau_pbt_study, sha_study,  grid_study,
                          tpe_study, asha_study,        bohb_study, plateau_study};
  constexpr std::size_t fixed = 4; // these do not depend on who is faster
  const auto left = std::make_shared<test::remains>();
  std::vector<study_record> before(texts.size());
  for (int life = 0; life < 4; ++life) {
    ServiceAgain x{left, texts, some_diverge};
    x.run();
    for (std::size_t i = 0; i < texts.size(); ++i)
      expect_goes_on(before[i], x.record_of(i));
    for (auto turns = rng() % 400; turns > 0; --turns) {
      x.run_one(rng);
      if (rng() % 2 == 0)
        x.trainers[rng() % 2].device->step();
    }
    // What a study tells it has heard, and that was stored first.
    for (std::size_t i = 0; i < texts.size(); ++i)
      before[i] = x.record_of(i);
  }
  ServiceAgain last{left, texts, some_diverge},
    whole{std::make_shared<test::remains>(), texts, some_diverge};
  last.run_all();
  whole.run_all();
  ServiceAgain again{left, texts, some_diverge};
  again.run_all();
  EXPECT_EQ(again.trained(), 0u);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    last.expect_results_as_alone(i);
    const auto x = last.record_of(i), y = again.record_of(i),
               z = i < fixed ? whole.record_of(i) : x;
    ASSERT_EQ(x.trials.size(), z.trials.size());
    ASSERT_EQ(y.trials.size(), z.trials.size());
    for (std::size_t no = 0; no < z.trials.size(); ++no)
      for (const auto* same : {&x.trials[no], &y.trials[no]}) {
        EXPECT_EQ(same->params, z.trials[no].params);
        EXPECT_EQ(same->state, z.trials[no].state);
        EXPECT_EQ(same->steps, z.trials[no].steps);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ServiceRestart, test::seeds(40));

INSTANTIATE_TEST_SUITE_P(
  Seeds, ServiceSimulation,
  testing::Combine(testing::Values(policy::critical_path, policy::breadth_first,
                                   policy::trial),
                   test::seeds(100),
                   testing::Values(
                     std::vector<std::string>{"sha", "asha"},
                     std::vector<std::string>{"pbt", "plateau", "tpe"},
                     std::vector<std::string>{"plateau-pbt", "bohb", "grid"})));

} // namespace
} // namespace hippo
