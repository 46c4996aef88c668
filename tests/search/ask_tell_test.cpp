#include "hippo/search/ask_tell.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "search/studies.hpp"

namespace hippo {
namespace {

constexpr auto one_goal = "objective: {metric: loss, direction: minimize}\n";

/// Schedules with common beginnings.
constexpr auto schedules =
  "{x: {choice: [1, {multistep: {initial: 1, milestones: [{choice: [3, 6]}],"
  " gamma: {choice: [0.1, 0.5]}}}]}}";

/// A study that names no workload, 9 steps long.
study_admission admitted(const std::string& space, const std::string& algorithm,
                         const std::string& more = "",
                         const std::string& goal = one_goal) {
  workload_descriptor unnamed;
  unnamed.open = true;
  auto workloads = toy_workloads();
  workloads.push_back(unnamed);
  return admit_study("study: s\n" + goal + "max_steps: 9\nspace: " + space
                       + "\nalgorithm: " + algorithm + "\n" + more,
                     "s.yaml", workloads);
}

ask_tell made(const std::string& space, const std::string& algorithm,
              const std::string& more = "",
              const std::string& goal = one_goal) {
  auto result = admitted(space, algorithm, more, goal);
  for (const auto& x : result.errors)
    ADD_FAILURE() << to_text(x);
  return {*result.study, {}};
}

/// The made loss of a trial at a step: the hash of its values, in [0, 1), plus
/// a part that falls with the step.
double loss_of(const ask_tell& study, trial_no trial, step_t at) {
  const auto state = states_at(study.segments(trial), {at}).front();
  return static_cast<double>(state % 1000) / 1000 + 1 / static_cast<double>(at);
}

std::string refusal(const std::optional<error>& why) {
  return why ? why->message : "";
}

// -- what holds for every algorithm -------------------------------------------

class EveryAskedStudy : public testing::TestWithParam<const char*> {
protected:
  static ask_tell make(std::uint64_t seed, bool has_steps = false) {
    const std::string name = GetParam();
    const auto own = name.find("population") != std::string::npos;
    std::string budget;
    if (!own)
      budget = "trials: 20";
    if (has_steps)
      budget += (own ? "steps: 40" : ", steps: 40");
    return made(own ? "{x: {uniform: [0, 1]}}" : schedules, name,
                (budget.empty() ? "" : "budget: {" + budget + "}\n")
                  + std::string{"seed: "} + std::to_string(seed) + "\n");
  }

  struct played {
    std::vector<trial_work> asked;
    std::uint64_t steps = 0; ///< that were told
  };

  /// Plays a study with some workers; of all works one in `failing` fails.
  static played play(ask_tell& study, std::uint64_t seed, std::size_t workers,
                     std::uint64_t failing = 0) {
    std::mt19937_64 draws{seed};
    played result;
    std::vector<trial_work> out;
    std::map<std::pair<step_t, std::uint64_t>, trial_no> measured;
    for (;;) {
      while (out.size() < workers) {
        const auto work = study.ask();
        if (!work)
          break;
        EXPECT_LT(work->from, work->to);
        EXPECT_EQ(work->start.has_value(), work->from > 0);
        if (work->from > 0) {
          const auto state =
            states_at(study.segments(work->trial), {work->from}).front();
          EXPECT_EQ(measured.at({work->from, state}), *work->start);
        }
        out.push_back(*work);
        result.asked.push_back(*work);
      }
      if (out.empty())
        break;
      const auto place = static_cast<std::ptrdiff_t>(draws() % out.size());
      const auto work = out[static_cast<std::size_t>(place)];
      out.erase(out.begin() + place);
      if (failing != 0 && draws() % failing == 0) {
        EXPECT_EQ(refusal(study.fail(work.trial, work.to)), "");
        continue;
      }
      const auto state =
        states_at(study.segments(work.trial), {work.to}).front();
      EXPECT_TRUE(
        measured.emplace(std::pair{work.to, state}, work.trial).second)
        << "a state was measured twice";
      result.steps += work.to - work.from;
      EXPECT_EQ(
        refusal(study.tell(work.trial, work.to,
                           {{"loss", loss_of(study, work.trial, work.to)}})),
        "");
    }
    return result;
  }
};

TEST_P(EveryAskedStudy, EndsWithAnyWorkersWhateverFails) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto study = make(seed);
    const auto course = play(study, seed, 1 + seed % 5, seed % 3 * 5);
    EXPECT_FALSE(course.asked.empty());
    EXPECT_EQ(study.end(), "its algorithm has nothing left to train");
  }
}

