#include "hippo/service/study/study_core.hpp"

#include <algorithm>
#include <deque>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "hippo/base/number.hpp"
#include "hippo/model/front_text.hpp"
#include "hippo/report/report.hpp"
#include "hippo/search/pareto/dominance.hpp"
#include "hippo/search/registry.hpp"
#include "study/study_world.hpp"

namespace hippo {
namespace {

using namespace std::chrono_literals;
using verb = study_command::verb;
using test::given_up;
using test::options_of;
using test::with_search;
using test::world;

const char* const client_study = "algorithm: client\nbudget: {trials: 3}\n";

TEST(StudyCore, ACommandIsAnsweredOnceItsEffectsAreStored) {
  world x{options_of(client_study)};
  x.commit_all();
  const auto asked = x.command(verb::ask);
  EXPECT_FALSE(x.answer(asked)); // it is yet to be stored
  ASSERT_TRUE(x.commit_one());
  EXPECT_FALSE(x.answer(asked)); // and so is the trial
  x.commit_all();
  const auto told = x.answer(asked);
  ASSERT_TRUE(told);
  EXPECT_EQ(std::get<command_answer>(told->what).trial, 0u);
}

TEST(StudyCore, ARefusedCommandLeavesNoTrace) {
  world x{options_of(client_study)};
  x.commit_all();
  const auto before = x.records_;
  EXPECT_NE(x.refusal(x.command(verb::train, 5, 12)).find("no trial 5"),
            std::string::npos);
  EXPECT_NE(x.refusal(x.command(verb::tell, 0, 0, "{}")).find("no trial 0"),
            std::string::npos);
  EXPECT_NE(x.refusal(x.command(verb::resume)).find("RUNNING already"),
            std::string::npos);
  EXPECT_NE(x.refusal(x.command(verb::weight, 0, 0, "-1")).find("above 0"),
            std::string::npos);
  EXPECT_NE(x.refusal(x.command(verb::ask, 0, 0, "{nothing: 1}")), "");
  EXPECT_NE(x.refusal(x.train(9, 12)).find("has no trial 9"),
            std::string::npos);
  x.commit_all();
  EXPECT_EQ(x.records_, before);
  EXPECT_TRUE(x.history_.empty());
}

TEST(StudyCore, AClientsValueIsRefusedWhereItDoesNotTellAll) {
  auto options = options_of(client_study);
  options.spec.objective.constraints.push_back({"loss", true, 5});
  world x{options};
  x.command(verb::ask);
  x.commit_all();
  const auto known = x.history_.size();
  EXPECT_NE(x.refusal(x.command(verb::tell, 0, 0, R"({"value": 0.5})"))
              .find("one value does not tell"),
            std::string::npos);
  x.commit_all();
  EXPECT_EQ(x.history_.size(), known);
  const auto ended = x.command(verb::tell, 0, 0, R"({"state": "PRUNED"})");
  x.commit_all();
  EXPECT_EQ(x.refusal(ended), "");
}

TEST(StudyCore, AStudyThatDecidesByItselfRefusesAClient) {
  world x{options_of("algorithm: grid\n")};
  for (const auto what : {verb::ask, verb::train, verb::tell, verb::close})
    EXPECT_NE(x.refusal(x.command(what, 0, 12, what == verb::tell ? "{}" : ""))
                .find("decides by itself"),
              std::string::npos);
}

TEST(StudyCore, WhatIsBeingStoredMayMakeACommandPossible) {
  world x{options_of(client_study)};
  const auto pause = x.command(verb::pause);
  const auto resume = x.command(verb::resume); // before the pause is stored
  x.commit_all();
  EXPECT_EQ(x.refusal(pause), "");
  EXPECT_EQ(x.refusal(resume), "");
  EXPECT_EQ(x.core().stored().state, study_phase::running);
  EXPECT_EQ(x.paused_, (std::vector{true, false}));
}

/// Whoever has one command stored after the other could else fill the store
/// with what is refused.
TEST(StudyCore, WhatNoCommandMakesPossibleIsNotStoredBesideOthers) {
  world x{options_of(client_study)};
  x.command(verb::weight, 0, 0, "2");
  EXPECT_NE(x.refusal(x.command(verb::train, 5, 12)).find("no trial 5"),
            std::string::npos);
  EXPECT_NE(x.refusal(x.command(verb::tell, 0, 0, "{}")).find("no trial 0"),
            std::string::npos);
  EXPECT_NE(x.refusal(x.command(verb::resume)).find("RUNNING already"),
            std::string::npos);
  EXPECT_NE(x.refusal(x.command(verb::retry)), "");
  x.commit_all();
  EXPECT_EQ(x.history_.size(), 1u);
  // A trial that is there by then can be ended.
  x.command(verb::ask);
  const auto ended = x.command(verb::tell, 0, 0, R"({"state": "PRUNED"})");
  x.commit_all();
  EXPECT_EQ(x.refusal(ended), "");
  x.command(verb::ask);
  x.command(verb::ask);
  x.commit_all();
  const auto known = x.history_.size();
  x.command(verb::weight, 0, 0, "3");
  EXPECT_NE(x.refusal(x.command(verb::ask)).find("there may be 3 trials"),
            std::string::npos);
  x.commit_all();
  EXPECT_EQ(x.history_.size(), known + 1);
  x.expect_replayed();
}

TEST(StudyCore, WhatCannotBeDoneAnyMoreIsRefusedWhenItIsStored) {
  world x{options_of(client_study)};
  const auto first = x.command(verb::pause);
  const auto second = x.command(verb::pause);
  x.commit_all();
  EXPECT_TRUE(x.answer(first));
  EXPECT_NE(x.refusal(second).find("PAUSED already"), std::string::npos);
  x.expect_replayed();
}

TEST(StudyCore, WhoeverTrainsATrialIsAnsweredWhenItIsThere) {
  world x{options_of(client_study)};
  x.command(verb::ask);
  x.commit_all();
  const auto first = x.train(0, 12);
  x.commit_all();
  const auto second = x.train(0, 12); // is on its way
  EXPECT_FALSE(x.answer(first));
  while (!x.waiting().empty())
    x.train_one(0);
  x.commit_all();
  for (const auto token : {first, second}) {
    const auto told = x.answer(token);
    ASSERT_TRUE(told);
    EXPECT_EQ(std::get<trained_trial>(told->what).step, 12u);
  }
  // Those that it has passed are no other ones.
  for (const step_t to : {0, 13})
    EXPECT_NE(x.refusal(x.train(0, to)).find("where nothing is measured"),
              std::string::npos)
      << to;
}

TEST(StudyCore, WithoutMemoryItRestsAndGoesOnWhenThereIsSome) {
  world x{options_of("algorithm: grid\n")};
  x.commit_all();
  const auto is = [&](study_phase phase) {
    x.commit_all();
    EXPECT_EQ(x.core().stored().state, phase);
    x.expect_replayed();
  };
  x.tell(study_core_event::filled{"it takes too much"});
  x.tell(study_core_event::filled{"it takes too much"}); // before it is stored
  EXPECT_EQ(x.journal_.size(), 1u);
  is(study_phase::paused);
  EXPECT_EQ(x.core().stored().reason, "memory is short: it takes too much");
  x.tell(study_core_event::filled{"it takes even more"});
  EXPECT_TRUE(x.journal_.empty()) << "it rests already";
  // Whoever resumes it cannot make room.
  x.command(verb::resume);
  is(study_phase::running);
  x.tell(study_core_event::filled{"it takes too much"});
  is(study_phase::paused);
  x.tell(study_core_event::filled{""});
  is(study_phase::running);
  EXPECT_EQ(x.paused_, (std::vector<bool>{true, false, true, false}));
  // A pause of somebody else's is not ended.
  x.command(verb::pause);
  is(study_phase::paused);
  x.tell(study_core_event::filled{""});
  EXPECT_TRUE(x.journal_.empty());
  x.command(verb::resume);
  x.commit_all();
  while (!x.end_) {
    for (const auto no : x.waiting())
      x.train_one(no);
    x.commit_all();
  }
  is(study_phase::complete);
  x.tell(study_core_event::filled{"it takes too much"});
  EXPECT_TRUE(x.journal_.empty());
}

TEST(StudyCore, WithoutMemoryAClientIsRefusedNewTrialsAndNothingElse) {
  world x{options_of(client_study)};
  x.command(verb::ask);
  x.commit_all();
  x.tell(study_core_event::filled{"no new trial"});
  EXPECT_TRUE(x.journal_.empty());
  EXPECT_EQ(x.refusal(x.command(verb::ask)), "no new trial");
  x.train(0, 12);
  x.commit_all();
  EXPECT_EQ(x.waiting(), std::vector<trial_no>{0});
  x.tell(study_core_event::filled{""});
  EXPECT_EQ(x.refusal(x.command(verb::ask)), "");
}

TEST(StudyCore, StopAfterPauseAsksTheMergerOnceMoreAndEnds) {
  world x{options_of("algorithm: grid\n")};
  x.command(verb::pause);
  x.commit_all();
  x.tell(study_core_event::quiesced{}); // of the pause: nothing follows
  EXPECT_EQ(x.core().stored().state, study_phase::paused);
  x.command(verb::stop);
  x.commit_all();
  EXPECT_EQ(x.paused_, (std::vector{true, true}));
  x.tell(study_core_event::quiesced{});
  x.tell(study_core_event::quiesced{}); // it is being stored
  x.commit_all();
  EXPECT_EQ(std::ranges::count_if(x.history_, [](const stored_event& y) {
    const auto* command = std::get_if<study_command>(&y.what);
    return command != nullptr && command->what == verb::finish;
  }), 1);
  ASSERT_TRUE(x.end_);
  EXPECT_EQ(x.end_->state, study_phase::complete);
  EXPECT_NE(x.refusal(x.command(verb::resume)).find("has ended"),
            std::string::npos);
  x.expect_replayed(); // as who wants to look at it, or to retry it, finds it
}

TEST(StudyCore, ValuesThatAClientGivesAreJoinedByTheSpacesConstants) {
  world x{options_of("  batch_size: 64\nalgorithm: client\n")};
  const auto token = x.command(verb::ask, 0, 0, "{lr: 0.3}");
  x.commit_all();
  ASSERT_EQ(x.history_.size(), 1u);
  const auto& stored = std::get<study_command>(x.history_[0].what);
  EXPECT_EQ(stored.text, R"({"lr":0.3,"batch_size":64})");
  const auto answer = x.answer(token);
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<command_answer>(answer->what).params.dump(), stored.text);
  // What is given counts, and what is left to choose is not chosen.
  x.command(verb::ask, 0, 0, "{lr: 0.3, batch_size: 32}");
  x.commit_all();
  EXPECT_EQ(std::get<study_command>(x.history_[1].what).text,
            "{lr: 0.3, batch_size: 32}");
  x.expect_replayed();
}

TEST(StudyCore, FirstTrialsThatAllFailAlikePauseIt) {
  world x{options_of("algorithm: grid\n")};
  const auto first = x.waiting();
  ASSERT_EQ(first.size(), 6u);
  for (const std::size_t i : {0, 1})
    x.fail_one(first[i], {errc::training_failed, "NameError: x\nline 3"});
  x.commit_all();
  EXPECT_EQ(x.core().stored().state, study_phase::running);
  x.fail_one(first[2], {errc::training_failed, "NameError: x\nline 7"});
  x.commit_all();
  EXPECT_EQ(x.core().stored().state, study_phase::paused);
  EXPECT_EQ(x.core().stored().reason,
            "its first 3 trials failed alike: NameError: x; mend the cause, "
            "then retry and resume it, or give the study anew if its code has "
            "changed (on_error: continue goes on)");
  EXPECT_EQ(x.paused_, std::vector{true});
  x.expect_replayed();
  // Resumed, it fails as often as it likes.
  x.command(verb::resume);
  x.commit_all();
  EXPECT_EQ(x.core().stored().reason, "");
  for (const std::size_t i : {3, 4, 5})
    x.fail_one(first[i], {errc::training_failed, "NameError: x"});
  x.commit_all();
  EXPECT_EQ(x.core().stored().state, study_phase::failed);
  EXPECT_EQ(x.paused_, (std::vector{true, false}));
  x.expect_replayed();
}

TEST(StudyCore, FirstTrialsThatAllFailAlikeEndItWhereNobodyWouldMendIt) {
  world x{options_of("algorithm: grid\non_error: end\n")};
  const auto first = x.waiting();
  ASSERT_EQ(first.size(), 6u);
  for (const std::size_t i : {0, 1, 2}) {
    EXPECT_EQ(x.core().stored().state, study_phase::running);
    x.fail_one(first[i], {errc::training_failed, "NameError: x\nline 3"});
    x.commit_all();
  }
  EXPECT_EQ(x.core().stored().state, study_phase::failed);
  EXPECT_EQ(x.core().stored().reason,
            "its first 3 trials failed alike: NameError: x");
  EXPECT_EQ(x.core().trials()[first[2]].state, trial_state::failed);
  EXPECT_EQ(x.core().trials()[first[3]].state, trial_state::cancelled);
  EXPECT_TRUE(x.waiting().empty());
  x.expect_replayed();
}

TEST(StudyCore, AMetricThatTheFirstMeasurementLacksEndsIt) {
  for (const std::string more : {"", "on_error: continue\n"}) {
    world x{options_of("algorithm: grid\n" + more)};
    const auto first = x.waiting();
    x.measure_one(first[0], {{"acuracy", 0.5}, {"loss", 1.0}});
    x.commit_all();
    EXPECT_EQ(x.core().stored().state, study_phase::failed);
    EXPECT_EQ(x.core().stored().reason,
              "the workload does not measure 'accuracy', did you mean "
              "'acuracy'?; it measures acuracy, loss");
    EXPECT_EQ(x.core().trials()[first[0]].state, trial_state::failed);
    EXPECT_EQ(x.core().trials()[first[1]].state, trial_state::cancelled);
    EXPECT_TRUE(x.waiting().empty());
    x.expect_replayed();
  }
}

TEST(StudyCore, AMetricThatALaterMeasurementLacksFailsTheTrial) {
  world x{options_of("algorithm: grid\n")};
  const auto first = x.waiting();
  x.train_one(first[0]);
  x.measure_one(first[1], {{"loss", 1.0}});
  x.commit_all();
  EXPECT_EQ(x.core().stored().state, study_phase::running);
  EXPECT_EQ(x.core().trials()[first[1]].failure,
            "at step 1: the workload does not measure 'accuracy'; it measures "
            "loss");
  x.expect_replayed();
}

TEST(StudyCore, CodeThatCountsItsStepsSaysItselfWhereItFailed) {
  world x{options_of("algorithm: grid\n")};
  const auto first = x.waiting();
  x.fail_one(first[0], {errc::training_failed, "in step 3: ValueError: x"});
  x.fail_one(first[1], {errc::training_failed, "before step 0: KeyError: y"});
  x.fail_one(first[2], {errc::training_failed, "out of memory"});
  x.commit_all();
  EXPECT_EQ(x.core().trials()[first[0]].failure, "in step 3: ValueError: x");
  EXPECT_EQ(x.core().trials()[first[1]].failure, "before step 0: KeyError: y");
  EXPECT_EQ(x.core().trials()[first[2]].failure, "at step 1: out of memory");
}

TEST(StudyCore, OtherFailuresDoNotPauseIt) {
  const auto run = [](const std::string& more, auto fail) {
    world x{options_of(more)};
    const auto first = x.waiting();
    fail(x, first);
    for (const auto no : x.waiting())
      x.fail_one(no);
    x.commit_all();
    EXPECT_NE(x.core().stored().state, study_phase::paused);
    x.expect_replayed();
  };
  const auto nothing = [](world&, const std::vector<trial_no>&) {};
  run("algorithm: grid\non_error: continue\n", nothing);
  // Something can be trained.
  run("algorithm: grid\n", [](world& x, const auto& first) {
    x.train_one(first[5]);
    x.commit_all();
  });
  // They fail in other ways.
  run("algorithm: grid\n", [](world& x, const auto& first) {
    x.fail_one(first[0], {errc::training_failed, "other"});
  });
  // Values may be bad.
  run("algorithm: grid\n", [](world& x, const auto& first) {
    for (const std::size_t i : {0, 1, 2})
      x.fail_one(first[i], {errc::diverged, "broken"});
  });
}

TEST(StudyCore, ASpentBudgetOfTimeEndsIt) {
  world x{options_of("algorithm: grid\nbudget: {seconds: 3}\n")};
  ASSERT_TRUE(x.wake_);
  x.pass(2s);
  x.tell(study_core_event::time_passed{});
  x.commit_all();
  EXPECT_FALSE(x.end_);
  x.pass(1s);
  x.tell(study_core_event::time_passed{});
  x.commit_all();
  ASSERT_TRUE(x.end_);
  EXPECT_EQ(x.end_->state, study_phase::complete);
  EXPECT_EQ(x.core().stored().reason, "its time, 3 s, is spent");
  EXPECT_TRUE(x.waiting().empty());
  x.expect_replayed();
}

TEST(StudyCore, ADeadlineEndsItAlsoWhileItIsPaused) {
  auto options = options_of("algorithm: grid\nbudget: {deadline: 5s, "
                            "seconds: 60}\n");
  options.deadline_left = 3; // it has been there for 2 s
  world x{options};
  ASSERT_TRUE(x.wake_);
  EXPECT_EQ(*x.wake_, x.now_ + 3s) << "it comes before the time is spent";
  x.command(verb::pause);
  x.commit_all();
  x.pass(2s);
  x.tell(study_core_event::time_passed{});
  x.commit_all();
  EXPECT_FALSE(x.end_);
  EXPECT_EQ(*x.wake_, x.now_ + 1s);
  EXPECT_EQ(x.core().status(x.now_).view.deadline_seconds_left, 1);
  x.pass(1s);
  x.tell(study_core_event::time_passed{});
  x.commit_all();
  ASSERT_TRUE(x.end_);
  EXPECT_EQ(x.end_->state, study_phase::complete);
  EXPECT_EQ(x.core().stored().reason,
            "its deadline, 5s after it was submitted, has come");
  x.expect_replayed();
}

TEST(StudyCore, ADeadlineThatIsOverEndsItAtOnce) {
  auto options = options_of("algorithm: grid\nbudget: {deadline: "
                            "2030-01-31T18:00Z}\n");
  options.deadline_left = -7;
  world x{options};
  ASSERT_TRUE(x.wake_);
  EXPECT_EQ(*x.wake_, x.now_);
  x.tell(study_core_event::time_passed{});
  x.commit_all();
  ASSERT_TRUE(x.end_);
  EXPECT_EQ(x.core().stored().reason,
            "its deadline, 2030-01-31T18:00Z, has come");
}

TEST(StudyCore, ADeadlineIsLaterOrOverByItsAge) {
  const study_deadline span{10, 0, "10s"};
  EXPECT_EQ(seconds_until(span, 0, 500), 10);
  EXPECT_EQ(seconds_until(span, 12, 500), -2);
  const study_deadline time{{}, 520, "then"};
  EXPECT_EQ(seconds_until(time, 12, 500), 20);
  EXPECT_EQ(seconds_until({{}, 9e18, "never"}, 0, 0), 1e9);
}

TEST(StudyCore, ASpentBudgetOfStepsEndsItAndCommonStepsCountOnce) {
  world x{options_of("algorithm: grid\nbudget: {steps: 6}\n")};
  x.commit_all();
  const auto train = [&](trial_no no, step_t steps) {
    for (step_t i = 0; i < steps; ++i) {
      EXPECT_FALSE(x.end_);
      x.train_one(no);
      x.commit_all();
    }
  };
  train(0, 4);
  train(4, 4); // the same as trial 0 up to step 4
  train(1, 1);
  train(4, 1);
  ASSERT_TRUE(x.end_);
  EXPECT_EQ(x.end_->state, study_phase::complete);
  EXPECT_EQ(x.core().stored().reason, "its budget.steps, 6, is spent");
  EXPECT_EQ(x.core().trials()[0].state, trial_state::cancelled);
  x.expect_replayed();
  const auto token = x.command(verb::extend, 0, 0, R"({"steps": 20})");
  x.commit_all();
  EXPECT_EQ(x.refusal(token),
            "study s: its budget.steps is spent: extend it as "
            "well (budget_steps)");
}

TEST(StudyCore, ABudgetOfStepsHasThoseOfEachSeed) {
  world x{options_of("algorithm: grid\nbudget: {steps: 6}\nrepeats: 3\n")};
  x.commit_all();
  x.train_one(0);
  x.commit_all();
  EXPECT_FALSE(x.end_);
  x.train_one(1);
  x.commit_all();
  EXPECT_TRUE(x.end_);
}

TEST(StudyCore, ASpentBudgetOfCostEndsIt) {
  auto options = options_of("algorithm: grid\nbudget: {cost: 12.5}\n");
  options.stored.cost = 10;
  world x{options};
  EXPECT_EQ(x.core().registration().cost, 2.5);
  EXPECT_FALSE(x.core().registration().device_seconds);
  x.tell(study_core_event::spent{study_limit::cost});
  x.commit_all();
  ASSERT_TRUE(x.end_);
  EXPECT_EQ(x.end_->state, study_phase::complete);
  EXPECT_EQ(x.core().stored().reason, "its budget.cost, 12.5, is spent");
  options.stored.cost = 20;
  EXPECT_EQ(world{options}.core().registration().cost, 0);
}

TEST(StudyCore, WhatAClientGivesDecidesWhatIsMadeOfIt) {
  world x{options_of(client_study,
                     "  lr: {uniform: [0.1, 1]}\n"
                     "  weight_decay: {product: [lr, 0.1]}\n")};
  x.command(verb::ask, 0, 0, R"({"lr": 0.5})");
  x.commit_all();
  EXPECT_EQ(x.core().record().trials.at(0).params.dump(),
            R"({"lr":0.5,"weight_decay":0.05})");
  x.command(verb::ask, 0, 0, R"({"lr": 0.5, "weight_decay": 0})");
  x.commit_all();
  EXPECT_EQ(x.core().record().trials.at(1).params["weight_decay"], 0);
  x.expect_replayed();
}

// As Katib's experiments do.
TEST(StudyCore, AsManyFailedTrialsAsMayEndItAsFailed) {
  world x{options_of("algorithm: grid\nbudget: {failed: 2}\non_error: "
                     "continue\n")};
  x.train_one(1);
  x.fail_one(0);
  x.commit_all();
  EXPECT_FALSE(x.end_);
  x.expect_replayed();
  // One that is tried again has not failed.
  x.command(verb::retry, 0, 0, R"({"trials": [0]})");
  x.commit_all();
  x.fail_one(1);
  x.commit_all();
  ASSERT_FALSE(x.end_);
  x.fail_one(2);
  x.commit_all();
  ASSERT_TRUE(x.end_);
  EXPECT_EQ(x.end_->state, study_phase::failed);
  EXPECT_EQ(x.core().stored().reason,
            "as many trials have failed as may (budget.failed, 2)");
  EXPECT_EQ(x.core().trials()[0].state, trial_state::cancelled);
  EXPECT_TRUE(x.waiting().empty());
  x.expect_replayed();
}

TEST(StudyCore, TrialsOfAClientThatFailCountToo) {
  world x{options_of("algorithm: client\nbudget: {trials: 3, failed: 1}\n")};
  x.command(verb::ask);
  x.commit_all();
  x.command(verb::tell, 0, 0, R"({"state": "FAILED"})");
  x.commit_all();
  ASSERT_TRUE(x.end_);
  EXPECT_EQ(x.end_->state, study_phase::failed);
  x.expect_replayed();
}

TEST(StudyCore, ASpentBudgetOfDeviceTimeEndsItOnce) {
  world x{options_of("algorithm: grid\nbudget: {device_hours: 0.5}\n")};
  EXPECT_EQ(x.core().registration().device_seconds, 1800);
  x.train_one(x.waiting().front());
  x.commit_all();
  x.tell(study_core_event::spent{study_limit::device_time});
  x.commit_all();
  ASSERT_TRUE(x.end_);
  EXPECT_EQ(x.end_->state, study_phase::complete);
  EXPECT_EQ(x.core().stored().reason, "its device time, 0.5 h, is spent");
  x.expect_replayed();
  x.tell(study_core_event::spent{study_limit::device_time});
  EXPECT_TRUE(x.journal_.empty());
}

TEST(StudyCore, DeviceTimeOfEarlierRunsCounts) {
  auto options = options_of("algorithm: grid\nbudget: {device_hours: 1}\n");
  options.stored.device_seconds = 3000;
  EXPECT_EQ(world{options}.core().registration().device_seconds, 600);
  options.stored.device_seconds = 5000;
  EXPECT_EQ(world{options}.core().registration().device_seconds, 0);
  EXPECT_FALSE(world{options_of("algorithm: grid\n")}
                 .core()
                 .registration()
                 .device_seconds);
}

/// Returns the first trial that waits, if need be after an offer of capacity.
std::optional<trial_no> next_of(world& x) {
  if (x.waiting().empty() && !x.end_) {
    x.tell(study_core_event::capacity_offered{1});
    x.commit_all();
  }
  if (x.waiting().empty())
    return std::nullopt;
  return x.waiting().front();
}

/// Trains what waits, in its order, until the study ends.
/// @returns the best value, and how many steps were measured
std::pair<double, std::size_t> run_to_its_end(world& x) {
  std::size_t steps = 0;
  while (const auto next = next_of(x)) {
    x.train_one(*next);
    x.commit_all();
    ++steps;
  }
  return {x.core().trials().best()->value, steps};
}

const char* const every_algorithm[]
  = {"grid",
     "random",
     "{tpe: {startup: 2}}",
     "{gp: {startup: 2}}",
     "{sha: {eta: 2}}",
     "{asha: {eta: 2}}",
     "{asha: {eta: 2, mode: stopping}}",
     "{hyperband: {eta: 2}}",
     "{bohb: {eta: 2}}",
     "{boss: {eta: 2}}",
     "{dehb: {eta: 2}}",
     "median",
     "{pbt: {population: 4, interval: 3}}"};

TEST(StudyCore, AValueThatIsReachedEndsIt) {
  for (const std::string algorithm : every_algorithm) {
    SCOPED_TRACE(algorithm);
    const auto more = "algorithm: " + algorithm + "\nbudget: {trials: 6}\n";
    world all{options_of(more)};
    const auto [best, steps] = run_to_its_end(all);
    ASSERT_TRUE(all.end_);
    // One that is never reached changes nothing.
    world never{options_of(more + "stop_when: {value: 1}\n")};
    EXPECT_EQ(run_to_its_end(never), std::pair(best, steps));
    EXPECT_EQ(never.core().stored().reason, "");
    world x{options_of(more + "stop_when: {value: " + to_text(best) + "}\n")};
    EXPECT_EQ(run_to_its_end(x).first, best);
    ASSERT_TRUE(x.end_);
    EXPECT_EQ(x.end_->state, study_phase::complete);
    EXPECT_TRUE(x.waiting().empty());
    x.expect_replayed();
  }
}

TEST(StudyCore, AValueThatIsReachedSaysByWhichTrial) {
  world x{options_of("algorithm: grid\nstop_when: {value: 0.5}\n")};
  run_to_its_end(x);
  const auto best = *x.core().trials().best();
  EXPECT_EQ(x.core().stored().reason,
            "stop_when.value, 0.5, is reached: accuracy " + to_text(best.value)
              + " (trial " + std::to_string(best.trial) + ", step "
              + std::to_string(best.at) + ")");
  EXPECT_EQ(x.core().record().trials.back().failure,
            x.core().stored().reason);
}

TEST(StudyCore, AValueToMinimizeIsReachedFromAbove) {
  auto options = options_of("algorithm: grid\nstop_when: {value: 0.1}\n");
  options.spec.objective.direction = direction::minimize;
  world x{options};
  const auto [best, steps] = run_to_its_end(x);
  EXPECT_LE(best, 0.1);
  EXPECT_NE(x.core().stored().reason, "");
}

TEST(StudyCore, NoGainForSoManyTrialsEndsIt) {
  for (const std::string algorithm : every_algorithm) {
    SCOPED_TRACE(algorithm);
    world x{options_of("algorithm: " + algorithm
                       + "\nbudget: {trials: 6}\nstop_when: {no_gain: 1}\n")};
    // The model: steps that were measured since the best got better.
    std::uint64_t without_gain = 0;
    const auto whole = x.core().registration().when.rungs.back();
    bool ended = false;
    while (const auto next = next_of(x)) {
      ASSERT_FALSE(ended);
      const auto no = *next;
      const auto before = x.core().trials().best();
      const auto at = x.core().trials()[no].acked;
      x.train_one(no);
      x.commit_all();
      const auto now = x.core().trials().best();
      without_gain += x.core().trials()[no].acked - at;
      if (!before || now->value != before->value)
        without_gain = 0;
      ended = without_gain >= whole;
    }
    ASSERT_TRUE(x.end_);
    EXPECT_EQ(ended, !x.core().stored().reason.empty());
    EXPECT_EQ(x.end_->state, study_phase::complete);
    x.expect_replayed();
  }
}

TEST(StudyCore, ATrialThatBreaksConstraintsIsShownWithItsValue) {
  auto options = options_of("algorithm: grid\n");
  options.spec.objective.constraints = {{"accuracy", false, 1e9}};
  world x{options};
  while (const auto next = next_of(x)) {
    x.train_one(*next);
    x.commit_all();
  }
  EXPECT_FALSE(x.core().trials().best());
  EXPECT_EQ(x.shown_.size(), x.core().trials().size());
  for (const auto& shown : x.shown_) {
    EXPECT_EQ(shown.state, trial_state::complete);
    EXPECT_EQ(
      shown.value,
      x.core().trials().last_result(shown.trial)->values.at("accuracy"));
    EXPECT_EQ(shown.violated, "accuracy >= 1000000000");
    EXPECT_FALSE(shown.best);
  }
}

study_options options_of_two(const std::string& more) {
  auto result = options_of(more);
  result.spec.objective.further = {{"ms", direction::minimize}};
  result.spec.objective.constraints = {{"ms", true, 20}};
  return result;
}

TEST(StudyCore, OfSeveralMetricsItsFrontIsStored) {
  for (const std::string algorithm : {"grid", "sha", "{asha: {sampler: tpe}}",
                                      "nsga2"}) {
    SCOPED_TRACE(algorithm);
    world x{options_of_two("algorithm: " + algorithm
                           + "\nbudget: {trials: 6}\n")};
    while (const auto next = next_of(x)) {
      x.train_one(*next);
      x.commit_all();
    }
    ASSERT_TRUE(x.end_);
    const auto told = front_from_json(x.front_);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->wanted, x.core().trials().wanted());
    EXPECT_TRUE(told->front.hypervolume);
    // By the definition, of all that was measured.
    std::map<std::pair<trial_no, step_t>, metrics> all;
    for (const auto& trial : x.core().record().trials)
      for (const auto& y : trial.results)
        all[{trial.id, y.step}] = y.values;
    std::set<std::pair<trial_no, step_t>> expected, found;
    for (const auto& [place, values] : all) {
      const auto own = outcome_of(values, told->wanted);
      bool is_in = own.is_feasible();
      for (const auto& [other, theirs] : all) {
        const auto worth = outcome_of(theirs, told->wanted);
        is_in = is_in && !dominates(worth, own)
                && !(worth.values == own.values && other < place);
      }
      if (is_in)
        expected.insert(place);
    }
    for (const auto& point : told->front.points)
      found.insert({point.trial, point.step});
    EXPECT_EQ(found, expected);
    EXPECT_FALSE(x.core().record().best);
    x.expect_replayed();
  }
}

