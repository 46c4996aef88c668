// The service on simulated engines, in virtual time.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <sstream>

#include "actors/actor_fixture.hpp"
#include "actors/toy_profile.hpp"
#include "hippo/search/registry.hpp"
#include "hippo/space/study.hpp"
#include "journal.hpp"
#include "merger.hpp"
#include "pool.hpp"
#include "simulated_engine.hpp"
#include "study.hpp"
#include "trainer.hpp"
#include "virtual_time.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;

const char* const grid_study = R"(
study: grid
workload: toy
objective: {metric: loss}
eval_every: 5
max_steps: 20
space:
  lr:
    choice:
      - 0.1
      - multistep: {initial: 0.1, milestones: [10], gamma: 0.1}
      - multistep: {initial: 0.1, milestones: [10, 15], gamma: 0.1}
      - 0.5
algorithm: grid
)";

const char* const first_step_study = R"(
study: first-step
workload: toy
objective: {metric: loss}
max_steps: 1
space: {lr: {choice: [0.1, 0.2, 0.3]}}
algorithm: grid
)";

/// A whole service in virtual time.
class SimulationTest : public test::actor_test {
public:
  std::shared_ptr<simulation_profile> profile =
    std::make_shared<simulation_profile>(test::toy_profile());
  std::shared_ptr<virtual_timeline> timeline =
    std::make_shared<virtual_timeline>();
  virtual_time clock{sys, timeline};
  std::shared_ptr<simulated_store> store =
    std::make_shared<simulated_store>();
  std::uint64_t seed = 1;
  step_t lease_steps_max = 1000;
  pool_actor trainers_pool;
  journal_actor log;
  merger_actor merging;
  std::vector<study_actor> studies;
  std::vector<training_actor> trainers;

  void open(std::size_t n) {
    pool_options watching;
    watching.heartbeat_interval = 1h;
    watching.silence_max = 10h;
    trainers_pool = spawn(pool, watching);
    merger_options options;
    options.workload.name = profile->workload.name;
    options.speed_names = {"batch_size"};
    options.lease_steps_max = lease_steps_max;
    log = spawn(journal, nullptr, 0ms, nullptr);
    merging = spawn(merger, options, trainers_pool, log);
    hello x;
    x.device = profile->device;
    x.workloads[profile->workload.name];
    for (; n > 0; --n)
      trainers.push_back(
        spawn(trainer, caf::actor_cast<registrar_actor>(trainers_pool), x,
              std::shared_ptr<engine>(std::make_shared<simulated_engine>(
                timeline,
                std::make_shared<simulation_profiles>(simulation_profiles{
                  {profile->workload.name, *profile}}),
                store, seed)),
              nullptr));
    clock.settle();
  }

  void add_study(const std::string& text) {
    const auto read = read_study(text, "test.yaml", {profile->workload});
    ASSERT_TRUE(read.study) << to_text(read.errors.at(0));
    study_options opts;
    opts.spec = *read.study;
    opts.search = read_search(opts.spec);
    opts.workload = profile->workload;
    opts.stored.id = study_id{studies.size() + 1};
    studies.push_back(
      spawn(study,
            study_setup{opts, std::make_shared<thinking_at_once>()}, merging,
            log, caf::actor_cast<observer_actor>(self)));
    ASSERT_TRUE(ask<study_no>(studies.back(), start_atom::value));
  }

  bool all_done() {
    return std::ranges::all_of(studies, [this](const auto& x) {
      return has_ended(ask<study_status>(x, status_atom::value)->state);
    });
  }

  void cancel(std::size_t i) {
    study_command x;
    x.what = study_command::verb::cancel;
    caf::anon_send(studies[i], command_atom::value, std::move(x));
  }

  bool go() {
    self->send(merging, go_atom::value);
    return clock.run_until([this] { return all_done(); });
  }

  study_record record_of(const study_actor& x) {
    return *ask<study_record>(x, overview_atom::value);
  }

  merger_overview overview() {
    return *ask<merger_overview>(merging, overview_atom::value);
  }

