#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "study/study_world.hpp"

// Studies whose trials are made longer: `extend` with `steps`.

namespace hippo {
namespace {

using namespace std::chrono_literals;
using verb = study_command::verb;
using test::options_of;
using test::world;

std::string refused(world& x, verb what, const std::string& text) {
  const auto token = x.command(what, 0, 0, text);
  x.commit_all();
  return x.refusal(token);
}

/// Makes trials longer. @returns why that is refused; empty: it is not
std::string lengthen(world& x, step_t steps) {
  return refused(x, verb::extend,
                 R"({"steps": )" + std::to_string(steps) + "}");
}

void finish(world& x) {
  x.commit_all();
  for (auto all = x.waiting(); !all.empty(); all = x.waiting()) {
    x.train_one(all.front());
    x.commit_all();
  }
  ASSERT_TRUE(has_ended(x.core().stored().state));
}

std::vector<step_t> steps_of(world& x, trial_no no) {
  std::vector<step_t> result;
  for (const auto& y : x.core().trials().results_of(no))
    result.push_back(y.step);
  return result;
}

/// The results of all trials, by number.
std::map<trial_no, std::map<step_t, metrics>> results_of(world& x) {
  std::map<trial_no, std::map<step_t, metrics>> result;
  for (trial_no no = 0; no < x.core().trials().size(); ++no)
    for (auto& y : x.core().trials().results_of(no))
      result[no][y.step] = std::move(y.values);
  return result;
}

/// Options of a study whose trials have so many steps.
study_options options_of_length(const std::string& more, step_t steps) {
  auto text = test::with_space(
    "  lr: {choice: [0.1, 0.2, {multistep: {initial: 0.1, milestones: [4, 15],"
    " gamma: 0.1}}]}\n"
    "  momentum: {choice: [0.8, 0.9]}\n"
    + more);
  const std::string before = "max_steps: 12";
  text.replace(text.find(before), before.size(),
               "max_steps: " + std::to_string(steps));
  auto read = test::read(text);
  EXPECT_TRUE(read.study) << test::texts(read.errors).front();
  study_options result;
  result.spec = std::move(*read.study);
  result.workload = test::workloads().front();
  result.stored.id = study_id{7};
  result.stored.name = result.spec.name;
  return result;
}

TEST(Lengthening, TrialsThatHaveEndedGoOnToTheNewEnd) {
  world x{options_of_length("algorithm: grid\neval_every: 5\n", 12)};
  finish(x);
  ASSERT_EQ(x.core().stored().state, study_phase::complete);
  const auto before = results_of(x);
  EXPECT_EQ(steps_of(x, 0), (std::vector<step_t>{5, 10, 12}));
  EXPECT_EQ(lengthen(x, 22), "");
  EXPECT_EQ(x.core().stored().state, study_phase::running);
  EXPECT_EQ(x.core().status(x.now_).view.finished, 0u);
  EXPECT_EQ(x.waiting().size(), 6u);
  EXPECT_EQ(x.core().spec().max_steps, 22u);
  x.expect_replayed();
  finish(x);
  EXPECT_EQ(x.core().stored().state, study_phase::complete);
  EXPECT_EQ(steps_of(x, 0), (std::vector<step_t>{5, 10, 12, 15, 20, 22}));
  x.expect_replayed();
  // All that was known stays, and the rest is that of longer trials.
  world whole{options_of_length("algorithm: grid\neval_every: 5\n", 22)};
  finish(whole);
  auto wanted = results_of(whole);
  for (auto& [no, results] : wanted) {
    results.insert(before.at(no).begin(), before.at(no).end());
    EXPECT_EQ(x.core().trials()[no].state, trial_state::complete);
    EXPECT_EQ(x.core().record().trials[no].params,
              whole.core().record().trials[no].params);
  }
  EXPECT_EQ(results_of(x), wanted);
}

TEST(Lengthening, TheMergerIsToldOfTheNewEndAndOfLaterValues) {
  world x{options_of_length("algorithm: grid\neval_every: 5\n", 12)};
  x.commit_all();
  x.train_one(0);
  EXPECT_EQ(lengthen(x, 22), "");
  ASSERT_TRUE(x.when_);
  EXPECT_EQ(x.when_->rungs, (std::vector<step_t>{12, 22}));
  EXPECT_EQ(x.core().registration().when, *x.when_);
  world whole{options_of_length("algorithm: grid\neval_every: 5\n", 22)};
  ASSERT_EQ(x.rerouted_.size(), 6u);
  for (const auto& [no, segments] : x.rerouted_)
    EXPECT_EQ(segments, whole.segments_.at(no)) << no;
  EXPECT_EQ(x.rerouted_.at(4).size(), 3u); // the milestone at 15 has a part now
}

TEST(Lengthening, ATrialThatHasFailedOnItsWayIsTriedAgainToTheNewEnd) {
  for (const char* algorithm : {"grid", "median"}) {
    world x{options_of_length(std::string{"algorithm: "} + algorithm
                                + "\nbudget: {trials: 6}\neval_every: 5\n"
                                  "on_error: continue\n",
                              12)};
    x.commit_all();
    x.fail_one(0);
    x.commit_all();
    EXPECT_EQ(lengthen(x, 22), "");
    EXPECT_EQ(x.core().trials()[0].asked_to, 12u);
    x.expect_replayed();
    EXPECT_EQ(refused(x, verb::retry, R"({"trials": [0]})"), "");
    finish(x);
    EXPECT_TRUE(x.core().trials()[0].state == trial_state::complete
                || std::string{algorithm} == "median");
    EXPECT_GT(x.core().trials()[0].acked, 12u) << algorithm;
    x.expect_replayed();
  }
}

TEST(Lengthening, AHiddenTrialThatGoesOnIsShownAgain) {
  world x{options_of("algorithm: random\nbudget: {trials: 2}\n")};
  finish(x);
  EXPECT_EQ(refused(x, verb::remove, R"({"trials": [1]})"), "");
  EXPECT_EQ(lengthen(x, 13), "");
  EXPECT_FALSE(x.core().trials()[1].removed);
  finish(x);
  EXPECT_EQ(x.core().trials()[1].acked, 13u);
  x.expect_replayed();
}

TEST(Lengthening, OneAfterTheOtherIsTakenAndTrialsAreAddedWithThem) {
  world x{options_of("algorithm: random\nbudget: {trials: 2}\n")};
  finish(x);
  EXPECT_EQ(lengthen(x, 20), "");
  x.train_one(0);
  EXPECT_EQ(refused(x, verb::extend, R"({"steps": 30, "trials": 2})"), "");
  x.expect_replayed();
  finish(x);
  for (trial_no no = 0; no < 4; ++no)
    EXPECT_EQ(x.core().trials()[no].acked, 30u);
  EXPECT_EQ(lengthen(x, 31), "");
  finish(x);
  for (trial_no no = 0; no < 4; ++no)
    EXPECT_EQ(x.core().trials()[no].acked, 31u);
  x.expect_replayed();
}

TEST(Lengthening, AnExtensionThatIsStoredAfterAnotherIsRefusedThen) {
  world x{options_of("algorithm: random\nbudget: {trials: 2}\n")};
  x.commit_all();
  const auto first = x.command(verb::extend, 0, 0, R"({"steps": 20})");
  const auto second = x.command(verb::extend, 0, 0, R"({"steps": 20})");
  x.commit_all();
  EXPECT_EQ(x.refusal(first), "");
  EXPECT_NE(x.refusal(second).find("have 20 steps already"), std::string::npos);
  finish(x);
  x.expect_replayed();
}

TEST(Lengthening, TrialsThatABudgetHasEndedGoOnToTheNewEnd) {
  world x{options_of("algorithm: random\nbudget: {trials: 3, seconds: 60}\n")};
  x.commit_all();
  while (x.core().trials()[0].state != trial_state::complete) {
    x.train_one(0);
    x.commit_all();
  }
  x.train_one(1);
  x.commit_all();
  x.pass(61s);
  x.tell(study_core_event::time_passed{});
  x.commit_all();
  ASSERT_EQ(x.core().stored().state, study_phase::complete);
  EXPECT_NE(lengthen(x, 20).find("budget.seconds is spent"), std::string::npos);
  EXPECT_EQ(refused(x, verb::extend, R"({"steps": 20, "seconds": 60})"), "");
  x.expect_replayed();
  finish(x);
  for (trial_no no = 0; no < 3; ++no) {
    EXPECT_EQ(x.core().trials()[no].acked, 20u);
    EXPECT_EQ(x.core().trials()[no].state, trial_state::complete);
  }
  x.expect_replayed();
}

TEST(Lengthening, AClientTrainsFurther) {
  world x{options_of("algorithm: client\nbudget: {trials: 2}\n")};
  for (int i = 0; i < 2; ++i)
    x.command(verb::ask);
  x.commit_all();
  for (trial_no no = 0; no < 2; ++no)
    x.train(no, 12);
  x.commit_all();
  const auto told = x.command(verb::tell, 1, 0, R"({"state": "COMPLETE"})");
  x.commit_all();
  EXPECT_EQ(x.refusal(told), "");
  finish(x);
  EXPECT_EQ(lengthen(x, 30), "");
  EXPECT_EQ(x.core().trials()[0].state, trial_state::paused);
  EXPECT_EQ(x.core().trials()[1].state, trial_state::complete)
    << "a client has ended it";
  EXPECT_EQ(x.core().registration().when.rungs,
            (std::vector<step_t>{12, 24, 30}));
  x.expect_replayed();
  const auto token = x.train(0, 30);
  finish(x);
  const auto answer = x.answer(token);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(std::holds_alternative<trained_trial>(answer->what));
  EXPECT_EQ(x.core().trials()[0].acked, 30u);
  x.expect_replayed();
}

TEST(Lengthening, AClosedStudyOfAClientIsOpenAgain) {
  world x{options_of("algorithm: client\nbudget: {trials: 5}\n")};
  x.command(verb::ask);
  x.commit_all();
  x.train(0, 12);
  x.commit_all();
  x.command(verb::close);
  finish(x);
  EXPECT_EQ(lengthen(x, 20), "");
  EXPECT_EQ(x.core().stored().state, study_phase::running);
  EXPECT_EQ(refused(x, verb::ask, ""), "");
  EXPECT_EQ(x.core().trials().size(), 2u);
  x.expect_replayed();
}

TEST(Lengthening, StepsThatCannotBeSayWhy) {
  const auto expect = [](const std::string& more, step_t steps,
                         const std::string& why,
                         const std::string& space = {}) {
    SCOPED_TRACE(more);
    world x{space.empty() ? options_of(more) : options_of(more, space)};
    x.commit_all();
    const auto records = x.records_;
    const auto said = lengthen(x, steps);
    EXPECT_NE(said.find(why), std::string::npos) << said;
    EXPECT_EQ(x.records_, records);
    EXPECT_EQ(x.core().registration().when.rungs.back(), 12u);
  };
  expect("algorithm: grid\n", 12, "trials have 12 steps already");
  expect("algorithm: grid\n", 3, "must be greater, found 3");
  expect("algorithm: {hyperband: {eta: 2, min: 2}}\nbudget: {trials: 6}\n", 24,
         "algorithm hyperband plans its trials for 12 steps, and not for "
         "longer ones: submit a new study with max_steps: 24; steps that are "
         "known are not trained again");
  for (const char* other :
       {"sha: {eta: 2, min: 2}", "pbt: {interval: 4}", "dehb: {eta: 2}"})
    expect(std::string{"algorithm: {"} + other + "}\nbudget: {trials: 4}\n", 24,
           "plans its trials for 12 steps");
  expect("algorithm: {client: {interval: 1}}\nbudget: {trials: 4}\n", 10'001,
         "can have at most 10000 steps, not 10001");
  expect("algorithm: grid\n", 24,
         "the values of 'lr' of trial 1 depend on how long trials are: submit "
         "a new study with max_steps: 24",
         "  lr: {choice: [0.1, {wsd: {peak: 0.1, decay: 4}}]}\n");
  expect("algorithm: grid\n", 24, "shares of a trial's length (%)",
         "  lr: {choice: [0.1, {multistep: {initial: 0.1, milestones: ['50%'],"
         " gamma: 0.1}}]}\n");
}

TEST(Lengthening, ValuesThatNoTrialMayHaveAreRefused) {
  // Each value is right up to step 12, and beyond it is none.
  world x{options_of("algorithm: grid\n",
                     "  momentum: {choice: [0.5, {exponential: {initial: 0.5,"
                     " gamma: 1.05}}]}\n")};
  x.commit_all();
  EXPECT_EQ(lengthen(x, 14), "");
  const auto said = lengthen(x, 40);
  EXPECT_NE(said.find("must be"), std::string::npos) << said;
  EXPECT_EQ(x.core().registration().when.rungs.back(), 14u);
  finish(x);
  x.expect_replayed();
}

TEST(Lengthening, TrialsOfSeveralLengthsAreRefused) {
  auto text = test::with_space("  lr: {choice: [0.1, 0.2]}\n"
                               "algorithm: grid\n");
  const std::string before = "max_steps: 12";
  text.replace(text.find(before), before.size(),
               "max_steps: {choice: [6, 12]}");
  auto read = test::read(text);
  ASSERT_TRUE(read.study);
  study_options options;
  options.spec = std::move(*read.study);
  options.workload = test::workloads().front();
  world x{std::move(options)};
  x.commit_all();
  EXPECT_NE(lengthen(x, 24).find("several lengths"), std::string::npos);
}

TEST(Lengthening, AnAlgorithmsOwnEndIsTheOneThatIsRaised) {
  world x{options_of("algorithm: {median: {max: 6}}\nbudget: {trials: 2}\n")};
  finish(x);
  EXPECT_EQ(lengthen(x, 9), "");
  EXPECT_EQ(x.core().spec().max_steps, 12u);
  finish(x);
  EXPECT_EQ(x.core().trials()[0].acked, 9u);
  EXPECT_EQ(lengthen(x, 15), "");
  EXPECT_EQ(x.core().spec().max_steps, 15u);
  finish(x);
  EXPECT_EQ(x.core().trials()[0].acked, 15u);
  x.expect_replayed();
}

TEST(Lengthening, AllSeedsOfATrialGoOn) {
  world x{options_of("algorithm: random\nbudget: {trials: 1}\nrepeats: 2\n"
                     "eval_every: 12\n")};
  const auto hear = [&](std::uint32_t seed, step_t at, bool is_part) {
    study_effect::commit entry;
    trial_measured what{0, node_id{seed}, at,     {{"accuracy", .5}},
                        0, seed,          is_part};
    entry.records.emplace_back(event_added{study_id{7}, "key", what});
    entry.news.emplace_back(std::move(what));
    x.journal_.push_back(std::move(entry));
    x.commit_all();
  };
  x.commit_all();
  hear(2, 12, true);
  hear(1, 12, false);
  ASSERT_EQ(x.core().stored().state, study_phase::complete);
  EXPECT_EQ(lengthen(x, 24), "");
  EXPECT_EQ(x.core().status(x.now_).view.asked_steps, 48u);
  hear(1, 24, true);
  EXPECT_EQ(x.core().stored().state, study_phase::running);
  x.expect_replayed();
  hear(2, 24, false);
  EXPECT_EQ(x.core().stored().state, study_phase::complete);
  EXPECT_EQ(steps_of(x, 0), (std::vector<step_t>{12, 24}));
  x.expect_replayed();
}

TEST(Lengthening, AshaHasFurtherRungsForItsBest) {
  world x{
    options_of("algorithm: {asha: {eta: 2, min: 3}}\nbudget: {trials: 6}\n")};
  finish(x);
  const auto finished = [&] {
    std::vector<trial_no> result;
    for (trial_no no = 0; no < x.core().trials().size(); ++no)
      if (x.core().trials()[no].state == trial_state::complete)
        result.push_back(no);
    return result;
  };
  const auto before = finished();
  ASSERT_GE(before.size(), 1u);
  EXPECT_EQ(lengthen(x, 30), "");
  EXPECT_EQ(x.core().registration().when.rungs,
            (std::vector<step_t>{3, 6, 12, 24, 30}));
  x.expect_replayed();
  finish(x);
  const auto now = finished();
  ASSERT_GE(now.size(), 1u);
  EXPECT_TRUE(std::ranges::includes(before, now));
  EXPECT_EQ(x.core().trials()[now.front()].acked, 30u);
  x.expect_replayed();
}

// -- at any moment ------------------------------------------------------------

/// Studies of all algorithms that take it, which trains and fail at random, are
/// made longer at any moment, also once they have ended.
class LengtheningSeeds : public testing::TestWithParam<std::uint64_t> {};

TEST_P(LengtheningSeeds, EndAsTrainingAloneWouldAndAreReplayedAtAnyMoment) {
  const char* const algorithms[]{
    "algorithm: random\n",
    "algorithm: {asha: {eta: 2, min: 2, max_concurrent: 3}}\n",
    "algorithm: {asha: {eta: 2, min: 2, mode: stopping}}\n",
    "algorithm: {median: {grace: 2, max_concurrent: 2}}\n",
    "algorithm: {tpe: {startup: 2, max_concurrent: 2}}\n",
    "algorithm: {gp: {startup: 2, max_concurrent: 2}}\n",
    "algorithm: {asha: {eta: 2, min: 4, sampler: gp, startup: 2}}\n"};
  std::mt19937_64 random{GetParam()};
  const auto chance = [&](std::uint64_t percent) {
    return random() % 100 < percent;
  };
  world x{options_of(
    "  weight_decay: {choice: [0, 0.1, {multistep: {initial: 0.1, milestones:"
    " [5, 18], gamma: 0.5}}]}\n"
    "  optimizer: {choice: [sgd, adamw]}\n"
    + std::string{algorithms[GetParam() % std::size(algorithms)]}
    + "on_error: continue\nbudget: {trials: 6}\neval_every: "
    + std::to_string(1 + random() % 5) + "\n")};
  step_t length = 12;
  int lengthened = 0;
  for (int i = 0; i < 250; ++i) {
    if (const auto all = x.waiting(); !all.empty() && chance(80)) {
      const auto no = all[random() % all.size()];
      if (chance(6))
        x.fail_one(no);
      else
        x.train_one(no);
    }
    if (chance(lengthened < 3 ? 4 : 0)) {
      length += 1 + random() % 12;
      ++lengthened;
      x.commit_all();
      EXPECT_EQ(lengthen(x, length), "");
    }
    if (chance(3))
      x.command(verb::extend, 0, 0, R"({"trials": 1})");
    if (chance(3))
      x.command(chance(50) ? verb::pause : verb::resume);
    if (chance(4))
      x.command(verb::retry);
    if (chance(2))
      x.command(verb::enqueue, 0, 0,
                R"({"forks": [{"trial": 0, "at": 3, "params": )"
                  + (chance(50)
                       ? R"({"weight_decay": )" + std::to_string(i)
                       // Which counts the steps of the trial: no `join`.
                       : R"({"weight_decay": {"multistep": {"initial": 0.3,)"
                         R"( "milestones": [9, 17], "gamma": 0.1}})")
                  + "}}]}");
    if (chance(60))
      x.commit_one();
    if (chance(5)) {
      x.commit_all();
      x.expect_replayed();
    }
  }
  x.commit_all();
  if (x.core().stored().state == study_phase::paused)
    x.command(verb::resume);
  x.commit_all();
  length += 3;
  EXPECT_EQ(lengthen(x, length), "");
  x.expect_replayed();
  x.command(verb::retry, 0, 0, R"({"all": true})");
  finish(x);
  x.expect_replayed();
  const auto when = x.core().registration().when;
  ASSERT_EQ(when.rungs.back(), length);
  std::size_t complete = 0;
  for (const auto& [no, results] : results_of(x)) {
    const auto& trial = x.core().trials()[no];
    complete += trial.state == trial_state::complete;
    EXPECT_NE(trial.state, trial_state::failed) << no;
    EXPECT_EQ(trial.acked == length, trial.state == trial_state::complete);
    // No measurement is missing, and none is another one than alone.
    step_t at = 0;
    for (const auto& [step, values] : results) {
      at = when.next(at);
      EXPECT_EQ(step, at) << no;
      EXPECT_EQ(values.at("accuracy"), world::value_at(no, step));
    }
    // One that is pruned on its way may have come farther by then.
    EXPECT_TRUE(at == trial.acked || trial.state == trial_state::pruned) << no;
  }
  EXPECT_GE(complete, 1u);
  if (x.core().spec().algorithm.name == "random") {
    EXPECT_EQ(complete, x.core().trials().size());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LengtheningSeeds,
                         testing::Range<std::uint64_t>(0, 70));

} // namespace
} // namespace hippo