TEST(StudyCore, AFrontThatDoesNotChangeEndsIt) {
  auto options = options_of_two("algorithm: grid\nbudget: {trials: 6}\n"
                                "stop_when: {no_gain: 1}\n");
  options.spec.objective.constraints[0].limit = 0; // which few of them keep
  world x{options};
  std::uint64_t without_gain = 0;
  bool ended = false;
  while (const auto next = next_of(x)) {
    ASSERT_FALSE(ended);
    const auto before = x.core().trials().front().points();
    const auto at = x.core().trials()[*next].acked;
    x.train_one(*next);
    x.commit_all();
    without_gain += x.core().trials()[*next].acked - at;
    if (x.core().trials().front().points() != before)
      without_gain = 0;
    ended = without_gain >= 12 && !x.core().trials().front().points().empty();
  }
  ASSERT_TRUE(ended); // or there is nothing to see
  EXPECT_EQ(x.core().stored().reason.substr(0, 12), "its front of");
}

// What is lost if the service is killed is little of its time.
TEST(StudyCore, TheTimeForWhichItWasActiveIsStoredNowAndThen) {
  world x{options_of("algorithm: grid\nbudget: {seconds: 100}\n")};
  x.pass(9s);
  x.train_one(x.waiting().front());
  x.commit_all();
  EXPECT_EQ(x.stored_options().stored.active_seconds, 0);
  x.pass(2s);
  x.train_one(x.waiting().front());
  x.commit_all();
  EXPECT_EQ(x.stored_options().stored.active_seconds, 11);
}