  /// Trains each trial of the first study alone and compares.
  void expect_results_as_alone(const char* text, step_t every) {
    const auto spec = *read_study(text, "", {profile->workload}).study;
    const auto values = make_sampler(spec, read_search(spec));
    for (const auto& trial : record_of(studies[0]).trials) {
      EXPECT_EQ(trial.state, trial_state::complete) << trial.failure;
      auto sequences = values->draw(trial.id).sequences;
      sequences.emplace("batch_size", sequence{form::constant(100)});
      lease alone;
      alone.number = lease_id{1000 + trial.id};
      alone.workload.name = "toy";
      for (const auto& x : join(sequences, spec.max_steps)) {
        if (!alone.stages.empty())
          alone.stages.back().end = x.begin;
        alone.stages.push_back({node_id{1}, x.begin, spec.max_steps, x.config});
      }
      for (step_t at = every; at <= spec.max_steps; at += every)
        alone.stops.push_back({at, true, false});
      simulated_training training{*profile, *store, seed, alone};
      ASSERT_EQ(trial.results.size(), spec.max_steps / every);
      for (const auto& x : trial.results) {
        const auto report = std::get<stop_report>(training.take());
        EXPECT_EQ(x.step, report.at);
        EXPECT_EQ(x.values, report.values) << trial.id << " at " << x.step;
      }
    }
  }

  /// Everything that the studies have learned and when it was, as text.
  std::string history() {
    std::ostringstream out;
    out.precision(17);
    for (const auto& x : studies)
      for (const auto& trial : record_of(x).trials)
        for (const auto& result : trial.results)
          out << trial.id << '@' << result.step << ' '
              << result.values.at("loss") << '\n';
    for (const auto& x : overview().timeline)
      out << x.trainer << ' ' << x.begin << ' ' << x.end << ' ' << x.stage
          << ' ' << x.from << ' ' << x.to << '\n';
    return out.str();
  }
};

TEST_F(SimulationTest, GivesEveryTrialWhatTrainingItAloneGives) {
  open(3);
  add_study(grid_study);
  ASSERT_TRUE(go());
  ASSERT_EQ(record_of(studies[0]).trials.size(), 4u);
  expect_results_as_alone(grid_study, 5);
}

TEST_F(SimulationTest, ALongPathIsLeasedInParts) {
  lease_steps_max = 3;
  open(1);
  add_study(grid_study);
  ASSERT_TRUE(go());
  expect_results_as_alone(grid_study, 5);
  const auto seen = overview();
  EXPECT_EQ(seen.status.trained_steps, 55u);
  EXPECT_GE(seen.dispatch_seconds, 55 / 3); // one for each lease
}

TEST_F(SimulationTest, TrainersAreHandedOverToWhatIsFartherFromItsEnd) {
  const char* const three_trials = R"(
study: three
workload: toy
objective: {metric: loss}
max_steps: 20
space: {lr: {choice: [0.1, 0.2, 0.3]}}
algorithm: grid
)";
  profile->dispatch_seconds = profile->load_seconds = profile->save_seconds
    = 0.1;
  profile->evaluate_seconds = 0;
  open(2);
  add_study(three_trials);
  add_study(first_step_study); // leaves checkpoints: saving is timed
  ASSERT_TRUE(go());
  // 600 s of training: one after the other on a trainer it would take 400 s.
  EXPECT_LT(clock.now(), 325s);
  EXPECT_EQ(overview().status.trained_steps, 60u);
  expect_results_as_alone(three_trials, 1);
}

TEST_F(SimulationTest, NoTrainerIsHandedOverForLessThanItCosts) {
  profile->save_seconds = 10; // 200 s would have to be gained
  open(2);
  add_study(R"(
study: three
workload: toy
objective: {metric: loss}
max_steps: 15
space: {lr: {choice: [0.1, 0.2, 0.3]}}
algorithm: grid
)");
  add_study(first_step_study);
  ASSERT_TRUE(go());
  EXPECT_NEAR(overview().load_seconds, 0, 1e-6); // nobody went on elsewhere
}

