#include <algorithm>
#include <iterator>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "hippo/search/option.hpp"
#include "study/study_world.hpp"

// Additions to a study after its submission: a larger budget,
// trials with values of their own, results of other studies.

namespace hippo {
namespace {

using namespace std::chrono_literals;
using verb = study_command::verb;
using test::given_up;
using test::options_of;
using test::world;

/// Trains until the study has ended.
void finish(world& x) {
  x.commit_all();
  for (auto all = x.waiting(); !all.empty(); all = x.waiting()) {
    x.train_one(all.front());
    x.commit_all();
  }
  ASSERT_TRUE(has_ended(x.core().stored().state));
}

/// Gives a command. @returns why it is refused; empty: it is not
std::string refused(world& x, verb what, const std::string& text) {
  const auto token = x.command(what, 0, 0, text);
  x.commit_all();
  return x.refusal(token);
}

void expect_refused(world& x, verb what, const std::string& text,
                    const std::string& why) {
  const auto records = x.records_;
  const auto said = refused(x, what, text);
  EXPECT_NE(said.find(why), std::string::npos) << said;
  EXPECT_EQ(x.records_, records);
}

std::string values_of(world& x, trial_no no) {
  return x.core().record().trials.at(no).params.dump();
}

// -- extend -------------------------------------------------------------------

TEST(Steering, AStudyThatRunsHasMoreTrialsOnceItIsExtended) {
  world x{options_of("algorithm: random\nbudget: {trials: 2}\n")};
  x.commit_all();
  EXPECT_EQ(x.waiting().size(), 2u);
  const auto token = x.command(verb::extend, 0, 0, R"({"trials": 3})");
  x.commit_all();
  const auto told = x.answer(token);
  ASSERT_TRUE(told);
  EXPECT_EQ(std::get<command_answer>(told->what).trials, 5u);
  EXPECT_EQ(x.waiting().size(), 5u);
  x.expect_replayed();
  finish(x);
  std::set<std::string> values;
  for (trial_no no = 0; no < 5; ++no)
    values.insert(values_of(x, no));
  EXPECT_EQ(values.size(), 5u); // without replacement, as one study of five
  world other{options_of("algorithm: random\nbudget: {trials: 5}\n")};
  for (trial_no no = 0; no < 5; ++no)
    EXPECT_EQ(values_of(x, no), values_of(other, no));
}

TEST(Steering, AStudyThatHasEndedGoesOnWhenItIsExtended) {
  world x{options_of("algorithm: random\nbudget: {trials: 2}\n")};
  finish(x);
  ASSERT_TRUE(x.end_);
  x.end_.reset();
  EXPECT_EQ(refused(x, verb::extend, R"({"trials": 1})"), "");
  EXPECT_EQ(x.core().stored().state, study_phase::running);
  EXPECT_EQ(x.waiting(), (std::vector<trial_no>{2}));
  EXPECT_FALSE(x.paused_.back());
  x.expect_replayed();
  finish(x);
  ASSERT_TRUE(x.end_);
  EXPECT_EQ(x.end_->state, study_phase::complete);
  EXPECT_EQ(x.core().trials().finished(), 3u);
  x.expect_replayed();
}

TEST(Steering, TrialsThatABudgetHasEndedGoOnFromTheirLastStates) {
  world x{options_of("algorithm: {asha: {eta: 2, min: 2, max_concurrent: 3}}\n"
                     "budget: {trials: 5, seconds: 60}\n")};
  x.commit_all();
  const auto before = x.waiting();
  ASSERT_EQ(before.size(), 3u);
  x.train_one(before[0]); // which rests on its rung then, or goes on
  x.commit_all();
  x.pass(61s);
  x.tell(study_core_event::time_passed{});
  x.commit_all();
  ASSERT_EQ(x.core().stored().state, study_phase::complete);
  EXPECT_TRUE(x.waiting().empty());
  const auto known = x.core().trials()[before[0]].acked;
  EXPECT_GT(known, 0u);
  expect_refused(x, verb::extend, R"({"trials": 1})",
                 "its budget.seconds is spent: extend it as well (seconds)");
  EXPECT_EQ(refused(x, verb::extend, R"({"seconds": 30})"), "");
  EXPECT_EQ(x.core().stored().state, study_phase::running);
  EXPECT_EQ(x.core().status(x.now_).seconds_max, 90);
  x.expect_replayed();
  for (const auto no : before) {
    EXPECT_FALSE(has_ended(x.core().trials()[no].state));
    EXPECT_EQ(x.core().trials()[no].failure, "");
  }
  EXPECT_EQ(x.core().trials()[before[0]].acked, known);
  finish(x);
  EXPECT_EQ(x.core().trials().size(), 5u);
  EXPECT_EQ(x.core().stored().state, study_phase::complete);
  EXPECT_EQ(x.core().stored().reason, "");
  x.expect_replayed();
}

// The merger sends a measurement once, and may do so while the study ends.
TEST(Steering, AMeasurementThatCameAfterTheEndCountsOnceItGoesOn) {
  for (const auto* algorithm :
       {"random", "{pbt: {interval: 4}}", "{asha: {eta: 2, min: 2}}",
        "{median: {min: 4}}"}) {
    SCOPED_TRACE(algorithm);
    world x{options_of(std::string{"algorithm: "} + algorithm
                       + "\nbudget: {trials: 1, seconds: 60}\n")};
    x.commit_all();
    const auto end = x.core().registration().when.rungs.back();
    const auto& known = x.core().trials()[0];
    x.train_one(0);
    x.commit_all();
    x.pass(61s);
    x.tell(study_core_event::time_passed{});
    x.train_one(0); // before the merger has heard that it ends
    x.commit_all();
    ASSERT_EQ(x.core().stored().state, study_phase::complete);
    EXPECT_EQ(known.state, trial_state::cancelled);
    EXPECT_LT(known.results.back().first, known.acked);
    EXPECT_EQ(refused(x, verb::extend, R"({"seconds": 30})"), "");
    EXPECT_EQ(known.results.back().first, known.acked);
    x.expect_replayed();
    finish(x);
    EXPECT_EQ(known.state, trial_state::complete);
    EXPECT_EQ(known.acked, end);
    x.expect_replayed();
  }
}

TEST(Steering, MeasurementsThatCameAfterTheEndMayEndItAgain) {
  world x{options_of("algorithm: random\nbudget: {trials: 2, steps: 4}\n")};
  x.commit_all();
  while (x.waiting().front() == 0)
    x.train_one(0); // all are on their way when the fourth ends it
  x.commit_all();
  const auto& first = x.core().trials()[0];
  EXPECT_EQ(x.core().stored().reason, "its budget.steps, 4, is spent");
  EXPECT_EQ(first.state, trial_state::cancelled);
  EXPECT_EQ(refused(x, verb::extend, R"({"budget_steps": 1})"), "");
  EXPECT_EQ(x.core().stored().reason, "its budget.steps, 5, is spent");
  EXPECT_EQ(first.state, trial_state::complete);
  x.expect_replayed();
  EXPECT_EQ(refused(x, verb::extend, R"({"budget_steps": 100})"), "");
  finish(x);
  EXPECT_EQ(x.core().stored().reason, "");
  x.expect_replayed();
}

TEST(Steering, TimeThatWasExtendedIsSpentInTheEnd) {
  world x{options_of("algorithm: random\nbudget: {seconds: 60}\n")};
  x.commit_all();
  x.pass(50s);
  EXPECT_EQ(refused(x, verb::extend, R"({"seconds": 60})"), "");
  x.pass(20s);
  x.tell(study_core_event::time_passed{});
  x.commit_all();
  EXPECT_EQ(x.core().stored().state, study_phase::running);
  ASSERT_TRUE(x.wake_);
  EXPECT_EQ(*x.wake_, x.now_ + 50s);
  x.pass(50s);
  x.tell(study_core_event::time_passed{});
  x.commit_all();
  EXPECT_EQ(x.core().stored().reason, "its time, 120 s, is spent");
  x.expect_replayed();
}

TEST(Steering, ADeadlineComesLater) {
  auto options = options_of("algorithm: random\nbudget: {trials: 3}\n");
  options.spec.budget.deadline = study_deadline{60, 0, "1m"};
  options.deadline_left = 60;
  world x{options};
  x.commit_all();
  EXPECT_EQ(refused(x, verb::extend, R"({"deadline_seconds": 40})"), "");
  x.pass(70s);
  x.tell(study_core_event::time_passed{});
  x.commit_all();
  EXPECT_EQ(x.core().stored().state, study_phase::running);
  x.pass(30s);
  x.tell(study_core_event::time_passed{});
  x.commit_all();
  EXPECT_EQ(x.core().stored().reason,
            "its deadline, 1m and 40 s more after it was submitted, has come");
  x.pass(10s);
  expect_refused(x, verb::extend, R"({"deadline_seconds": 10})",
                 "its deadline was 10 s ago: extend it by more than that");
  EXPECT_EQ(refused(x, verb::extend, R"({"deadline_seconds": 11})"), "");
  EXPECT_EQ(x.core().stored().state, study_phase::running);
}

TEST(Steering, WhatCannotBeExtendedSaysWhyAndStaysAsItIs) {
  const auto extended = [](const char* more, const char* text,
                           const char* why) {
    world x{options_of(more)};
    x.commit_all();
    expect_refused(x, verb::extend, text, why);
  };
  extended("algorithm: {hyperband: {eta: 2, min: 2}}\nbudget: {trials: 6}\n",
           R"({"trials": 1})",
           "the number of trials of algorithm hyperband follows from its "
           "options");
  extended("algorithm: {pbt: {interval: 4}}\nbudget: {trials: 4}\n",
           R"({"trials": 1})", "algorithm pbt follows from its options");
  extended("algorithm: client\nbudget: {trials: 3}\n", R"({"trials": 1})",
           "the study's clients decide");
  extended("algorithm: random\nbudget: {trials: 4}\n", R"({"trials": 3})",
           "the space has only 6 combinations, of which 4 are trials of the "
           "study: at most 2 can be added");
  extended("algorithm: grid\n", R"({"trials": 1})", "at most 0 can be added");
  extended("algorithm: grid\n", R"({"seconds": 1})",
           "study s has no budget.seconds that could be extended");
  extended("algorithm: grid\n", R"({"deadline_seconds": 1})", "no deadline");
  extended("algorithm: grid\n", "{}", "by a map with some of trials, seconds");
  extended("algorithm: grid\n", "20", "by a map with some of trials, seconds");
  extended("algorithm: grid\n", R"({"trials": -1})", "trials: must be a whole");
  extended("algorithm: grid\n", R"({"trials": 1.5})", "found 1.5");
  extended("algorithm: grid\n", R"({"trials": 2000000000})", "up to");
  extended("algorithm: grid\n", R"({"trials": "all"})", "found \"all\"");
  extended("algorithm: grid\n", R"({"seconds": 0})", "must be a number above");
  extended("algorithm: grid\n", R"({"length": 5})",
           "'length' cannot be extended: trials, seconds");
  extended("algorithm: grid\n", R"({"steps": 12.5})", "steps: must be a whole");
  extended("algorithm: grid\nbudget: {steps: 6}\n", R"({"budget_steps": 0.5})",
           "budget_steps: must be a whole");
}

TEST(Steering, OnlyAStudyWithoutWorkOrBudgetGoesOn) {
  const auto ended = [](const auto& end, const char* why) {
    world x{
      options_of("algorithm: random\nbudget: {trials: 4, seconds: 60}\n")};
    x.commit_all();
    end(x);
    x.commit_all();
    expect_refused(x, verb::extend, R"({"trials": 1})", why);
    expect_refused(x, verb::enqueue,
                   R"({"trials": [{"lr": 0.1, "momentum": 0.9}]})", why);
  };
  ended([](world& x) { x.command(verb::cancel, 0, 0, "enough"); },
        "study s has ended: CANCELLED (enough); submit it again");
  ended([](world& x) { x.command(verb::stop); }, "is STOPPING");
  world whole{
    options_of("algorithm: random\nbudget: {trials: 4, seconds: 60}\n")};
  finish(whole);
  expect_refused(whole, verb::extend, R"({"seconds": 1})",
                 "study s has nothing left to train: extend it by trials or "
                 "steps");
  // Stopped by a person is spent all the same: what ran goes on.
  world stopped{options_of("algorithm: random\nbudget: {trials: 4}\n")};
  stopped.commit_all();
  stopped.command(verb::stop);
  stopped.commit_all();
  stopped.tell(study_core_event::quiesced{});
  stopped.commit_all();
  ASSERT_EQ(stopped.core().stored().state, study_phase::complete);
  EXPECT_EQ(refused(stopped, verb::extend, R"({"trials": 1})"), "");
  EXPECT_EQ(stopped.waiting().size(), 5u);
  finish(stopped);
  EXPECT_EQ(stopped.core().trials().finished(), 5u);
  stopped.expect_replayed();
}

TEST(Steering, AStudyWhoseDeviceTimeIsSpentSaysSo) {
  auto options = options_of("algorithm: random\n"
                            "budget: {trials: 4, device_hours: 1}\n");
  world x{options};
  x.commit_all();
  auto last = x.stored_options();
  x.tell(study_core_event::spent{study_limit::device_time});
  x.commit_all();
  ASSERT_EQ(x.core().stored().state, study_phase::complete);
  auto again = x.stored_options();
  again.stored.device_seconds = 3600;
  world later{again};
  later.commit_all();
  expect_refused(later, verb::extend, R"({"trials": 1})",
                 "its budget.device_hours is spent: extend it as well "
                 "(device_seconds)");
  EXPECT_TRUE(later.raises_.empty());
  later.begin_after(x);
  EXPECT_EQ(refused(later, verb::extend, R"({"device_seconds": 1800})"), "");
  EXPECT_EQ(later.core().stored().state, study_phase::running);
  ASSERT_EQ(later.raises_.size(), 1u);
  EXPECT_EQ(later.raises_.front().device_seconds, 1800);
  EXPECT_EQ(later.raises_.front().cost, 0);
  later.expect_replayed();
  // It is registered with the rest of all that it has by now.
  world third{later.stored_options()};
  EXPECT_EQ(third.core().registration().device_seconds, 1800);
}

TEST(Steering, ABudgetThatIsRaisedIsSpentOnlyOnceTheMergerKnows) {
  world x{options_of("algorithm: random\n"
                     "budget: {trials: 4, device_hours: 1, cost: 5}\n")};
  x.commit_all();
  EXPECT_EQ(refused(x, verb::extend, R"({"device_seconds": 60})"), "");
  // It was said before the merger knew, and it will say so again.
  x.tell(study_core_event::spent{study_limit::device_time, 0});
  x.commit_all();
  EXPECT_EQ(x.core().stored().state, study_phase::running);
  x.tell(study_core_event::spent{study_limit::device_time, 1});
  x.commit_all();
  EXPECT_EQ(x.core().stored().state, study_phase::complete);
  EXPECT_EQ(x.core().stored().reason,
            "its device time, 1.0166666666666666 h, is spent");
  expect_refused(x, verb::enqueue, "{trials: [{lr: 0.1, momentum: 0.8}]}",
                 "its budget.device_hours is spent");
  expect_refused(x, verb::extend, R"({"cost": 1})",
                 "its budget.device_hours is spent");
  EXPECT_EQ(refused(x, verb::extend, R"({"device_seconds": 60, "cost": 1})"),
            "");
  EXPECT_EQ(x.core().stored().state, study_phase::running);
  x.expect_replayed();
}

TEST(Steering, AStudyThatHasSpentItsStepsGoesOnWithMoreOfThem) {
  const std::string grid{"algorithm: grid\neval_every: 4\n"};
  world x{options_of(grid + "budget: {steps: 6}\n")};
  finish(x);
  EXPECT_EQ(x.core().stored().state, study_phase::complete);
  EXPECT_EQ(x.core().stored().reason, "its budget.steps, 6, is spent");
  expect_refused(x, verb::extend, R"({"trials": 1})", "at most 0 can be added");
  expect_refused(x, verb::extend, R"({"budget_steps": 2})",
                 "its budget.steps is spent: extend it by more than 2 as well "
                 "(budget_steps)");
  expect_refused(x, verb::enqueue,
                 R"({"trials": [{"lr": 0.1, "momentum": 0.8}]})",
                 "its budget.steps is spent: extend it by more than 2");
  EXPECT_EQ(refused(x, verb::extend, R"({"budget_steps": 7})"), "");
  EXPECT_EQ(x.core().stored().state, study_phase::running);
  x.expect_replayed();
  finish(x);
  EXPECT_EQ(x.core().stored().reason, "its budget.steps, 13, is spent");
  x.expect_replayed();
  // As if it had had them from the beginning.
  world other{options_of(grid + "budget: {steps: 13}\n")};
  finish(other);
  ASSERT_EQ(x.core().trials().size(), other.core().trials().size());
  for (trial_no no = 0; no < x.core().trials().size(); ++no) {
    EXPECT_EQ(x.core().trials()[no].acked, other.core().trials()[no].acked);
    EXPECT_EQ(x.core().trials()[no].state, other.core().trials()[no].state);
  }
  // An end by results, `stop_when`, is not undone by a larger budget.
  world met{options_of("algorithm: grid\nbudget: {steps: 60}\n"
                       "stop_when: {value: -1000}\n")};
  finish(met);
  expect_refused(met, verb::extend, R"({"budget_steps": 60})", "has ended");
}

TEST(Steering, ABudgetThatIsSpentWhileItIsRaisedDoesNotEndTheStudy) {
  for (const auto& [text, ends] :
       {std::pair{R"({"device_seconds": 60})", false},
        {R"({"trials": 1})", true}}) {
    world x{options_of("algorithm: random\n"
                       "budget: {trials: 4, device_hours: 1}\n")};
    x.commit_all();
    const auto token = x.command(verb::extend, 0, 0, text);
    x.tell(study_core_event::spent{study_limit::device_time, 0});
    x.commit_all();
    EXPECT_EQ(x.refusal(token), "");
    EXPECT_EQ(has_ended(x.core().stored().state), ends) << text;
    x.expect_replayed();
  }
}

TEST(Steering, ABudgetThatIsNotThereIsNotRaised) {
  world x{options_of("algorithm: random\nbudget: {trials: 4}\n")};
  x.commit_all();
  expect_refused(x, verb::extend, R"({"device_seconds": 1})",
                 "has no budget.device_hours that could be extended");
  expect_refused(x, verb::extend, R"({"cost": 1})",
                 "has no budget.cost that could be extended");
  expect_refused(x, verb::extend, R"({"costs": 1})",
                 "'costs' cannot be extended: trials, seconds, "
                 "deadline_seconds, device_seconds, cost, budget_steps and "
                 "steps can");
  expect_refused(x, verb::extend, R"({"budget_steps": 1})",
                 "has no budget.steps that could be extended");
}

TEST(Steering, AStudyThatWasGivenUpGoesOnOnlyIfItIsNotRefused) {
  world x{given_up(options_of("algorithm: random\nbudget: {trials: 4}\n"))};
  x.commit_all();
  EXPECT_NE(refused(x, verb::extend, R"({"trials": 7})"), "");
  EXPECT_EQ(x.core().stored().state, study_phase::failed);
  EXPECT_EQ(x.core().stored().reason, "a fault of the service itself");
  EXPECT_TRUE(x.waiting().empty());
  ASSERT_TRUE(x.end_);
  EXPECT_EQ(x.end_->state, study_phase::failed);
  world again{x.stored_options()};
  again.commit_all();
  for (auto* study : {&x, &again}) {
    EXPECT_EQ(refused(*study, verb::extend, R"({"trials": 1})"), "");
    EXPECT_EQ(study->core().stored().state, study_phase::running);
    EXPECT_EQ(study->waiting().size(), 5u);
    finish(*study);
    EXPECT_EQ(study->core().stored().state, study_phase::complete);
    study->expect_replayed();
  }
}

// -- enqueue ------------------------------------------------------------------

TEST(Steering, EnqueuedTrialsComeNextWithTheirValues) {
  world x{options_of("  weight_decay: {uniform: [0, 1]}\n"
                     "algorithm: {tpe: {max_concurrent: 1, startup: 3}}\n"
                     "budget: {trials: 4}\n")};
  x.commit_all();
  const auto first = values_of(x, 0);
  EXPECT_EQ(refused(x, verb::enqueue,
                    "{trials: [{lr: 0.2, momentum: 0.9, weight_decay: 0.25}, "
                    "{lr: 0.1, momentum: 0.8, weight_decay: 1}]}"),
            "");
  x.expect_replayed();
  EXPECT_EQ(values_of(x, 0), first);
  finish(x);
  ASSERT_EQ(x.core().trials().size(), 6u);
  EXPECT_EQ(values_of(x, 1),
            R"({"lr":0.2,"momentum":0.9,"weight_decay":0.25})");
  EXPECT_EQ(values_of(x, 2), R"({"lr":0.1,"momentum":0.8,"weight_decay":1.0})");
  x.expect_replayed();
}

TEST(Steering, TrialsOfAnOrderComeAfterThoseThatWereEnqueued) {
  const std::string all = "algorithm: random\nbudget: {trials: 5}\n";
  world plain{options_of(all)};
  world x{options_of("algorithm: random\nbudget: {trials: 2}\n")};
  x.commit_all();
  EXPECT_EQ(
    refused(x, verb::enqueue, R"({"trials": [{"lr": 0.2, "momentum": 0.9}]})"),
    "");
  EXPECT_EQ(refused(x, verb::extend, R"({"trials": 2})"), "");
  EXPECT_EQ(
    refused(x, verb::enqueue, R"({"trials": [{"lr": 0.1, "momentum": 0.8}]})"),
    "");
  EXPECT_EQ(refused(x, verb::extend, R"({"trials": 1})"), "");
  x.expect_replayed();
  const std::vector<std::optional<trial_no>> places{0, 1, {}, 2, 3, {}, 4};
  for (trial_no no = 0; no < places.size(); ++no)
    EXPECT_EQ(values_of(x, no), places[no] ? values_of(plain, *places[no])
                                : no == 2  ? R"({"lr":0.2,"momentum":0.9})"
                                           : R"({"lr":0.1,"momentum":0.8})");
  finish(x);
  x.expect_replayed();
}

TEST(Steering, TrialsOutsideOfTheSpaceAndForksAreNoneOfTheSampler) {
  for (const std::string sampler :
       {"random", "grid", "{tpe: {startup: 2}}", "{gp: {startup: 2}}",
        "{asha: {min_steps: 4}}", "{median: {warmup: 1}}"}) {
    SCOPED_TRACE(sampler);
    const auto text = "algorithm: " + sampler + "\nbudget: {trials: 2}\n";
    world plain{
      options_of("algorithm: " + sampler + "\nbudget: {trials: 4}\n")};
    world x{options_of(text)};
    x.commit_all();
    EXPECT_EQ(refused(x, verb::enqueue, "{outside: [{lr: 7, momentum: 0.5}]}"),
              "");
    EXPECT_EQ(refused(x, verb::enqueue,
                      "{forks: [{trial: 0, at: 5, params: {momentum: 0.6}}]}"),
              "");
    EXPECT_EQ(refused(x, verb::extend, R"({"trials": 1})"), "");
    x.expect_replayed();
    finish(x);
    x.expect_replayed();
    // Next are those that nobody has begun.
    const trial_no next = sampler.find("startup") == std::string::npos ? 2 : 1;
    const auto record = x.core().record();
    ASSERT_EQ(record.trials.size(), 5u);
    EXPECT_EQ(values_of(x, next), R"({"lr":7,"momentum":0.5})");
    EXPECT_EQ(record.trials[next].why.how, "outside the space");
    auto expected = record.trials[0].params;
    const auto before = expected["momentum"];
    expected["momentum"] = {{"join", {{0, before}, {5, 0.6}}}};
    EXPECT_EQ(values_of(x, next + 1), expected.dump());
    EXPECT_EQ(record.trials[next + 1].why.how, "fork of trial 0 at step 5");
    EXPECT_FALSE(record.trials[next + 1].results.empty());
    if (sampler == "random" || sampler == "grid") {
      plain.commit_all();
      EXPECT_EQ(values_of(x, 4), values_of(plain, 2));
    }
    // A fork of a fork, and of a trial that is done.
    EXPECT_EQ(refused(x, verb::enqueue,
                      "{forks: [{trial: " + std::to_string(next + 1)
                        + ", at: 7, params: {momentum: 0.85}}]}"),
              "");
    expect_refused(x, verb::enqueue,
                   "{forks: [{trial: 9, at: 7, params: {momentum: 0.8}}]}",
                   "has no trial 9");
    finish(x);
    x.expect_replayed();
  }
  world fixed{options_of("algorithm: {hyperband: {eta: 3}}\n")};
  fixed.commit_all();
  expect_refused(fixed, verb::enqueue,
                 "{forks: [{trial: 0, at: 7, params: {momentum: 0.8}}]}",
                 "follows from its options");
}

TEST(Steering, TrialsOutsideOfTheSpaceTakeNoneOfItsCombinations) {
  world x{options_of("algorithm: random\nbudget: {trials: 2}\n")};
  x.commit_all();
  EXPECT_EQ(refused(x, verb::enqueue, "{outside: [{lr: 7, momentum: 0.5}]}"),
            "");
  expect_refused(x, verb::extend, R"({"trials": 5})",
                 "the space has only 6 combinations, of which 2 are trials");
  EXPECT_EQ(refused(x, verb::extend, R"({"trials": 4})"), "");
}

TEST(Steering, ValuesThatTheSpaceDoesNotHaveAreRefusedWithTheirPlace) {
  world x{options_of("algorithm: random\nbudget: {trials: 2}\n")};
  x.commit_all();
  const auto wrong = [&](const char* text, const char* why) {
    expect_refused(x, verb::enqueue, text, why);
  };
  wrong("{trials: [{lr: 0.1, momentum: 0.8}, {lr: 0.5, momentum: 0.8}]}",
        "trials[1].lr: must be a value that the space has for it, found '0.5'");
  wrong("{trials: [{lr: 0.1}]}", "trials[0]: 'momentum' is missing");
  wrong("{trials: [{lr: 0.1, momentum: 0.8, lrr: 1}]}", "did you mean 'lr'?");
  wrong("{trials: []}", "must be a list of 1 to 1000 maps");
  wrong("{trials: 3}", "must be a list of 1 to 1000 maps");
  wrong("{trials: [3]}", "trials[0]: must be a map");
  wrong("{trails: [{lr: 0.1, momentum: 0.8}]}",
        "a map with 'trials', 'outside'");
  wrong("[", "");
  wrong("", "");
  EXPECT_EQ(x.waiting().size(), 2u);
}

// -- past results -------------------------------------------------------------

std::string past(int results) {
  std::string text;
  for (int i = 0; i < results; ++i)
    text += (i == 0 ? "" : ", ")
            + ("{params: {lr: 0.1, momentum: 0.8, weight_decay: 0."
               + std::to_string(100 + i) + "}, step: 12, metrics: {accuracy: 0."
               + std::to_string(100 + i) + "}}");
  return "{results: [" + text + "]}";
}

/// How the sampler has chosen each trial.
std::vector<std::string> ways(world& x) {
  std::vector<std::string> result;
  for (const auto& event : x.history_)
    if (const auto* chosen = std::get_if<trial_chosen>(&event.what))
      result.push_back(chosen->what.why.how);
  return result;
}

TEST(Steering, ValuesOfATrialThatDoNotGoTogetherAreRefused) {
  const auto limited = [](const std::string& algorithm) {
    auto options = options_of(algorithm + "budget: {trials: 4}\n",
                              "  lr: {choice: [0.1, 0.2]}\n"
                              "  momentum: {choice: [0.5, 0.8]}\n");
    for (auto& x : options.workload.hyper_parameters)
      if (x.name == "lr")
        x.max_parameter = "momentum";
    return options;
  };
  const std::string why = "lr is 0.7 in a trial whose momentum is 0.5: it must "
                          "be at most momentum";
  world x{limited("algorithm: grid\n")};
  x.commit_all();
  const auto refusal = [&](const std::string& text, verb what = verb::enqueue) {
    const auto from = x.command(what, 0, 0, text);
    x.commit_all();
    return x.refusal(from);
  };
  const std::string wrong = R"({"lr": 0.7, "momentum": 0.5})",
                    right = R"({"lr": 0.7, "momentum": 0.8})";
  EXPECT_EQ(refusal(R"({"outside": [)" + wrong + "]}"), why);
  EXPECT_EQ(refusal(R"({"outside": [)" + right + "]}"), "");
  EXPECT_EQ(refusal(R"({"forks": [{"trial": 0, "at": 1,)"
                    R"( "params": {"lr": 0.7}}]})"),
            why);
  world client{limited("algorithm: client\n")};
  const auto asked = client.command(verb::ask, 0, 0, wrong),
             fine = client.command(verb::ask, 0, 0, right);
  client.commit_all();
  EXPECT_EQ(client.refusal(asked), why);
  EXPECT_EQ(client.refusal(fine), "");
}

TEST(Steering, ASamplerThatIsToldThePastLearnsAtOnce) {
  for (const std::string sampler : {"tpe", "gp"}) {
    const auto study = "  weight_decay: {uniform: [0, 1]}\nalgorithm: {"
                       + sampler
                       + ": {max_concurrent: 1, startup: 8}}\n"
                         "budget: {trials: 4}\n";
    world without{options_of(study)};
    finish(without);
    for (const auto& how : ways(without))
      EXPECT_EQ(how, "startup");
    world x{options_of(study)};
    x.commit_all();
    EXPECT_EQ(refused(x, verb::tell_past, past(20)), "");
    x.expect_replayed();
    finish(x);
    EXPECT_EQ(ways(x),
              (std::vector<std::string>{"startup", "model", "model", "model"}))
      << sampler;
    // They are no results of the study.
    EXPECT_EQ(x.core().trials().size(), 4u);
    for (const auto& trial : x.core().record().trials)
      for (const auto& y : trial.results)
        EXPECT_LE(y.values.at("accuracy"), 1);
    x.expect_replayed();
  }
}

TEST(Steering, AStudyFileImportsThePast) {
  const auto study = [](const std::string& more) {
    return "  weight_decay: {uniform: [0, 1]}\n"
           "algorithm: {gp: {max_concurrent: 1, startup: 8}}\n"
           "budget: {trials: 2}\n"
           + more;
  };
  const auto results = past(20);
  const auto list =
    results.substr(results.find('['), results.size() - results.find('[') - 1);
  world x{options_of(study("import: " + list + "\n"))};
  finish(x);
  EXPECT_EQ(ways(x), (std::vector<std::string>{"model", "model"}));
  EXPECT_EQ(x.core().trials().size(), 2u);
  x.expect_replayed();
  const auto errors = [](const std::string& text) {
    const auto read = test::read(test::with_space(text));
    EXPECT_FALSE(read.study);
    return read.errors.empty() ? std::string{}
                               : test::texts(read.errors).front();
  };
  EXPECT_NE(errors("  lr: {uniform: [0.1, 1]}\nalgorithm: gp\nbudget: {trials: "
                   "2}\nimport: [{params: {lr: 2}, metrics: {accuracy: 1}}]\n")
              .find("import[0].params.lr: must be from 0.1 to 1, found '2'"),
            std::string::npos);
  const auto read = test::read(test::with_space(
    "  lr: {uniform: [0.1, 1]}\nalgorithm: random\nbudget: {trials: 2}\n"
    "import: [{params: {lr: 0.5}, metrics: {accuracy: 1}}]\n"));
  ASSERT_TRUE(read.study);
  const auto checked = check_algorithm(*read.study, false, nullptr);
  ASSERT_EQ(checked.errors.size(), 1u);
  EXPECT_EQ(checked.errors.front().path, "import");
  EXPECT_EQ(checked.errors.front().message,
            "the sampler random does not learn from results: tpe, gp and nsga2 "
            "do");
}

TEST(Steering, PastResultsThatTellNothingAreRefused) {
  world plain{options_of("algorithm: random\nbudget: {trials: 2}\n")};
  plain.commit_all();
  expect_refused(plain, verb::tell_past,
                 "{results: [{params: {lr: 0.1, momentum: 0.8}, metrics: "
                 "{accuracy: 1}}]}",
                 "does not learn from results");
  world x{options_of("  weight_decay: {uniform: [0, 1]}\n"
                     "algorithm: {tpe: {max_concurrent: 1}}\n"
                     "budget: {trials: 4}\n")};
  x.commit_all();
  const auto wrong = [&](const std::string& result, const char* why) {
    expect_refused(x, verb::tell_past, "{results: [" + result + "]}", why);
  };
  const std::string params =
    "params: {lr: 0.1, momentum: 0.8, weight_decay: 0}";
  wrong("{" + params + "}",
        "results[0]: must be a map with params and metrics");
  wrong("{" + params + ", metrics: {loss: 1}}",
        "results[0].metrics: 'accuracy' is missing");
  wrong("{" + params + ", metrics: {accuracy: high}}",
        "results[0].metrics.accuracy: must be a finite number, found 'high'");
  wrong("{" + params + ", metrics: {accuracy: 1}, step: 13}",
        "results[0].step: must be a step from 1 to 12, found '13'");
  wrong("{" + params + ", metrics: {accuracy: 1}, at: 3}", "is unknown here");
  wrong("{params: {lr: 7, momentum: 0.8, weight_decay: 0}, metrics: {accuracy: "
        "1}}",
        "results[0].params.lr");
  wrong("3", "results[0]: must be a map with params and metrics");
}

// -- all of it, at any moment -------------------------------------------------

class SteeringSeeds : public testing::TestWithParam<std::uint64_t> {};

/// Whatever is added at whatever moment, also after the end, between failures
/// and pauses: every trial that was wanted is trained once, those with given
/// values have them, and a study that is restored stands where it stood.
TEST_P(SteeringSeeds, EverythingThatIsAddedIsTrained) {
  static const char* const algorithms[]{
    "algorithm: random\n",
    "algorithm: {asha: {eta: 2, min: 2, max_concurrent: 3}}\n",
    "algorithm: {asha: {eta: 2, min: 2, mode: stopping}}\n",
    "algorithm: {median: {grace: 2, max_concurrent: 2}}\n",
    "algorithm: {tpe: {startup: 2, max_concurrent: 2}}\n",
    "algorithm: {gp: {startup: 2, max_concurrent: 2}}\n"};
  const auto which = GetParam() % std::size(algorithms);
  std::mt19937_64 random{GetParam()};
  const auto chance = [&](std::uint64_t percent) {
    return random() % 100 < percent;
  };
  world x{options_of(std::string{"  weight_decay: {uniform: [0, 1]}\n"}
                     + algorithms[which]
                     + "on_error: continue\n"
                       "budget: {trials: 3, seconds: 100}\n")};
  std::uint64_t wanted = 3;
  std::multiset<std::string> given;
  std::map<study_token, std::pair<std::uint64_t, std::string>> asked;
  const auto take_answers = [&] {
    for (auto i = asked.begin(); i != asked.end();) {
      const auto told = x.answer(i->first);
      if (told && std::holds_alternative<command_answer>(told->what)) {
        wanted += i->second.first;
        if (!i->second.second.empty())
          given.insert(i->second.second);
      }
      i = told ? asked.erase(i) : std::next(i);
    }
  };
  for (int i = 0; i < 300; ++i) {
    if (const auto all = x.waiting(); !all.empty() && chance(70)) {
      const auto no = all[random() % all.size()];
      if (chance(10))
        x.fail_one(no);
      else
        x.train_one(no);
    }
    if (chance(8)) {
      const auto more = 1 + random() % 3;
      asked[x.command(verb::extend, 0, 0,
                      R"({"trials": )" + std::to_string(more)
                        + R"(, "seconds": 10})")] = {more, ""};
    }
    if (chance(8)) {
      const auto values = R"({"lr":0.2,"momentum":0.9,"weight_decay":0.)"
                          + std::to_string(100'001 + 2 * i) + '}';
      asked[x.command(verb::enqueue, 0, 0, R"({"trials": [)" + values + "]}")] =
        {1, values};
    }
    if (chance(5)) {
      const auto text =
        chance(50)
          ? R"({"outside": [{"lr": 7, "momentum": 0.1, )"
            R"("weight_decay": 2}]})"
          : R"({"forks": [{"trial": )" + std::to_string(random() % 9)
              + R"(, "at": )" + std::to_string(1 + random() % 11)
              + R"(, "params": {"weight_decay": )" + std::to_string(i) + "}}]}";
      asked[x.command(verb::enqueue, 0, 0, text)] = {1, ""};
    }
    if (chance(4))
      x.command(verb::tell_past, 0, 0,
                past(1 + static_cast<int>(random() % 5)));
    if (chance(5)) {
      x.pass(std::chrono::milliseconds(random() % 40'000));
      x.tell(study_core_event::time_passed{});
    }
    if (chance(4))
      x.command(chance(50) ? verb::pause : verb::resume);
    if (chance(5))
      x.command(verb::retry);
    if (chance(60))
      x.commit_one();
    if (chance(4)) {
      x.commit_all();
      take_answers();
      x.expect_replayed();
    }
  }
  x.commit_all();
  take_answers();
  EXPECT_TRUE(asked.empty());
  // From here on nothing fails, and time is not short.
  const auto state = [&] { return x.core().stored().state; };
  if (state() == study_phase::paused)
    x.command(verb::resume);
  x.commit_all();
  if (has_ended(state())) {
    EXPECT_EQ(refused(x, verb::extend, R"({"trials": 1, "seconds": 1000})"),
              "");
    ++wanted;
  }
  x.command(verb::retry, 0, 0, R"({"all": true})");
  finish(x);
  EXPECT_EQ(x.core().trials().size(), wanted);
  EXPECT_EQ(x.core().trials().finished(), wanted);
  std::multiset<std::string> have;
  for (trial_no no = 0; no < wanted; ++no)
    have.insert(values_of(x, no));
  EXPECT_TRUE(std::ranges::includes(have, given));
  for (const auto& trial : x.core().record().trials)
    EXPECT_TRUE(trial.state == trial_state::complete
                || trial.state == trial_state::pruned)
      << to_string(trial.state) << ' ' << trial.failure;
  x.expect_replayed();
}

INSTANTIATE_TEST_SUITE_P(Seeds, SteeringSeeds,
                         testing::Range<std::uint64_t>(0, 36));

} // namespace
} // namespace hippo