TEST(StudyCore, ItsEndIsAnnouncedOnceAndAfterItIsStored) {
  world x{options_of("algorithm: grid\n")};
  while (!x.waiting().empty()) {
    x.train_one(x.waiting().front());
    x.commit_one();
  }
  EXPECT_FALSE(x.end_);
  x.commit_all();
  ASSERT_TRUE(x.end_);
  EXPECT_EQ(x.end_->state, study_phase::complete);
  x.end_.reset();
  x.tell(study_core_event::quiesced{});
  x.commit_all();
  EXPECT_FALSE(x.end_);
}

// -- trying again -------------------------------------------------------------

TEST(StudyCore, WhatHasFailedIsTriedAgainAndTheStudyGoesOn) {
  world x{options_of("algorithm: grid\non_error: continue\n")};
  const auto all = x.waiting();
  for (const auto no : all)
    x.fail_one(no, {errc::training_failed, "no such file"});
  x.commit_all();
  ASSERT_EQ(x.core().stored().state, study_phase::failed);
  ASSERT_TRUE(x.end_);
  x.end_.reset();
  const auto token = x.command(verb::retry, 0, 0, R"({"trials": [2, 3]})");
  x.commit_all();
  const auto told = x.answer(token);
  ASSERT_TRUE(told);
  EXPECT_EQ(std::get<command_answer>(told->what).retried, 2u);
  EXPECT_EQ(x.core().stored().state, study_phase::running);
  EXPECT_EQ(x.waiting(), (std::vector<trial_no>{2, 3}));
  x.expect_replayed();
  for (const trial_no no : {2, 3}) {
    while (!has_ended(x.core().trials()[no].state)) {
      x.train_one(no);
      x.commit_all();
    }
    EXPECT_EQ(x.core().trials()[no].state, trial_state::complete);
    EXPECT_EQ(x.core().trials()[no].failure, "");
  }
  // The others have failed, but not all: it is complete, and says so again.
  EXPECT_EQ(x.core().stored().state, study_phase::complete);
  ASSERT_TRUE(x.end_);
  EXPECT_EQ(x.end_->state, study_phase::complete);
  EXPECT_TRUE(x.core().trials().best());
  x.expect_replayed();
}