TEST_F(SimulationTest, TrainsSharedStepsOnceAndTakesTheProfilesTime) {
  open(1);
  add_study(grid_study);
  ASSERT_TRUE(go());
  const auto seen = overview();
  // 20 of lr 0.1, 10 after one decay, 5 after two, 20 of lr 0.5.
  EXPECT_EQ(seen.status.trained_steps, 55u);
  EXPECT_NEAR(seen.train_seconds, 550, 1e-6);
  // One evaluation every 5 steps.
  EXPECT_NEAR(seen.evaluate_seconds, 11 * 4, 1e-6);
  // One trainer is never idle, so that the times add up to what has passed.
  const auto sum = seen.train_seconds + seen.evaluate_seconds
                   + seen.load_seconds + seen.save_seconds
                   + seen.dispatch_seconds;
  EXPECT_NEAR(seen.busy_seconds, sum, 1e-6);
  EXPECT_NEAR(std::chrono::duration<double>(clock.now()).count(), sum, 1e-6);
  EXPECT_EQ(clock.now(), timeline->now());
  EXPECT_GT(seen.load_seconds, 0);
  EXPECT_EQ(std::fmod(seen.dispatch_seconds + 0.5, 1), 0.5);
}

TEST_F(SimulationTest, IsFasterOnMoreTrainers) {
  open(2);
  add_study(grid_study);
  ASSERT_TRUE(go());
  EXPECT_LT(clock.now(), 550s);
  EXPECT_GT(clock.now(), 275s);
}

TEST_F(SimulationTest, EndsAStudyWhenItsBudgetOfVirtualTimeIsSpent) {
  open(1);
  add_study(std::string{grid_study} + "budget: {seconds: 100}\n");
  ASSERT_TRUE(go());
  EXPECT_EQ(clock.now(), 100s);
  EXPECT_EQ(record_of(studies[0]).trials[1].state, trial_state::cancelled);
}

TEST_F(SimulationTest, SaysWhenNothingIsLeftThatCouldHappen) {
  open(0);
  add_study(grid_study);
  EXPECT_FALSE(go());
}

TEST_F(SimulationTest, TrainsAgainWhatFails) {
  profile->failure_rate = 0.3;
  open(2);
  add_study(grid_study);
  ASSERT_TRUE(go());
  for (const auto& trial : record_of(studies[0]).trials)
    EXPECT_EQ(trial.state, trial_state::complete) << trial.failure;
}

TEST_F(SimulationTest, FailsTheTrialsThatDiverge) {
  profile->curve.sharpness = 5; // 2 / 5 is below the largest learning rate
  open(2);
  add_study(grid_study);
  ASSERT_TRUE(go());
  const auto trials = record_of(studies[0]).trials;
  EXPECT_EQ(trials[0].state, trial_state::complete);
  EXPECT_EQ(trials[3].state, trial_state::failed);
  EXPECT_NE(trials[3].failure.find("diverged: loss is nan"), std::string::npos)
    << trials[3].failure;
}

TEST_F(SimulationTest, EndsLeasesAfterThePresentStepWhenHalted) {
  open(1);
  add_study(grid_study);
  // A second to dispatch and steps of ten: the fifth ends at 51 s. Then it is
  // measured, in 4 s, and saved, in 3.
  timeline->schedule_at(45s,
                        [this] { caf::anon_send(merging, halt_atom::value); });
  self->send(merging, go_atom::value);
  ASSERT_TRUE(clock.run_until(
    [this] { return clock.now() > 0s && overview().status.running.empty(); }));
  EXPECT_EQ(clock.now(), 58s);
}

/// A study of one trial of lr 0.1.
std::string one_trial(const std::string& name, step_t steps, step_t every) {
  return "study: " + name + "\nworkload: toy\nobjective: {metric: loss}\n"
         + "eval_every: " + std::to_string(every) + "\nmax_steps: "
         + std::to_string(steps) + "\nspace: {lr: 0.1}\nalgorithm: grid\n";
}

TEST_F(SimulationTest, EndsALeaseAtOnceWhenNobodyWaitsForItAnyMore) {
  open(1);
  add_study(one_trial("only", 20, 20));
  timeline->schedule_at(
    45s, [this] { cancel(0); });
  self->send(merging, go_atom::value);
  ASSERT_TRUE(clock.run_until(
    [this] { return clock.now() > 0s && overview().status.running.empty(); }));
  EXPECT_EQ(clock.now(), 51s); // the fifth step ends
}

