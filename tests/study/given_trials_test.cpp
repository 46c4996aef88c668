// Trials that somebody gives a study: with values of the space or others, and
// forks of trials that are there.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "hippo/service/study/given_trials.hpp"
#include "study_world.hpp"

namespace hippo {

namespace {

using test::options_of;

const std::vector<std::string> schedules{
  "0.1",
  "0.2",
  "{cosine: {initial: 0.1, end: 0.01, horizon: 12}}",
  "{wsd: {peak: 0.1, from: 0.01, warmup: 2, decay: 3, end: 0.02}}",
  "{multistep: {initial: 0.1, milestones: [4, 8], gamma: 0.1}}",
  "{piecewise: [[0, 0.1], [3, 0.2], [9, 0.3]]}",
  "{join: [[0, {exponential: {initial: 0.1, gamma: 0.9}}], [6, 0.3]]}"};

/// A schedule that follows measurements.
const std::string plateau =
  "{reduce_on_plateau: {initial: 1, factor: 0.5, patience: 1}}";

class GivenTrials : public testing::Test {
protected:
  trial_parameters values(const std::string& lr) const {
    auto read =
      read_parameters("{lr: " + lr + ", momentum: 0.9}", options.spec.lengths(),
                      options.workload, name_rules::today, options.spec.typed);
    EXPECT_TRUE(read) << read.failure().message;
    return *read;
  }

  expected<given_trials> given(const std::string& text) const {
    return read_given_trials(text, options.spec, options.workload,
                             name_rules::today);
  }

  expected<trial_parameters> forked(const std::string& lr,
                                    const std::string& fork) const {
    const auto read = given("{forks: [" + fork + "]}");
    if (!read)
      return read.failure();
    return values_of(read->forks.at(0), values(lr), options.spec,
                     options.workload, name_rules::today);
  }

  std::string refusal(const std::string& lr, const std::string& fork) const {
    const auto found = forked(lr, fork);
    return found ? "" : found.failure().message;
  }

  study_options options = options_of("algorithm: random\n");
};

TEST_F(GivenTrials, AForkHasTheValuesOfItsTrialUntilItsStepAndOthersAfter) {
  const auto last = options.spec.max_steps;
  for (const auto& before : schedules)
    for (const auto& after : schedules)
      for (step_t at = 1; at < last; ++at) {
        const auto old = values(before), fresh = values(after);
        const auto found = forked(before, "{trial: 3, at: " + std::to_string(at)
                                            + ", params: {lr: " + after + "}}");
        const auto& was = old.sequences.at("lr");
        const auto& becomes = fresh.sequences.at("lr");
        bool is_other = false;
        for (step_t step = at; step < last; ++step)
          is_other = is_other || was.form_at(step) != becomes.form_at(step);
        ASSERT_TRUE(found || !is_other) << before << after << at;
        if (!found)
          continue;
        const auto& now = found->sequences.at("lr");
        for (step_t step = 0; step < last; ++step)
          ASSERT_EQ(now.at(step), (step < at ? was : becomes).at(step))
            << before << ' ' << after << ' ' << at << ' ' << step;
        EXPECT_EQ(found->sequences.at("momentum"),
                  old.sequences.at("momentum"));
        EXPECT_EQ(found->length, old.length);
      }
}

TEST_F(GivenTrials, AJoinOfAForkIsReadAsTheFork) {
  int joins = 0;
  for (const auto& before : schedules)
    for (const auto& after : schedules) {
      const auto found =
        forked(before, "{trial: 3, at: 5, params: {lr: " + after + "}}");
      if (!found)
        continue;
      const auto& shown = found->shown.at("lr");
      if (!shown.contains("join")) {
        EXPECT_TRUE(shown.contains("fork")) << shown;
        continue;
      }
      ++joins;
      EXPECT_EQ(values(shown.dump()).sequences, found->sequences) << shown;
    }
  EXPECT_GE(joins, 8);
}

TEST_F(GivenTrials, AForkThatCannotBeIsRefused) {
  const auto wrong = [&](const std::string& fork, const std::string& why) {
    const auto said = refusal("0.1", fork);
    EXPECT_NE(said.find(why), std::string::npos) << fork << ": " << said;
  };
  const auto last = std::to_string(options.spec.max_steps);
  wrong("{trial: 3, at: 0, params: {lr: 1}}",
        "at 0: must be a step from 1 to "
          + std::to_string(options.spec.max_steps - 1) + ", since trial 3 has "
          + last);
  wrong("{trial: 3, at: " + last + ", params: {lr: 1}}", "must be a step");
  wrong("{trial: 3, at: 5, params: {lrr: 1}}", "'lrr'");
  wrong("{trial: 3, at: 5, params: {weight_decay: 1}}",
        "trial 3 has no hyper-parameter 'weight_decay'");
  wrong("{trial: 3, at: 5, params: {lr: 0.1}}", "give one that changes");
  wrong("{trial: 3, at: 5, params: {lr: {choice: [1, 2]}}}",
        "nothing to choose");
  wrong("{trial: 3, at: 5, params: {lr: " + plateau + "}}",
        "follows measurements");
  for (const std::string fork :
       {"{trial: 3, at: 5}", "{trial: 3, at: 5, params: {}}",
        "{trial: -3, at: 5, params: {lr: 1}}", "3",
        "{trial: 3, at: 5.5, params: {lr: 1}}",
        "{trial: 3, at: 5, params: {lr: 1}, more: 1}"})
    wrong(fork, "forks[0]: must be a map with the number of a trial");
  EXPECT_NE(refusal(plateau, "{trial: 3, at: 5, params: {lr: 1}}")
              .find("cannot be forked"),
            std::string::npos);
}

TEST_F(GivenTrials, ValuesOutsideOfTheSpaceAreGivenInFull) {
  const auto found = given("{outside: [{lr: 0.05, momentum: 0.7}]}");
  ASSERT_TRUE(found) << found.failure().message;
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->outside[0].shown.dump(), R"({"lr":0.05,"momentum":0.7})");
  const auto wrong = [&](const std::string& text, const std::string& why) {
    const auto read = given(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.failure().message.find(why), std::string::npos)
      << text << ": " << read.failure().message;
  };
  wrong("{outside: [{lr: 0.05}]}", "outside[0]: 'momentum' is missing");
  wrong("{outside: [{lr: 0.05, momentum: 0.7, mom: 1}]}",
        "the study has no hyper-parameter 'mom'");
  wrong("{outside: [{lr: {choice: [1, 2]}, momentum: 0.7}]}",
        "nothing to choose");
  wrong("{outside: [3]}", "outside[0]: must be a map");
  wrong("{outside: []}", "must be a list of 1 to 1000 maps");
  wrong("{outside: [{lr: " + plateau + ", momentum: 0.7}]}",
        "follows measurements");
  wrong("{trials: [{lr: 0.1, momentum: 0.8}], outside: []}",
        "must be a map with 'trials', 'outside' or 'forks' alone");
  wrong("{}", "alone");
}

TEST_F(GivenTrials, ConstantsOfTheSpaceNeedNotBeGiven) {
  options = options_of("algorithm: random\n",
                       "  lr: {uniform: [0.1, 0.2]}\n  momentum: 0.9\n");
  const auto found = given("{outside: [{lr: 7}]}");
  ASSERT_TRUE(found) << found.failure().message;
  EXPECT_EQ(found->outside[0].shown.dump(), R"({"lr":7,"momentum":0.9})");
}

} // namespace

} // namespace hippo