TEST(StudyCore, WhatDoesNotPassIsTriedAgainOnlyIfThatIsSaid) {
  world x{options_of("algorithm: grid\non_error: continue\n")};
  const auto all = x.waiting();
  x.fail_one(all[0], {errc::diverged, "loss is nan"});
  x.fail_one(all[1], {errc::fails_everywhere, "ValueError"});
  x.fail_one(all[2], {errc::training_failed, "no such file"});
  x.commit_all();
  const auto lasting = x.command(verb::retry, 0, 0, R"({"trials": [0]})");
  EXPECT_NE(x.refusal(lasting).find("does not pass (--all tries it all the "
                                    "same): at step 1: loss is nan"),
            std::string::npos);
  const auto whole = x.command(verb::retry);
  x.commit_all();
  EXPECT_EQ(std::get<command_answer>(x.answer(whole)->what).retried, 1u);
  EXPECT_NE(x.refusal(x.command(verb::retry))
              .find("the 2 trials of study s that have failed did so for "
                    "reasons that do not pass"),
            std::string::npos);
  const auto every = x.command(verb::retry, 0, 0, R"({"all": true})");
  x.commit_all();
  EXPECT_EQ(std::get<command_answer>(x.answer(every)->what).retried, 2u);
  x.expect_replayed();
}