TEST_F(SimulationTest, ALeaseIsNotWaitedForWhereItHasPassed) {
  open(1);
  add_study(one_trial("long", 20, 10));
  bool added = false;
  timeline->schedule_at(120s, [&added] { added = true; });
  timeline->schedule_at(
    122s, [this] { cancel(0); });
  self->send(merging, go_atom::value);
  ASSERT_TRUE(clock.run_until([&added] { return added; }));
  add_study(one_trial("short", 5, 5)); // the lease was measured at step 10
  ASSERT_TRUE(go());
  // It ends with its present step, then the other one is trained.
  EXPECT_EQ(clock.now(), 125s + 1s + 50s + 4s + 3s);
}

TEST_F(SimulationTest, EndsALeaseWhenItTellsThatItHasPassedWhatIsWaitedFor) {
  open(1);
  add_study(one_trial("long", 20, 10));
  bool added = false;
  timeline->schedule_at(65s, [&added] { added = true; });
  timeline->schedule_at(
    67s, [this] { cancel(0); });
  self->send(merging, go_atom::value);
  ASSERT_TRUE(clock.run_until([&added] { return added; }));
  add_study(one_trial("short", 5, 5)); // the lease is at step 6
  ASSERT_TRUE(go());
  // It is measured at step 10, at 105 s, and ends with the next one.
  EXPECT_EQ(clock.now(), 115s + 1s + 50s + 4s + 3s);
}

TEST_F(SimulationTest, EndsALeaseThatHasOnlyMeasuredWhatIsWaitedFor) {
  open(1);
  const auto halved = [](const std::string& name, step_t every) {
    return "study: " + name + "\nworkload: toy\nobjective: {metric: loss}"
           + "\neval_every: " + std::to_string(every)
           + "\nmax_steps: 20\nspace: {lr: {multistep: {initial: 0.1,"
             " milestones: [10], gamma: 0.5}}}\nalgorithm: grid\n";
  };
  // Leaves a checkpoint at step 10, which nobody has measured.
  add_study(halved("first", 20));
  ASSERT_TRUE(go());
  const auto begin = clock.now();
  auto other = halved("second", 10);
  other.replace(other.find("0.5"), 3, "0.2");
  add_study(other);
  timeline->schedule_at(begin + 40s, [this] {
    cancel(1);
  });
  ASSERT_TRUE(clock.run_until([&] {
    return clock.now() > begin && overview().status.running.empty();
  }));
  EXPECT_EQ(overview().timeline.back().evaluate, 4);
  // Dispatched, loaded and measured, it is in its fourth step then.
  EXPECT_EQ(clock.now(), begin + 1s + 2s + 4s + 40s);
}

TEST_F(SimulationTest, SavesWhereALaterStudyBranchesOff) {
  open(1);
  const std::string one_trial = R"(
workload: toy
objective: {metric: loss}
eval_every: 20
max_steps: 20
algorithm: grid
)";
  add_study(one_trial + "study: first\nspace: {lr: 0.1}\n");
  bool added = false;
  timeline->schedule_at(45s, [&added] { added = true; });
  self->send(merging, go_atom::value);
  ASSERT_TRUE(clock.run_until([&added] { return added; }));
  add_study(one_trial
            + "study: second\nspace: {lr: {multistep: {initial: 0.1, "
              "milestones: [10], gamma: 0.1}}}\n");
  ASSERT_TRUE(go());
  const auto seen = overview();
  EXPECT_EQ(seen.status.trained_steps, 30u);
  ASSERT_FALSE(seen.timeline.empty());
  EXPECT_EQ(seen.timeline[0].to, 10u);
  EXPECT_EQ(seen.timeline[0].end, 1 + 100 + 3);
}

TEST_F(SimulationTest, TrainsElsewhereWhatADeadTrainerLeft) {
  open(2);
  add_study(grid_study);
  timeline->schedule_at(
    45s, [this] { caf::anon_send_exit(trainers[0], caf::exit_reason::kill); });
  ASSERT_TRUE(go());
  for (const auto& trial : record_of(studies[0]).trials)
    EXPECT_EQ(trial.state, trial_state::complete) << trial.failure;
  for (const auto& x : overview().timeline)
    EXPECT_EQ(x.trainer, 2u);
}