TEST_P(EveryAskedStudy, AnswersAgainAsItDid) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    auto study = make(seed), again = make(seed);
    EXPECT_EQ(play(study, seed, 3, 7).asked, play(again, seed, 3, 7).asked);
    ASSERT_EQ(study.best().size(), again.best().size());
    for (std::size_t i = 0; i < study.best().size(); ++i)
      EXPECT_EQ(study.best()[i].values, again.best()[i].values);
  }
}

TEST_P(EveryAskedStudy, EndsWithItsStepsEachCountedOnce) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    auto all = make(seed), study = make(seed, true);
    const auto whole = play(all, seed, 1).steps;
    const auto course = play(study, seed, 1);
    // One worker goes no step beyond the budget, as each step is measured.
    EXPECT_EQ(course.steps, std::min<std::uint64_t>(whole, 40));
    if (whole > 40) {
      EXPECT_EQ(study.end(), "its budget.steps, 40, is spent");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
  Algorithms, EveryAskedStudy,
  testing::Values("random", "grid", "tpe", "gp", "asha",
                  "{asha: {sampler: gp}}", "hyperband", "sha", "median",
                  "{pbt: {population: 4, interval: 3}}"));

// -- single decisions ---------------------------------------------------------

TEST(AskTell, ATrialGoesOnFromMeasurementToMeasurement) {
  auto study = made("{x: {choice: [1, 2]}}", "grid", "eval_every: 4\n");
  const auto first = study.ask(), second = study.ask();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, (trial_work{0, 0, 4, {}}));
  EXPECT_EQ(*second, (trial_work{1, 0, 4, {}}));
  EXPECT_FALSE(study.ask());
  EXPECT_EQ(study.end(), "");
  EXPECT_FALSE(study.tell(1, 4, {{"loss", 0.5}}));
  EXPECT_EQ(study.ask(), (trial_work{1, 4, 8, 1}));
  EXPECT_FALSE(study.tell(1, 8, {{"loss", 0.5}}));
  EXPECT_EQ(study.ask(), (trial_work{1, 8, 9, 1}));
}

TEST(AskTell, TrialsThatAreOneUpToAMeasurementAreTrainedOnce) {
  auto study = made("{x: {choice: [1, {piecewise: [[0, 1], [5, 2]]}]}}", "grid",
                    "eval_every: 3\n");
  EXPECT_EQ(study.ask(), (trial_work{0, 0, 3, {}}));
  EXPECT_FALSE(study.ask()); // trial 1 waits for what trial 0 measures
  EXPECT_FALSE(study.tell(0, 3, {{"loss", 0.5}}));
  EXPECT_EQ(study.ask(), (trial_work{1, 3, 6, 0}));
  EXPECT_EQ(study.ask(), (trial_work{0, 3, 6, 0}));
  EXPECT_FALSE(study.tell(1, 6, {{"loss", 0.25}}));
  EXPECT_EQ(study.ask(), (trial_work{1, 6, 9, 1}));
}

TEST(AskTell, ATrialThatWaitedTrainsItselfWhereTheOtherFails) {
  auto study =
    made("{x: {choice: [1, {piecewise: [[0, 1], [5, 2]]}]}}", "grid");
  EXPECT_EQ(study.ask(), (trial_work{0, 0, 1, {}}));
  EXPECT_FALSE(study.ask());
  EXPECT_FALSE(study.fail(0, 1));
  EXPECT_EQ(study.ask(), (trial_work{1, 0, 1, {}}));
}

TEST(AskTell, AForkBeginsWithTheStateOfAnother) {
  auto study = made("{x: {uniform: [0, 1]}}",
                    "{pbt: {population: 4, interval: 3}}", "seed: 1\n");
  std::size_t forks = 0;
  while (const auto work = study.ask()) {
    forks += work->start && *work->start != work->trial ? 1 : 0;
    EXPECT_FALSE(study.tell(work->trial, work->to,
                            {{"loss", loss_of(study, work->trial, work->to)}}));
  }
  EXPECT_EQ(forks, 2u); // the worst of 4, after steps 3 and 6
}