TEST(StudyCore, WhatCannotBeRetriedIsRefusedAndSaysWhy) {
  world x{options_of(client_study)};
  x.command(verb::ask);
  x.commit_all();
  EXPECT_EQ(x.refusal(x.command(verb::retry)),
            "no trial of study s has failed");
  const auto refused = [&x](const char* which) {
    return x.refusal(x.command(verb::retry, 0, 0, which));
  };
  EXPECT_EQ(refused(R"({"trials": [7]})"), "study s has no trial 7");
  EXPECT_NE(refused(R"({"trials": [0]})").find("has not failed: it is"),
            std::string::npos);
  EXPECT_NE(refused(R"({"trials": "all"})"), "");
  x.command(verb::tell, 0, 0, R"({"state": "FAILED"})");
  x.commit_all();
  EXPECT_EQ(refused(R"({"trials": [0], "all": true})"),
            "trial 0 of study s has failed, but not in training: a client "
            "said so");
  x.command(verb::cancel, 0, 0, "enough");
  x.commit_all();
  EXPECT_NE(refused("").find("was ended before it was done (CANCELLED: "
                             "enough): submit it again"),
            std::string::npos);
  const auto records = x.records_;
  x.commit_all();
  EXPECT_EQ(x.records_, records);
}

/// One that the service gave up by a fault of its own has failed by no decision
/// of its own: it goes on.
TEST(StudyCore, WhatTheServiceGaveUpGoesOnWhenItIsRetried) {
  world x{given_up(options_of("algorithm: grid\n"))};
  x.commit_all();
  const auto token = x.command(verb::retry);
  x.commit_all();
  EXPECT_EQ(x.refusal(token), "");
  EXPECT_EQ(x.core().stored().state, study_phase::running);
  EXPECT_EQ(x.waiting().size(), 6u);
}