TEST_F(SimulationTest, TakesNoTrainerForDeadOverDaysOfVirtualTime) {
  profile->step_seconds[0].seconds = 24 * 3600;
  open(2);
  add_study(grid_study);
  ASSERT_TRUE(go());
  EXPECT_GT(clock.now(), 24h * 20);
  const auto seen = *ask<pool_status>(trainers_pool, status_atom::value);
  for (const auto& x : seen.trainers)
    EXPECT_EQ(x.lost, "");
}

/// A simulation beside that of the test.
struct another : SimulationTest {
  void TestBody() override {}

  std::string run_again(std::uint64_t with_seed) {
    seed = with_seed;
    profile->spread = 0.2;
    profile->failure_rate = 0.1;
    open(3);
    add_study(grid_study);
    EXPECT_TRUE(go());
    return history();
  }
};

const char* const pbt_study = R"(
study: pbt
workload: toy
objective: {metric: loss}
eval_every: 2
max_steps: 20
space:
  lr: {choice: [0.05, 0.1, 0.2, {linear: {from: 0.1, to: 0.01, horizon: 20}}]}
  batch_size: {choice: [50, 100, 200]}
algorithm: {pbt: {population: 6, interval: 5, quantile: 0.4}}
)";

const char* const plateau_study = R"(
study: plateau
workload: toy
objective: {metric: loss}
eval_every: 2
max_steps: 20
space:
  lr:
    choice:
      - 0.1
      - reduce_on_plateau: {initial: {choice: [0.1, 0.3]}, patience: 0}
      - reduce_on_plateau: {initial: 0.3, patience: 1, factor: 0.5}
  batch_size: {choice: [50, 100]}
algorithm: {pbt: {population: 6, interval: 5, quantile: 0.5, resample: 0.5}}
)";

const char* const hyperband_study = R"(
study: hyperband
workload: toy
objective: {metric: loss}
eval_every: 3
max_steps: 18
space:
  lr:
    choice:
      - 0.1
      - reduce_on_plateau: {initial: {choice: [0.1, 0.3]}, patience: 0}
      - multistep: {initial: 0.1, milestones: [{choice: [4, 9]}], gamma: 0.1}
  batch_size: {choice: [50, 100]}
algorithm: {hyperband: {eta: 3, min: 2}}
)";

const char* const tpe_study = R"(
study: tpe
workload: toy
objective: {metric: loss}
eval_every: 5
max_steps: 20
space:
  lr:
    choice:
      - {log_uniform: [0.01, 0.3], points: 5}
      - multistep: {initial: 0.1, milestones: [10], gamma: 0.1}
      - reduce_on_plateau: {initial: 0.2, patience: 0}
  batch_size: {choice: [50, 100]}
algorithm: {tpe: {startup: 3, max_concurrent: 1}}
budget: {trials: 12}
)";

/// What studies learn that do not depend on who is faster.
struct some_studies : SimulationTest {
  void TestBody() override {}

  std::vector<study_record> learn(const std::vector<const char*>& texts,
                                  std::size_t n, bool fails) {
    if (fails) {
      profile->spread = 0.3;
      profile->failure_rate = 0.1;
    }
    profile->curve.evaluation_noise = 0.2; // so that plateaus come
    open(n);
    for (const auto* text : texts)
      add_study(text);
    if (fails)
      timeline->schedule_at(200s, [this] {
        caf::anon_send_exit(trainers[0], caf::exit_reason::kill);
      });
    EXPECT_TRUE(go());
    const auto seen = overview().status;
    if (!fails) {
      EXPECT_EQ(seen.trained_steps, seen.figures.unique_steps);
    }
    EXPECT_EQ(seen.figures.asked_steps, seen.figures.delivered_steps);
    std::vector<study_record> result;
    for (const auto& x : studies)
      result.push_back(record_of(x));
    return result;
  }
};

TEST(Simulations, StudiesLearnTheSameBesideOthersAndWhateverFails) {
  const std::vector all{pbt_study, plateau_study, hyperband_study, tpe_study};
  const auto together = some_studies{}.learn(all, 3, true);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto alone = some_studies{}.learn({all[i]}, 1, false).at(0);
    ASSERT_EQ(together[i].trials.size(), alone.trials.size()) << alone.name;
    for (std::size_t no = 0; no < alone.trials.size(); ++no) {
      const auto &x = alone.trials[no], &y = together[i].trials[no];
      EXPECT_EQ(x.params, y.params) << alone.name << ' ' << no;
      EXPECT_EQ(x.state, y.state) << y.failure;
      ASSERT_EQ(x.results.size(), y.results.size()) << alone.name << ' ' << no;
      for (std::size_t j = 0; j < x.results.size(); ++j) {
        EXPECT_EQ(x.results[j].step, y.results[j].step);
        EXPECT_EQ(x.results[j].values, y.results[j].values);
      }
    }
  }
}

