// Studies whose trials have several lengths.

#include <cmath>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "hippo/search/registry.hpp"
#include "hippo/search/tuner.hpp"
#include "search/studies.hpp"
#include "search/tuner_runs.hpp"

namespace hippo {
namespace {

constexpr auto decays = "{x: {wsd: {peak: {choice: [1, 2, 3]}, decay:"
                        " {choice: [10%, 20%]}, shape: {choice: [linear,"
                        " cosine]}}}}";

study_spec make(const std::string& algorithm, const std::string& more = "",
                const std::string& space = decays) {
  const auto file = read_study(
    "study: s\nworkload: toy\nobjective: {metric: acc}\neval_every: 10\n"
    "max_steps: {choice: [30, 60, 90]}\nspace: "
      + space + "\nalgorithm: " + algorithm + "\n" + more,
    "s.yaml", toy_workloads());
  for (const auto& x : file.errors)
    ADD_FAILURE() << to_text(x);
  return file.study ? *file.study : study_spec{};
}

step_t length_of(const tuner& x, trial_no trial) {
  return x.parameters(trial).shown.at(length_name).get<step_t>();
}

class StudyOfLengths : public testing::TestWithParam<const char*> {};

TEST_P(StudyOfLengths, TrainsEachTrialToItsOwn) {
  const auto spec = make(GetParam(), "budget: {trials: 36}");
  ASSERT_TRUE(check_algorithm(spec).errors.empty());
  for (std::uint64_t order = 0; order < 3; ++order) {
    tuner_run run{spec};
    run.run(order, order == 2 ? 3 : 0);
    const auto& known = run.decisions();
    EXPECT_EQ(known.when().rungs, (std::vector<step_t>{30, 60, 90}));
    std::map<step_t, int> lengths;
    for (trial_no trial = 0; trial < known.trials(); ++trial) {
      if (!run.was_added(trial))
        continue;
      const auto length = length_of(known, trial);
      ++lengths[length];
      EXPECT_EQ(known.end_of(trial), length);
      if (order < 2)
        EXPECT_EQ(run.asked(trial), length);
      else
        EXPECT_LE(run.asked(trial), length);
    }
    EXPECT_EQ(lengths.size(), 3u);
    tuner_run again{spec};
    again.replay(run.events());
    EXPECT_EQ(again.turns(), run.turns());
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, StudyOfLengths,
                         testing::Values("grid", "random", "tpe",
                                         "{tpe: {startup: 3}}", "gp",
                                         "{gp: {startup: 3}}"));

TEST(Lengths, SamplersLearnWithinALength) {
  // What a length adds to the objective says nothing of the values.
  for (const char* algorithm : {"{tpe: {startup: 4}}", "{gp: {startup: 4}}"}) {
    auto spec = make(algorithm, "budget: {trials: 60}",
                     "{x: {uniform: [0, 1]}}");
    tuner x{spec, read_search(spec), {}};
    std::map<step_t, int> lengths;
    double late = 0;
    x.start();
    trial_no next = 0;
    while (next < 60) {
      ASSERT_LE(x.trials(), 60u);
      const auto values = x.parameters(next);
      ++lengths[values.length];
      const auto at = std::get<double>(values.sequences.at("x").at(0));
      if (next >= 30)
        late += std::abs(at - 0.2) / 30;
      for (step_t step = 10; step <= values.length; step += 10)
        x.on_result(next, step,
                    static_cast<double>(step) - std::abs(at - 0.2));
      ++next;
    }
    EXPECT_LT(late, 0.24) << algorithm; // random values: 0.34
    for (const auto& [length, count] : lengths)
      EXPECT_GE(count, 8) << algorithm << ' ' << length;
  }
}

TEST(Lengths, ClientsTrainToAnyStepOfATrial) {
  const auto spec = make("client");
  ASSERT_TRUE(check_algorithm(spec, true).errors.empty());
  tuner x{spec, read_search(spec), {}};
  x.start();
  const auto values = read_parameters("{steps.max: 60, x: 1}", spec.lengths(),
                                      toy_workloads().front());
  ASSERT_TRUE(values);
  ASSERT_TRUE(x.client_ask(*values));
  EXPECT_EQ(x.end_of(0), 60u);
  EXPECT_EQ(x.refusal_of_train(0, 70)->message,
            "trial 0 ends at step 60, before step 70");
  ASSERT_TRUE(x.client_train(0, 60));
  x.on_result(0, 60, 1);
  EXPECT_EQ(x.refusal_of_train(0, 60)->message, "trial 0 has ended");
}

TEST(Lengths, OtherAlgorithmsTakeOne) {
  const auto error_of = [](const std::string& algorithm) {
    const auto found
      = check_algorithm(make(algorithm, "budget: {trials: 9}"), true).errors;
    return found.size() == 1 ? found[0].path + ": " + found[0].message
                             : std::to_string(found.size());
  };
  for (const char* name : {"sha", "asha", "hyperband", "bohb", "boss", "dehb",
                           "freeze-thaw", "median", "pbt"})
    EXPECT_EQ(error_of(name),
              std::string{"algorithm: "} + name
                + " takes trials of one length: use grid, random, tpe, gp or"
                  " client, or give max_steps one number");
  EXPECT_EQ(error_of("{client: {max: 30}}"),
            "algorithm.client.max: says how long trials are, as max_steps"
            " does: give one of them");
}

} // namespace
} // namespace hippo