/// A study that had ended says so when it starts, and once more if it has gone
/// on since.
TEST(StudyCore, AStudyThatGoesOnSaysThatItEndsOnceMore) {
  world x{options_of("algorithm: grid\n")};
  for (const auto no : x.waiting())
    x.fail_one(no, {errc::diverged, "nan"});
  x.commit_all();
  ASSERT_TRUE(x.end_);
  auto options = options_of("algorithm: grid\n");
  options.history = x.history_;
  options.stored = x.core().stored();
  world again{options};
  again.commit_all();
  ASSERT_TRUE(again.end_);
  again.end_.reset();
  EXPECT_NE(again.refusal(again.command(verb::retry)), "");
  again.commit_all();
  EXPECT_FALSE(again.end_);
  again.command(verb::retry, 0, 0, R"({"all": true})");
  again.commit_all();
  for (const auto no : again.waiting())
    again.fail_one(no, {errc::diverged, "nan"});
  again.commit_all();
  ASSERT_TRUE(again.end_);
}

// -- choices ------------------------------------------------------------------

constexpr auto learned_study =
  "  weight_decay: {uniform: [0, 1]}\n"
  "algorithm: {gp: {startup: 2, max_concurrent: 1}}\nbudget: {trials: 6}\n";

/// Trains until that many trials are complete.
void run_until(world& x, std::uint64_t finished) {
  while (x.core().trials().finished() < finished) {
    ASSERT_FALSE(x.waiting().empty());
    x.train_one(x.waiting().front());
    x.commit_all();
  }
}