TEST(Simulations, AreAFunctionOfTheirSeed) {
  const auto first = another{}.run_again(1);
  EXPECT_EQ(another{}.run_again(1), first);
  EXPECT_NE(another{}.run_again(2), first);
}

// -- virtual time -------------------------------------------------------------

using alarm_actor = caf::typed_actor<caf::reacts_to<tick_atom, std::string>>;

class VirtualTimeTest : public test::actor_test {
public:
  std::shared_ptr<virtual_timeline> timeline =
    std::make_shared<virtual_timeline>();
  virtual_time clock{sys, timeline};
  std::string said; ///< letters and the seconds at which they came

  void say(const std::string& letter) {
    EXPECT_EQ(clock.now(), timeline->now());
    said += letter + std::to_string(clock.now() / 1s) + ' ';
  }

  /// Spawns an actor that says each letter after so many seconds.
  void alarm(std::vector<std::pair<std::chrono::seconds, std::string>> when) {
    spawn([this, when](alarm_actor::pointer me) -> alarm_actor::behavior_type {
      for (const auto& [delay, letter] : when)
        me->delayed_send(me, delay, tick_atom::value, letter);
      return {[this](tick_atom, const std::string& x) { say(x); }};
    });
  }
};

TEST_F(VirtualTimeTest, MovesActorsAndTheTimelineTogether) {
  alarm({{5s, "b"}, {20s, "d"}, {20s, "e"}});
  timeline->schedule_at(2s, [this] { say("a"); });
  timeline->schedule_at(12s, [this] {
    say("c");
    alarm({{5s, "x"}});
  });
  timeline->schedule_at(20s, [this] { say("f"); });
  EXPECT_FALSE(clock.run_until([] { return false; }));
  // What actors have been waiting for comes first.
  EXPECT_EQ(said, "a2 b5 c12 x17 d20 e20 f20 ");
  EXPECT_EQ(timeline->now(), 20s);
  EXPECT_EQ(clock.now(), 20s);
}

TEST_F(VirtualTimeTest, StopsAsSoonAsItIsDone) {
  alarm({{5s, "a"}, {6s, "b"}});
  EXPECT_TRUE(clock.run_until([this] { return said == "a5 "; }));
  EXPECT_EQ(clock.now(), 5s);
  EXPECT_TRUE(clock.run_until([this] { return said == "a5 b6 "; }));
  EXPECT_TRUE(clock.run_until([] { return true; }));
  EXPECT_EQ(clock.now(), 6s);
}

TEST_F(VirtualTimeTest, WhatIsOverdueHappensNow) {
  timeline->schedule_at(9s, [this] { alarm({{-5s, "b"}, {1s, "c"}}); });
  alarm({{8s, "a"}});
  EXPECT_FALSE(clock.run_until([] { return false; }));
  EXPECT_EQ(said, "a8 b9 c10 ");
}

/// An actor that is woken every millisecond, for ever.
caf::behavior clockwork(caf::event_based_actor* self) {
  self->send(self, tick_atom::value);
  return {
    [self](tick_atom) { self->delayed_send(self, 1ms, tick_atom::value); }};
}

TEST_F(VirtualTimeTest, OnlyTimeoutsWithNothingToComeAreIdle) {
  spawn(clockwork);
  bool happened = false;
  timeline->schedule_at(2s, [&happened] { happened = true; });
  EXPECT_TRUE(clock.run_until([&happened] { return happened; }, 1s));
  EXPECT_FALSE(clock.run_until([] { return false; }, 1s));
  EXPECT_EQ(clock.now(), 3s);
  EXPECT_FALSE(clock.run_until([] { return false; }, 0s));
  EXPECT_EQ(clock.now(), 3s);
}

} // namespace
} // namespace hippo
