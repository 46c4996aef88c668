#include "hippo/search/automatic.hpp"

#include <gtest/gtest.h>

#include "hippo/search/accepted_study.hpp"
#include "space/fixtures.hpp"

namespace hippo {
namespace {

const std::string few = "  momentum: {choice: [0.8, 0.9]}\n";
const std::string flat = "  lr: {log_uniform: [0.001, 1]}\n"
                         "  momentum: {uniform: [0.1, 0.9]}\n";
const std::string schedules
  = "  lr: {multistep: {initial: {uniform: [0.1, 1], points: 5},"
    " milestones: [{choice: [8, 18, 27]}], gamma: {choice: [0.1, 0.2]}}}\n"
    "  momentum: {choice: [0.8, 0.9]}\n";

/// Such schedules, no two of which begin alike.
const std::string ranges
  = "  lr: {multistep: {initial: {uniform: [0.1, 1]},"
    " milestones: [{choice: [8, 18, 27]}], gamma: {uniform: [0.1, 0.2]}}}\n";

const std::string late = "  lr: {piecewise: [[0, {log_uniform: [0.01, 1]}],"
                         " [7, {log_uniform: [0.01, 1]}],"
                         " [14, {log_uniform: [0.01, 1]}],"
                         " [21, {log_uniform: [0.01, 1]}]]}\n";

const std::string warmed_up
  = "  lr: {warmup: {steps: 20, from: 0.01, to: {log_uniform: [0.1, 1]}}}\n"
    "  momentum: {uniform: [0.1, 0.9]}\n";

/// The text of a study of up to 27 steps.
std::string text_of(const std::string& space, const std::string& more) {
  auto result = test::with_space(space);
  result.replace(result.find("max_steps: 12"), 13, "max_steps: 27");
  return result + more;
}

automatic_algorithm choice(const std::string& space, const std::string& more) {
  const auto read = test::read(text_of(space, more));
  EXPECT_TRUE(read.study) << test::texts(read.errors).front();
  return choose_algorithm(*read.study);
}

std::string chosen(const std::string& space, const std::string& more) {
  return to_json_text(choice(space, more).algorithm);
}

/// ASHA with a Gaussian process whose first rung is at a step.
std::string halving_from(int step, const std::string& preferred = "ties") {
  return R"({"asha":{"eta":3.0,"min":)" + std::to_string(step)
         + R"(.0,"prefer_shared":")" + preferred + R"(","sampler":"gp"}})";
}

TEST(Automatic, FewCombinationsAreAllTrained) {
  EXPECT_EQ(chosen(few, ""), R"({"grid":{}})");
  EXPECT_EQ(chosen(few, "budget: {trials: 2}\n"), R"({"grid":{}})");
  EXPECT_NE(choice(few, "").why.find("2 combinations"), std::string::npos);
  // Not by a budget that leaves some out.
  EXPECT_EQ(chosen(few, "budget: {trials: 1}\n").find("grid"),
            std::string::npos);
}

TEST(Automatic, FewMeasurementsAreWorthAModelOfTheWholeTrial) {
  auto read = test::read(text_of(flat, "budget: {trials: 40}\n"));
  ASSERT_TRUE(read.study);
  read.study->objective.every = 9;
  EXPECT_EQ(to_json_text(choose_algorithm(*read.study).algorithm),
            R"({"gp":{}})");
  read.study->budget.trials = 20'000;
  EXPECT_EQ(to_json_text(choose_algorithm(*read.study).algorithm),
            R"({"tpe":{}})");
}

TEST(Automatic, AModelSpendsASmallBudgetOfSteps) {
  const auto freezes = [](const std::string& space, const std::string& more,
                          std::size_t trainers = 1) {
    const auto read = test::read(text_of(space, more));
    EXPECT_TRUE(read.study) << test::texts(read.errors).front();
    return choose_algorithm(*read.study, trainers).algorithm.name
           == "freeze-thaw";
  };
  const std::string small = "budget: {steps: 810}\n"; // 30 times 27
  EXPECT_TRUE(freezes(flat, small));
  EXPECT_TRUE(freezes(flat, small, 9));
  EXPECT_TRUE(freezes(flat, "budget: {steps: 1620}\nrepeats: {seeds: 2}\n"));
  EXPECT_TRUE(freezes(flat, "budget: {steps: 810, trials: 1000}\n"));
  EXPECT_FALSE(freezes(flat, small, 10));
  EXPECT_FALSE(freezes(flat, "budget: {steps: 811}\n"));
  EXPECT_FALSE(freezes(flat, "budget: {trials: 30}\n"));
  EXPECT_FALSE(freezes(schedules, small));
  EXPECT_FALSE(freezes(flat, small + "prior: {lr: {mode: 0.1}}\n"));
}

TEST(Automatic, TrialsThatShareBeginningsAreHalvedBehindThem) {
  EXPECT_EQ(chosen(schedules, ""), halving_from(9));
  // Where most of what is decided counts from the first step on, as soon as
  // there are some measurements; it does not matter that no two begin alike by
  // themselves.
  for (const auto* range :
       {"uniform: [0.1, 1], points: 99", "uniform: [0.1, 1]"})
    EXPECT_EQ(chosen("  lr: {" + std::string{range} + "}\n"
                     "  momentum: {choice: [0.8, 0.9]}\n"
                     "  weight_decay: {piecewise: [[0, 0],"
                     " [{choice: [5, 9]}, 0.1]]}\n",
                     ""),
              halving_from(3));
}

// Trials that begin at once are as blind as the first ten of one trainer, and
// cost no more up to their first rung.
TEST(Automatic, TheMoreTrainersThereAreTheSoonerTrialsAreCompared) {
  const auto read = test::read(text_of(ranges, "budget: {trials: 5000}\n"));
  ASSERT_TRUE(read.study);
  const auto of = [&](std::size_t trainers) {
    return to_json_text(choose_algorithm(*read.study, trainers).algorithm);
  };
  for (const std::size_t x : {1, 10})
    EXPECT_EQ(of(x), halving_from(9)) << x;
  for (const std::size_t x : {11, 30})
    EXPECT_EQ(of(x), halving_from(3, "price")) << x;
  for (const std::size_t x : {31, 1000})
    EXPECT_EQ(of(x), halving_from(1, "price")) << x;
  EXPECT_NE(choose_algorithm(*read.study, 40).why.find("with 40 trainers"),
            std::string::npos);
}

// Early measurements tell no more of them where many are trained at once.
TEST(Automatic, OthersDoNotDependOnHowManyTrainersThereAre) {
  for (const auto& [space, more] :
       {std::pair{few, ""},
        std::pair{warmed_up, "budget: {trials: 5000}\n"},
        std::pair{flat, "budget: {trials: 5000}\n"},
        std::pair{late, "budget: {trials: 5000}\n"},
        std::pair{flat, "budget: {trials: 20000}\n"}}) {
    const auto read = test::read(text_of(space, more));
    ASSERT_TRUE(read.study);
    EXPECT_EQ(to_json_text(choose_algorithm(*read.study, 1000).algorithm),
              chosen(space, more));
  }
}

TEST(Automatic, TrialsThatAreDecidedLateAreTrainedInFull) {
  EXPECT_EQ(chosen(late, "budget: {trials: 40}\n"), R"({"gp":{}})");
  EXPECT_EQ(chosen(late, "budget: {trials: 20000}\n"), R"({"tpe":{}})");
  EXPECT_NE(choice(late, "").why.find("only after step 9:"), std::string::npos);
  // What differs after a few steps of a warm-up is none of it.
  EXPECT_EQ(chosen(warmed_up, "budget: {seconds: 40}\n"), halving_from(3));
}

TEST(Automatic, ValuesThatHoldThroughoutAreModelled) {
  EXPECT_EQ(chosen(flat, ""), halving_from(3));
  EXPECT_EQ(chosen(flat, "budget: {seconds: 40}\n"), halving_from(3));
  // Where a model of them would take too long.
  EXPECT_EQ(chosen(flat, "budget: {trials: 20000}\n"),
            R"({"dehb":{"eta":3.0,"min":3.0}})");
}

// Each rung has three times the steps of the one before, the last one too.
TEST(Automatic, RungsAreEvenlyApartUpToTheLastStep) {
  const auto min_of = [](step_t steps, step_t every) {
    auto read = test::read(text_of(flat, "budget: {seconds: 40}\n"));
    EXPECT_TRUE(read.study);
    read.study->max_steps = steps;
    read.study->objective.every = every;
    return choose_algorithm(*read.study).algorithm.options.at("min");
  };
  EXPECT_EQ(min_of(52, 1), scalar{6.0});
  EXPECT_EQ(min_of(100, 1), scalar{4.0});
  EXPECT_EQ(min_of(10, 1), scalar{4.0});
  EXPECT_EQ(min_of(4, 1), scalar{2.0});
  EXPECT_EQ(min_of(120, 5), scalar{15.0});
}

// 6 trials at least are trained in full.
TEST(Automatic, ABudgetOfFewTrialsTrainsThem) {
  const auto of = [](const std::string& budget) {
    return chosen(flat, "budget: {" + budget + "}\n");
  };
  EXPECT_EQ(of("trials: 54"), halving_from(3));
  EXPECT_EQ(of("trials: 53"), halving_from(9));
  EXPECT_EQ(of("trials: 18"), halving_from(9));
  EXPECT_EQ(of("trials: 17"), R"({"gp":{}})");
  EXPECT_EQ(choice(flat, "budget: {trials: 17}\n").why,
            "17 trials are few: each is trained to its end");
  // Where a study ends by its time, it has as many as that is enough for.
  for (const auto* time : {"seconds: 40", "device_hours: 1", "steps: 811"})
    EXPECT_EQ(of("trials: 17, " + std::string{time}), halving_from(3)) << time;
}

TEST(Automatic, WhatIsChosenIsReadAsItWasWritten) {
  for (const auto* space : {&few, &flat, &schedules}) {
    const auto x = choice(*space, "budget: {trials: 40}\n").algorithm;
    const auto again = algorithm_from_json(to_json_text(x));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->name, x.name);
    EXPECT_EQ(again->options, x.options);
  }
  for (const auto* text : {"", "[]", "{}", "1", R"({"asha": 1})", "{",
                           R"({"asha": {"eta": [3]}})", R"({"a":{},"b":{}})"})
    EXPECT_FALSE(algorithm_from_json(text)) << text;
}

TEST(Automatic, WithoutManyTrialsForEachTrainerNoneIsLearnedFrom) {
  for (const auto* trials : {"159", "160"}) {
    const auto read = test::read(
      text_of(ranges, "budget: {trials: " + std::string{trials} + "}\n"));
    ASSERT_TRUE(read.study);
    EXPECT_EQ(to_json_text(choose_algorithm(*read.study, 40).algorithm),
              trials == std::string{"159"} ? halving_from(9)
                                           : halving_from(1, "price"));
  }
}

// -- how a study gets it ------------------------------------------------------

study_admission admit(const std::string& more, admission how = {}) {
  return admit_study(text_of(schedules, more), "s.yaml", test::workloads(),
                     std::move(how));
}

TEST(Automatic, IsForStudiesThatNameNoAlgorithm) {
  for (const auto* more : {"", "algorithm: auto\n"}) {
    const auto x = admit(more);
    ASSERT_TRUE(x.study);
    EXPECT_EQ(x.study->spec().algorithm.name, "asha");
    EXPECT_EQ(x.study->chosen(), halving_from(9));
    ASSERT_EQ(x.notes.size(), 1u);
    EXPECT_EQ(x.notes.front().message.find(x.study->chosen() + ", since "), 0u);
  }
  const auto x = admit("algorithm: sha\n");
  ASSERT_TRUE(x.study);
  EXPECT_EQ(x.study->spec().algorithm.name, "sha");
  EXPECT_EQ(x.study->chosen(), "");
  EXPECT_TRUE(x.notes.empty());
}

TEST(Automatic, IsToldOfTheTrainersThatAreThere) {
  admission how;
  how.trainers = 40;
  const auto x = admit_study(text_of(ranges, "budget: {trials: 400}\n"),
                             "s.yaml", test::workloads(), how);
  ASSERT_TRUE(x.study);
  EXPECT_EQ(x.study->chosen(), halving_from(1, "price"));
}

TEST(Automatic, TakesNoOptions) {
  const auto x = admit("algorithm: {auto: {eta: 3}}\n");
  ASSERT_EQ(x.errors.size(), 1u);
  EXPECT_EQ(to_text(x.errors.front()),
            "s.yaml:8:19: algorithm.auto: takes no options: name the algorithm"
            " that they are of");
}

// Another program may choose otherwise; what is stored came of the old choice.
TEST(Automatic, AStudyThatIsRestoredKeepsWhatWasChosen) {
  const auto of = [](const study_admission& x) {
    return to_json_text(x.study->spec().algorithm);
  };
  const std::string other = R"({"tpe":{"startup":7.0}})";
  EXPECT_EQ(of(admit("", {false, other})), other);
  EXPECT_EQ(of(admit("algorithm: auto\n", {false, other})), other);
  EXPECT_EQ(of(admit("", {false, ""})), R"({"random":{}})");
  EXPECT_EQ(of(admit("algorithm: sha\n", {false, ""})), R"({"sha":{}})");
  EXPECT_FALSE(admit("", {false, "nothing"}).study);
  auto x = admit("");
  EXPECT_FALSE(x.study->restore(other, 9));
  EXPECT_EQ(of(x), other);
  EXPECT_TRUE(x.study->restore("nothing", 9));
}

} // namespace
} // namespace hippo