std::vector<trial_chosen> choices_in(const std::vector<stored_event>& history) {
  std::vector<trial_chosen> result;
  for (const auto& x : history)
    if (const auto* y = std::get_if<trial_chosen>(&x.what))
      result.push_back(*y);
  return result;
}

TEST(StudyCore, ChoicesAreStoredOnceWithWhatFollowsThem) {
  world x{options_of(learned_study)};
  x.commit_all();
  ASSERT_EQ(choices_in(x.history_).size(), 1u);
  run_until(x, 6);
  const auto choices = choices_in(x.history_);
  ASSERT_EQ(choices.size(), 6u);
  for (trial_no no = 0; no < 6; ++no) {
    EXPECT_EQ(choices[no].trial, no);
    EXPECT_EQ(choices[no].what.why.how, no < 2 ? "startup" : "model");
    EXPECT_EQ(choices[no].what.why.predicted.has_value(), no >= 2);
    EXPECT_TRUE(choices[no].what.why.untrained);
    EXPECT_EQ(x.core().record().trials[no].why, choices[no].what.why);
  }
}

TEST(StudyCore, WhatAChoiceAsksForIsNotSentBeforeItIsGivenToTheJournal) {
  study_core core{with_search(options_of(learned_study)), {}};
  core.catch_up();
  bool is_stored = false;
  for (const auto& x : core.apply(study_core_event::registered{}, {})) {
    if (const auto* y = std::get_if<study_effect::commit>(&x))
      for (const auto& record : y->records)
        if (const auto* event = std::get_if<event_added>(&record))
          is_stored = is_stored
                      || std::holds_alternative<trial_chosen>(event->what);
    if (std::holds_alternative<study_effect::send_orders>(x)) {
      EXPECT_TRUE(is_stored);
      return;
    }
  }
  FAIL() << "nothing was sent";
}

/// What all trials of a study got and measured.
nlohmann::ordered_json story_of(const study_core& x) {
  auto result = nlohmann::ordered_json::array();
  for (const auto& trial : x.record().trials) {
    result.push_back(trial.params);
    for (const auto& each : trial.results)
      result.push_back({each.step, each.values});
  }
  return result;
}

TEST(StudyCore, KilledAndResumedItGoesOnAsIfItHadNotBeen) {
  for (const auto* algorithm :
       {"{gp: {startup: 2, max_concurrent: 1}}",
        "{asha: {sampler: gp, startup: 2, max_concurrent: 2, min: 3}}",
        "{tpe: {startup: 2, max_concurrent: 2}}"}) {
    const auto text = "  weight_decay: {uniform: [0, 1]}\nalgorithm: "
                      + std::string{algorithm} + "\nbudget: {trials: 8}\n";
    world whole{options_of(text)};
    whole.commit_all();
    std::vector<trial_no> order;
    while (!whole.waiting().empty()) {
      order.push_back(whole.waiting().front());
      whole.train_one(order.back());
      whole.commit_all();
    }
    ASSERT_TRUE(whole.end_);
    for (std::size_t killed = 0; killed < order.size(); killed += 5) {
      world first{options_of(text)};
      first.commit_all();
      for (std::size_t i = 0; i < killed; ++i) {
        first.train_one(order[i]);
        first.commit_all();
      }
      const auto known = choices_in(first.history_).size();
      world second{first.stored_options()};
      second.commit_all();
      // What was stored is not stored again.
      EXPECT_TRUE(choices_in(second.history_).empty()) << known;
      for (auto i = killed; i < order.size(); ++i) {
        second.train_one(order[i]);
        second.commit_all();
      }
      EXPECT_EQ(story_of(second.core()), story_of(whole.core())) << killed;
    }
  }
}

TEST(StudyCore, AChoiceThatIsStoredWinsOverComputation) {
  world x{options_of(learned_study)};
  x.commit_all();
  run_until(x, 3);
  // Another machine has chosen otherwise: nobody would get this here.
  auto options = x.stored_options();
  for (auto& event : options.history)
    if (auto* y = std::get_if<trial_chosen>(&event.what); y && y->trial == 3)
      y->what = {{"model", 0.75, 5}, {0, 1, space_leaf::high_end / 2}};
  study_core again{options, x.now_};
  again.catch_up();
  const auto trial = again.record().trials.at(3);
  EXPECT_EQ(trial.params["weight_decay"], 0.5);
  EXPECT_EQ(trial.params["momentum"], 0.9);
  EXPECT_EQ(trial.why.predicted, 0.75);
  EXPECT_NE(x.core().record().trials.at(3).params, trial.params);
}

TEST(StudyCore, AStudyOfBeforeChoosesAgainAndStoresThat) {
  world x{options_of(learned_study)};
  x.commit_all();
  run_until(x, 4);
  auto options = x.stored_options();
  std::erase_if(options.history, [](const stored_event& y) {
    return std::holds_alternative<trial_chosen>(y.what);
  });
  world again{options};
  again.commit_all();
  EXPECT_EQ(story_of(again.core()), story_of(x.core()));
  EXPECT_EQ(choices_in(again.history_).size(), choices_in(x.history_).size());
}

class StudyCoreSeeds : public testing::TestWithParam<std::uint64_t> {};