TEST(AskTell, RefusesWhatItCannotTake) {
  auto study = made("{x: {choice: [1, 2]}}", "grid");
  EXPECT_EQ(refusal(study.tell(7, 1, {{"loss", 1}})),
            "trial 7 is none that was asked for");
  EXPECT_EQ(refusal(study.tell(0, 1, {{"loss", 1}})),
            "trial 0 is not out: ask for its work first");
  ASSERT_TRUE(study.ask());
  EXPECT_EQ(refusal(study.tell(0, 2, {{"loss", 1}})),
            "trial 0 is out up to step 1, not 2");
  EXPECT_EQ(refusal(study.tell(0, 1, {{"los", 1}})),
            "the value of 'loss' is missing, did you mean 'los'?");
  for (const auto bad : {std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_EQ(refusal(study.tell(0, 1, {{"loss", bad}})),
              "the value of 'loss' must be a finite number: tell a trial that "
              "has diverged as failed");
  EXPECT_EQ(refusal(study.tell(0, 1, {{"loss", 1}})), "");
  EXPECT_EQ(refusal(study.tell(0, 1, {{"loss", 1}})),
            "trial 0 has its value at step 1 already");
  ASSERT_TRUE(study.ask());
  EXPECT_EQ(refusal(study.fail(0, 2)), "");
  EXPECT_EQ(refusal(study.tell(0, 2, {{"loss", 1}})),
            "trial 0 has failed, and takes no further value");
}

TEST(AskTell, RefusesStudiesThatNeedAService) {
  const auto found = admitted(schedules, "client");
  ASSERT_EQ(found.errors.size(), 1u);
  for (const auto* more :
       {"budget: {seconds: 9}\n", "budget: {device_hours: 1, trials: 3}\n",
        "budget: {deadline: 1h}\n", "budget: {cost: 1}\n",
        "budget: {trials: 3, failed: 2}\n", "stop_when: {no_gain: 3}\n",
        "repeats: 2\n", "notify: {url: 'https://a.b/c', on: [ended]}\n"}) {
    const auto study = admitted(schedules, "random", more).study;
    ASSERT_TRUE(study) << more;
    EXPECT_EQ(ask_tell::refusals_of(study->spec()).size(), 1u) << more;
  }
  const auto plain = admitted(schedules, "random", "budget: {steps: 9}\n");
  EXPECT_TRUE(ask_tell::refusals_of(plain.study->spec()).empty());
}

TEST(AskTell, TheBestIsOfTrialsThatHaveNotFailed) {
  auto study = made("{x: {choice: [1, 2, 3]}}", "grid");
  EXPECT_TRUE(study.best().empty());
  for (const auto loss : {0.5, 0.2, 0.2}) {
    const auto work = study.ask();
    EXPECT_FALSE(study.tell(work->trial, work->to, {{"loss", loss}}));
    EXPECT_EQ(study.ask()->to, 2u);
  }
  ASSERT_EQ(study.best().size(), 1u);
  EXPECT_EQ(study.best()[0].trial, 1u);
  EXPECT_FALSE(study.fail(1, 2));
  ASSERT_EQ(study.best().size(), 1u);
  EXPECT_EQ(study.best()[0].trial, 2u);
  EXPECT_EQ(study.best()[0].step, 1u);
}

TEST(AskTell, SeveralMetricsHaveAFrontWithinTheConstraints) {
  auto study = made("{x: {choice: [1, 2, 3]}}", "grid",
                    "constraints: ['ms <= 8']\neval_every: 9\n",
                    "objective: [{metric: loss, direction: minimize}, {metric:"
                    " ms, direction: minimize}]\n");
  const std::vector<metrics> told{{{"loss", 1}, {"ms", 9}},
                                  {{"loss", 2}, {"ms", 5}},
                                  {{"loss", 3}, {"ms", 4}}};
  for (const auto& values : told) {
    const auto work = study.ask();
    EXPECT_EQ(refusal(study.tell(work->trial, work->to, {{"loss", 1}})),
              "the value of 'ms' is missing");
    EXPECT_FALSE(study.tell(work->trial, work->to, values));
  }
  ASSERT_EQ(study.best().size(), 2u);
  EXPECT_EQ(study.best()[0].values, told[1]);
  EXPECT_EQ(study.best()[1].values, told[2]);
}

TEST(AskTell, GivesAgainWhatIsOut) {
  auto study = made("{x: {choice: [1, 2, 3]}}", "grid");
  const auto first = study.ask(), second = study.ask();
  study.give_again();
  EXPECT_TRUE(study.is_given_again());
  EXPECT_EQ(study.ask(), first);
  EXPECT_FALSE(study.tell(1, 1, {{"loss", 1}})); // who had it was not gone
  EXPECT_EQ(study.ask(), (trial_work{1, 1, 2, 1}));
  EXPECT_FALSE(study.is_given_again());
  EXPECT_EQ(second->trial, 1u);
}

TEST(AskTell, AfterItsEndAValueCountsForTheBestAlone) {
  auto study = made("{x: {choice: [1, 2, 3]}}", "grid", "budget: {steps: 1}\n");
  ASSERT_TRUE(study.ask() && study.ask());
  EXPECT_FALSE(study.tell(0, 1, {{"loss", 1}}));
  EXPECT_EQ(study.end(), "its budget.steps, 1, is spent");
  EXPECT_FALSE(study.ask());
  EXPECT_FALSE(study.tell(1, 1, {{"loss", 0.5}}));
  EXPECT_EQ(study.best()[0].trial, 1u);
  EXPECT_FALSE(study.ask());
}

} // namespace
} // namespace hippo