/// At any moment a study that is restored from what is stored is where the one
/// is that has received just that.
TEST_P(StudyCoreSeeds, ReplayIsAsLive) {
  static const char* const algorithms[]{
    "algorithm: {sha: {eta: 2, min: 2}}\nbudget: {trials: 6}\n",
    "algorithm: {asha: {eta: 2, min: 2, max_concurrent: 3}}\n"
    "budget: {trials: 6}\n",
    "algorithm: {median: {warmup: 2}}\nbudget: {trials: 6}\n",
    "algorithm: {asha: {eta: 2, min: 2, sampler: gp, startup: 2}}\n"
    "budget: {trials: 6}\n",
    "algorithm: {client: {sampler: gp, startup: 1}}\nbudget: {trials: 3}\n",
    "algorithm: grid\n",
    "algorithm: grid\nbudget: {failed: 2}\n",
    "algorithm: {pbt: {interval: 4}}\nbudget: {trials: 4, failed: 3}\n",
    client_study};
  std::mt19937_64 random{GetParam()};
  const auto chance = [&](std::uint64_t percent) {
    return random() % 100 < percent;
  };
  world x{options_of(algorithms[GetParam() % std::size(algorithms)])};
  for (int i = 0; i < 200 && !x.end_; ++i) {
    if (const auto all = x.waiting(); !all.empty() && chance(60)) {
      const auto no = all[random() % all.size()];
      if (chance(5))
        x.fail_one(no);
      else
        x.train_one(no);
    }
    if (chance(20)) {
      const auto verbs
        = std::vector{verb::ask,    verb::train, verb::tell, verb::pause,
                      verb::resume, verb::weight};
      const auto what = verbs[random() % verbs.size()];
      x.command(what, random() % 3, 12,
                what == verb::tell     ? R"({"state": "PRUNED"})"
                : what == verb::weight ? "2"
                                       : "");
    }
    if (chance(1))
      x.command(chance(50) ? verb::stop : verb::close);
    if (chance(10))
      x.tell(study_core_event::filled{chance(50) ? "full" : ""});
    if (x.core().stored().state == study_phase::stopping && chance(30))
      x.tell(study_core_event::quiesced{});
    x.pass(100ms);
    if (chance(50))
      x.commit_one();
    if (chance(10)) {
      x.commit_all();
      x.expect_replayed();
    }
  }
}

/// Whatever fails and is tried again at whatever moment, of a study of whatever
/// algorithm: once nothing fails any more, nothing has failed; and what is
/// restored is where it was.
TEST_P(StudyCoreSeeds, RetriedUntilNothingHasFailed) {
  static const char* const algorithms[]{
    "algorithm: {sha: {eta: 2, min: 2}}\nbudget: {trials: 6}\n",
    "algorithm: {asha: {eta: 2, min: 2, max_concurrent: 3}}\n"
    "budget: {trials: 6}\n",
    "algorithm: {asha: {eta: 2, min: 2, max_concurrent: 3, mode: stopping}}\n"
    "budget: {trials: 6}\n",
    "algorithm: {hyperband: {eta: 2, min: 2}}\nbudget: {trials: 6}\n",
    "algorithm: {dehb: {eta: 2, min: 2, max_concurrent: 3}}\n"
    "budget: {trials: 6}\n",
    "algorithm: {pbt: {interval: 4}}\nbudget: {trials: 4}\n",
    "algorithm: {median: {warmup: 2}}\nbudget: {trials: 6}\n",
    "algorithm: {tpe: {startup: 2}}\nbudget: {trials: 6}\n",
    "algorithm: grid\n"};
  const auto which = GetParam() % std::size(algorithms);
  std::mt19937_64 random{GetParam()};
  const auto chance = [&](std::uint64_t percent) {
    return random() % 100 < percent;
  };
  world x{options_of(std::string{algorithms[which]} + "on_error: continue\n")};
  const auto failing = 5 + random() % 90;
  const auto is_over = [&] {
    const auto& trials = x.core().trials();
    bool failed = false;
    for (trial_no no = 0; no < trials.size(); ++no)
      failed = failed || trials[no].state == trial_state::failed;
    return has_ended(x.core().stored().state) && !failed;
  };
  int i = 0;
  for (; i < 2000 && !(i > 150 && is_over()); ++i) {
    if (const auto all = x.waiting(); !all.empty() && chance(60)) {
      const auto no = all[random() % all.size()];
      if (i < 150 && chance(failing))
        x.fail_one(no);
      else
        x.train_one(no);
    }
    if (chance(10))
      x.command(verb::retry, 0, 0,
                chance(50) ? "" : R"({"trials": [)"
                                    + std::to_string(random() % 6) + "]}");
    if (chance(50))
      x.commit_one();
    if (chance(10)) {
      x.commit_all();
      x.expect_replayed();
    }
  }
  EXPECT_LT(i, 2000);
  EXPECT_EQ(x.core().stored().state, study_phase::complete);
  x.expect_replayed();
}

/// A study whose trials have several lengths.
study_options options_of_lengths(const std::string& more) {
  auto text = test::with_space("  lr: {wsd: {peak: 0.5, decay: 50%}}\n" + more);
  const std::string one = "max_steps: 12";
  text.replace(text.find(one), one.size(),
               "max_steps: {choice: [8, 12, 4]}");
  auto read = test::read(text);
  EXPECT_TRUE(read.study) << test::texts(read.errors).front();
  auto result = options_of(more);
  result.spec = std::move(*read.study);
  return result;
}

TEST(StudyCore, TrialsOfSeveralLengthsEndAtTheirOwn) {
  world x{options_of_lengths("algorithm: grid\n")};
  x.commit_all();
  for (auto all = x.waiting(); !all.empty(); all = x.waiting()) {
    x.train_one(all.back());
    x.commit_all();
    x.expect_replayed();
  }
  EXPECT_EQ(x.core().stored().state, study_phase::complete);
  const auto record = x.core().record();
  ASSERT_EQ(record.trials.size(), 3u);
  std::set<step_t> lengths;
  for (const auto& trial : record.trials) {
    EXPECT_EQ(trial.state, trial_state::complete);
    EXPECT_EQ(trial.params.at("steps.max"), trial.steps);
    lengths.insert(trial.steps);
  }
  EXPECT_EQ(lengths, (std::set<step_t>{4, 8, 12}));
}

TEST(StudyCore, AClientGivesALengthAndIsHeldToIt) {
  world x{options_of_lengths(client_study)};
  EXPECT_NE(x.refusal(x.command(verb::ask, 0, 0, "{lr: 0.1}"))
              .find("'steps.max' is missing"),
            std::string::npos);
  x.command(verb::ask, 0, 0, "{steps.max: 8, lr: 0.1}");
  x.command(verb::ask);
  x.commit_all();
  EXPECT_NE(x.refusal(x.train(0, 12)).find("ends at step 8"),
            std::string::npos);
  x.train(0, 8);
  x.commit_all();
  while (!x.waiting().empty()) {
    x.train_one(0);
    x.commit_all();
  }
  EXPECT_EQ(x.core().trials()[0].state, trial_state::complete);
  EXPECT_EQ(x.core().trials()[1].state, trial_state::pending);
  x.expect_replayed();
}

INSTANTIATE_TEST_SUITE_P(Seeds, StudyCoreSeeds,
                         testing::Range<std::uint64_t>(0, 100));

} // namespace
} // namespace hippo
