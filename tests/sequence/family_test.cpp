#include "hippo/sequence/family.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hippo {
namespace {

using json = nlohmann::ordered_json;

sequence make(const std::string& text, step_t max_steps = 100) {
  const auto made = make_sequence(json::parse(text), max_steps);
  for (const auto& x : made.errors)
    ADD_FAILURE() << text << ": " << x.message;
  return made.value;
}

/// Renders each piece as `begin: form`.
std::string shown(const std::string& text, step_t max_steps = 100,
                  const observations& observed = {}) {
  const auto made = make_sequence(json::parse(text), max_steps, observed);
  for (const auto& x : made.errors)
    ADD_FAILURE() << text << ": " << x.message;
  std::string result;
  for (const auto& x : made.value.pieces())
    result += (result.empty() ? "" : ", ") + std::to_string(x.begin) + ": "
              + to_text(x.shape);
  return result;
}

std::vector<double> values(const sequence& x, step_t count) {
  std::vector<double> result;
  for (step_t t = 0; t < count; ++t)
    result.push_back(std::get<double>(x.at(t)));
  return result;
}

void expect_values(const std::string& text,
                   const std::vector<double>& expected) {
  const auto found = values(make(text), expected.size());
  for (std::size_t t = 0; t < expected.size(); ++t)
    EXPECT_NEAR(found[t], expected[t], 1e-11 * std::abs(expected[t]) + 1e-16)
      << text << " at step " << t;
}

/// Renders each remark as `where/where: message`.
std::vector<std::string> texts(const std::vector<remark>& xs) {
  std::vector<std::string> result;
  for (const auto& x : xs) {
    std::string text;
    for (const auto& part : x.where)
      text += '/' + part;
    result.push_back(text + ": " + x.message);
  }
  return result;
}

void expect_errors(const std::string& text,
                   const std::vector<std::string>& expected) {
  const auto made = make_sequence(json::parse(text), 12);
  EXPECT_EQ(texts(made.errors), expected) << text;
}

// -- values: what torch.optim.lr_scheduler gives for the same schedule --------

TEST(Family, Constant) {
  expect_values("0.1", {0.1, 0.1});
  expect_values(R"({"constant": 0.1})", {0.1, 0.1, 0.1});
  expect_values("true", {1, 1});
  EXPECT_EQ(make(R"({"constant": "sgd"})").at(5), scalar{"sgd"});
}

TEST(Family, Multistep) { // MultiStepLR
  expect_values(R"({"multistep":
                   {"initial": 0.1, "milestones": [2, 5], "gamma": 0.1}})",
                {0.1, 0.1, 0.01, 0.01, 0.01, 0.001, 0.001});
}

TEST(Family, Step) { // StepLR
  expect_values(R"({"step": {"initial": 64, "size": 3, "gamma": 2}})",
                {64, 64, 64, 128, 128, 128, 256});
}

TEST(Family, Piecewise) {
  expect_values(R"({"piecewise": [[0, 0.8], [4, 0.9]]})",
                {0.8, 0.8, 0.8, 0.8, 0.9, 0.9});
  const auto x = make(R"({"piecewise": [[0, "adamw"], [2, "sgd"]]})");
  EXPECT_EQ(x.at(1), scalar{"adamw"});
  EXPECT_EQ(x.at(2), scalar{"sgd"});
}

TEST(Family, Exponential) { // ExponentialLR
  expect_values(R"({"exponential": {"initial": 0.1, "gamma": 0.9}})",
                {0.1, 0.09, 0.081, 0.0729, 0.06561});
  expect_values(
    R"({"exponential": {"initial": 0.1, "gamma": 0.5, "every": 2}})",
    {0.1, 0.1, 0.05, 0.05, 0.025});
}

TEST(Family, Linear) { // LinearLR
  expect_values(R"({"linear": {"from": 0.025, "to": 0.05, "horizon": 4}})",
                {0.025, 0.03125, 0.0375, 0.04375, 0.05, 0.05});
}

TEST(Family, Cosine) { // CosineAnnealingLR up to its horizon
  expect_values(R"({"cosine": {"initial": 0.1, "horizon": 5, "end": 0.001}})",
                {0.1, 0.0905463412215599, 0.0657963412215599,
                 0.0352036587784401, 0.0104536587784401, 0.001, 0.001});
  expect_values(R"({"cosine": {"initial": 1, "horizon": 4}})",
                {1, 0.853553390593274, 0.5, 0.146446609406726, 0, 0});
}

TEST(Family, Warmup) {
  expect_values(R"({"warmup": {"steps": 4, "from": 0, "to": 0.2}})",
                {0, 0.05, 0.1, 0.15, 0.2, 0.2});
  expect_values(R"({"warmup": {"steps": 3, "from": 0.01, "to": 0.1,
                   "then": {"multistep": {"milestones": [2], "gamma": 0.1}}}})",
                {0.01, 0.04, 0.07, 0.1, 0.1, 0.01, 0.01});
  expect_values(R"({"warmup": {"steps": 1, "from": 0.5, "to": 1,
                   "then": {"warmup": {"steps": 2, "from": 2, "to": 3,
                   "then": {"exponential": {"gamma": 0.5}}}}}})",
                {0.5, 2, 2.5, 3, 1.5, 0.75});
}

// -- canonical form -----------------------------------------------------------

void expect_same(const std::vector<std::string>& spellings) {
  for (const auto& text : spellings)
    EXPECT_EQ(make(text), make(spellings[0])) << text;
}

TEST(Canonical, WhatDoesNotChangeIsConstant) {
  expect_same({
    "0.1",
    "0.10000000000000001",
    R"({"constant": 0.1})",
    R"({"multistep": {"initial": 0.1, "milestones": [3], "gamma": 1}})",
    R"({"step": {"initial": 0.1, "size": 1, "gamma": 1}})",
    R"({"exponential": {"initial": 0.1, "gamma": 1}})",
    R"({"linear": {"from": 0.1, "to": 0.1, "horizon": 9}})",
    R"({"cosine": {"initial": 0.1, "end": 0.1, "horizon": 9}})",
    R"({"piecewise": [[0, 0.1], [4, 0.1]]})",
    R"({"warmup": {"steps": 5, "from": 0.1, "to": 0.1}})",
    R"({"warmup": {"steps": 0, "from": 7, "to": 0.1}})",
    R"({"multistep": {"initial": 0.1, "milestones": [100], "gamma": 0.5}})",
    R"({"exponential": {"initial": 0.1, "gamma": 0.5, "every": 100}})",
  });
  expect_same({"0", R"({"exponential": {"initial": 0, "gamma": 0.5}})"});
}

TEST(Canonical, APlateauIsAPlateauWhoeverMadeIt) {
  expect_same({
    R"({"multistep": {"initial": 0.1, "milestones": [40, 80], "gamma": 0.1}})",
    R"({"step": {"initial": 0.1, "size": 40, "gamma": 0.1}})",
    R"({"exponential": {"initial": 0.1, "every": 40, "gamma": 0.1}})",
    R"({"piecewise": [[0, 0.1], [40, 0.01], [80, 0.001]]})",
    R"({"warmup": {"steps": 40, "from": 0.1, "to": 0.1,
        "then": {"piecewise": [[0, 0.01], [40, 0.001]]}}})",
  });
}

TEST(Canonical, ADecayAtEveryStepIsExponential) {
  expect_same({R"({"exponential": {"initial": 0.1, "gamma": 0.9}})",
               R"({"exponential": {"initial": 0.1, "gamma": 0.9, "every": 1}})",
               R"({"step": {"initial": 0.1, "size": 1, "gamma": 0.9}})"});
  expect_same({R"({"exponential": {"initial": 0.1, "gamma": 0}})",
               R"({"piecewise": [[0, 0.1], [1, 0]]})"});
}

TEST(Canonical, NumbersAreRoundedInCurvesToo) {
  expect_same(
    {R"({"linear": {"from": 0.3, "to": 1, "horizon": 9}})",
     R"({"linear": {"from": 0.30000000000000004, "to": 1, "horizon": 9}})"});
  expect_same(
    {R"({"exponential": {"initial": 0.3, "gamma": 0.3}})",
     R"({"step": {"initial": 0.3, "gamma": 0.30000000000000004, "size": 1}})"});
}

TEST(Canonical, AShortCurveIsItsValues) {
  expect_same({R"({"cosine": {"initial": 0.1, "horizon": 1}})",
               R"({"linear": {"from": 0.1, "to": 0, "horizon": 1}})",
               R"({"piecewise": [[0, 0.1], [1, 0]]})"});
  expect_same({R"({"cosine": {"initial": 0.1, "horizon": 2}})",
               R"({"linear": {"from": 0.1, "to": 0, "horizon": 2}})",
               R"({"piecewise": [[0, 0.1], [1, 0.05], [2, 0]]})"});
  EXPECT_EQ(shown(R"({"cosine": {"initial": 0.1, "horizon": 3}})"),
            "0: 0.1, 1: 0.075, 2: cos(0.1,0,3)@0, 4: 0");
}

TEST(Canonical, AWarmupIsSharedWhateverComesAfter) {
  const auto ramp = [](const std::string& then) {
    return shown(R"({"warmup": {"steps": 5, "from": 0, "to": 0.1, "then": )"
                 + then + "}}");
  };
  const std::string start = "0: 0, 1: 0.02, 2: line(0,0.02,1)@0, ";
  EXPECT_EQ(ramp("0.1"), start + "6: 0.1");
  EXPECT_EQ(ramp(R"({"cosine": {"horizon": 4}})"),
            start + "6: 0.0853553390593, 7: cos(0.1,0,4)@5, 10: 0");
  EXPECT_EQ(ramp(R"({"exponential": {"gamma": 0.9}})"),
            start + "6: 0.09, 7: exp(0.1,0.9)@5");
  EXPECT_EQ(ramp(R"({"linear": {"to": 0, "horizon": 10}})"),
            start + "6: 0.09, 7: line(0.1,-0.01,1)@5, 16: 0");
  EXPECT_EQ(ramp(R"({"step": {"initial": 1, "size": 9, "gamma": 0.5}})"),
            start + "5: 1, 14: 0.5, 23: 0.25, 32: 0.125, 41: 0.0625, "
                    "50: 0.03125, 59: 0.015625, 68: 0.0078125, "
                    "77: 0.00390625, 86: 0.001953125, 95: 0.0009765625");
}

TEST(Canonical, ACurveSharesItsFirstValueWithAPlateau) {
  EXPECT_EQ(shown(R"({"cosine": {"initial": 0.1, "horizon": 80}})", 3),
            "0: 0.1, 1: 0.099961451812, 2: cos(0.1,0,80)@0");
  // Flat for some steps at 12 digits: the plateau goes on.
  EXPECT_EQ(shown(R"({"cosine": {"initial": 0.1, "horizon": 10000000}})"),
            "0: 0.1, 5: cos(0.1,0,10000000)@0");
  EXPECT_EQ(shown(R"({"linear": {"from": 1, "to": 0.5, "horizon": 900000000}})",
                  1'000'000'000),
            "0: 1, 1: 0.999999999444, 2: line(1,-5e-09,9)@0, 900000001: 0.5");
}

TEST(Canonical, ALineIsTheSameHoweverItIsMade) {
  expect_same({
    R"({"linear": {"from": 0.1, "to": 0, "horizon": 10}})",
    R"({"polynomial": {"initial": 0.1, "power": 1, "horizon": 10}})",
    R"({"rex": {"initial": 0.1, "beta": 0, "horizon": 10}})",
    R"({"warmup": {"steps": 10, "from": 0.1, "to": 0}})",
    R"({"warmup": {"steps": 4, "from": 0.1, "to": 0.06,
        "then": {"linear": {"to": 0, "horizon": 6}}}})",
    R"({"warmup": {"steps": 3, "from": 0.1, "to": 0.07,
        "then": {"warmup": {"steps": 3, "from": 0.07, "to": 0.04,
        "then": {"linear": {"to": 0, "horizon": 4}}}}}})",
  });
  expect_same({
    R"({"warmup": {"steps": 2, "from": 0.1, "to": 0.1,
        "then": {"linear": {"to": 0, "horizon": 10}}}})",
    R"({"warmup": {"steps": 3, "from": 0.1, "to": 0.1,
        "then": {"linear": {"from": 0.09, "to": 0, "horizon": 9}}}})",
  });
  expect_same({
    R"({"warmup": {"steps": 5, "from": 0, "to": 0.1,
        "then": {"linear": {"to": 0, "horizon": 4}}}})",
    R"({"one_cycle": {"max": 0.1, "initial": 0, "end": 0, "rise": 5,
        "horizon": 9, "anneal": "linear"}})",
  });
}

TEST(Canonical, LongLinesJoinToo) {
  EXPECT_EQ(shown(R"({"warmup": {"steps": 400000000, "from": 0, "to": 0.4,
                     "then": {"linear": {"to": 1, "horizon": 600000000}}}})",
                  1'000'000'000),
            "0: 0, 1: 1e-09, 2: line(0,1e-09,1)@0");
}

TEST(Canonical, LinesOfOneSlopeShareUpToTheShorter) {
  EXPECT_EQ(shown(R"({"linear": {"from": 0.1, "to": 0.04, "horizon": 6}})"),
            "0: 0.1, 1: 0.09, 2: line(0.1,-0.01,1)@0, 7: 0.04");
  EXPECT_EQ(shown(R"({"linear": {"from": 0.1, "to": 0, "horizon": 10}})"),
            "0: 0.1, 1: 0.09, 2: line(0.1,-0.01,1)@0, 11: 0");
}

TEST(Canonical, ALineThatADoubleCannotHoldSharesAtTheSameHorizonOnly) {
  EXPECT_EQ(
    shown(R"({"linear": {"from": 1e9, "to": 1.23456789e-9, "horizon": 4}})"),
    "0: 1000000000, 1: 750000000, 2: poly(1000000000,1.23456789e-09,4,1)@0, "
    "5: 1.23456789e-09");
}

TEST(Canonical, Polynomial) {
  EXPECT_EQ(shown(R"({"polynomial":
                     {"initial": 1, "power": 2, "horizon": 4}})"),
            "0: 1, 1: 0.5625, 2: poly(1,0,4,2)@0, 5: 0");
}

TEST(Canonical, Rex) {
  EXPECT_EQ(shown(R"({"rex": {"initial": 1, "end": 0.1, "horizon": 4}})"),
            "0: 1, 1: 0.871428571429, 2: rex(1,0.1,4,0.5)@0, 5: 0.1");
}

TEST(Canonical, ARestartedCosineIsAPieceForEachCycle) {
  const auto cycles = [](const char* multiplier, step_t max) {
    return shown(R"({"cosine_restarts": {"initial": 1, "period": 4,
                    "multiplier": )" + std::string(multiplier) + "}}", max);
  };
  const std::string one = "0: 1, 1: 0.853553390593, 2: cos(1,0,4)@0";
  EXPECT_EQ(cycles("1", 4), one);
  EXPECT_EQ(cycles("1", 8),
            one + ", 4: 1, 5: 0.853553390593, 6: cos(1,0,4)@4");
  EXPECT_EQ(cycles("2", 8),
            one + ", 4: 1, 5: 0.961939766256, 6: cos(1,0,8)@4");
  expect_same({"0.1", R"({"cosine_restarts": {"initial": 0.1, "period": 1}})"});
  expect_same({"0.1", R"({"cosine_restarts": {"initial": 0.1, "end": 0.1,
                         "period": 7}})"});
}

TEST(Canonical, ACycleIsARampUpAndARampDown) {
  EXPECT_EQ(
    shown(R"({"cyclic": {"low": 0, "high": 0.1, "up": 5, "down": 4}})", 15),
    "0: 0, 1: 0.02, 2: line(0,0.02,1)@0, 6: 0.075, 7: line(0.1,-0.025,1)@5, "
    "10: 0.02, 11: line(0,0.02,1)@9");
  EXPECT_EQ(shown(R"({"cyclic": {"low": 0, "high": 0.1, "up": 5,
                     "mode": "triangular2"}})", 16),
            "0: 0, 1: 0.02, 2: line(0,0.02,1)@0, 6: 0.08, "
            "7: line(0.1,-0.02,1)@5, 11: 0.01, 12: line(0,0.01,1)@10");
  EXPECT_EQ(shown(R"({"cyclic": {"low": 0, "high": 0.1, "up": 5,
                     "mode": "exp_range", "gamma": 0.5}})", 10),
            "0: 0, 1: 0.01, 3: fade(0,0.1,0.5,0,5)@0, 6: 0.00125, "
            "7: fade(0,0.1,0.5,10,5)@0");
  expect_same({
    R"({"cyclic": {"low": 0, "high": 0.1, "up": 5}})",
    R"({"cyclic": {"low": 0, "high": 0.1, "up": 5, "down": 5}})",
    R"({"cyclic": {"low": 0, "high": 0.1, "up": 5, "mode": "exp_range",
        "gamma": 1}})",
  });
  expect_same({"3", R"({"cyclic": {"low": 3, "high": 3, "up": 5}})",
               R"({"cyclic": {"low": 3, "high": 9, "up": 5, "mode":
                   "exp_range", "gamma": 0}})"});
}

TEST(Canonical, OneCycleHasPyTorchsDefaults) {
  expect_same({
    R"({"one_cycle": {"max": 0.5, "horizon": 90}})",
    R"({"one_cycle": {"max": 0.5, "horizon": 90, "rise": 27, "initial": 0.02,
        "end": 0.000002, "anneal": "cosine", "three_phase": false}})",
  });
  // After a warm-up it starts where that ended.
  EXPECT_EQ(shown(R"({"warmup": {"steps": 0, "from": 0, "to": 0.1, "then":
                     {"one_cycle": {"max": 0.5, "horizon": 9, "rise": 4,
                      "three_phase": true}}}})"),
            "0: 0.1, 1: 0.158578643763, 2: cos(0.1,0.5,4)@0, "
            "5: 0.441421356237, 6: cos(0.5,0.1,4)@4, 9: 1e-05");
}

// -- driven by results --------------------------------------------------------

observations flat(step_t begin, step_t end, step_t every = 1) {
  observations result;
  for (auto at = begin; at < end; at += every)
    result.values.push_back({at, 0.5});
  return result;
}

std::string reduced(const std::string& parameters, const observations& seen) {
  return shown(R"({"reduce_on_plateau": {"initial": 0.1, )" + parameters
                 + "}}", 100, seen);
}

TEST(Plateau, ReducesAfterMoreThanPatienceBadMeasurements) {
  EXPECT_EQ(reduced(R"("patience": 2)", {}), "0: 0.1");
  // The first of equal ones is better than none.
  EXPECT_EQ(reduced(R"("patience": 2)", flat(1, 4)), "0: 0.1");
  EXPECT_EQ(reduced(R"("patience": 2)", flat(1, 5)), "0: 0.1, 4: 0.01");
  EXPECT_EQ(reduced(R"("patience": 0)", flat(3, 12, 3)),
            "0: 0.1, 6: 0.01, 9: 0.001");
  EXPECT_EQ(reduced(R"("patience": 0, "cooldown": 2)", flat(1, 8)),
            "0: 0.1, 2: 0.01, 5: 0.001");
  EXPECT_EQ(reduced(R"("patience": 0, "factor": 0.5, "min": 0.03)", flat(1, 9)),
            "0: 0.1, 2: 0.05, 3: 0.03");
  EXPECT_EQ(reduced(R"("patience": 0, "epsilon": 0.01)", flat(1, 9)),
            "0: 0.1, 2: 0.01");
  EXPECT_EQ(reduced(R"("factor": 0.5)", flat(1, 40)),
            "0: 0.1, 12: 0.05, 23: 0.025, 34: 0.0125");
}

TEST(Plateau, AReductionByNoMoreThanEpsilonIsLeftOut) {
  const auto made = [](const char* epsilon) {
    return shown(R"({"reduce_on_plateau": {"initial": 0.5, "factor": 0.5,
                    "patience": 0, "epsilon": )" + std::string(epsilon) + "}}",
                 10, flat(1, 3));
  };
  EXPECT_EQ(made("0.25"), "0: 0.5");
  EXPECT_EQ(made("0.249"), "0: 0.5, 2: 0.25");
}

TEST(Plateau, RoundingDoesNotAddUp) {
  const auto x = make_sequence(
    json::parse(R"({"reduce_on_plateau": {"initial": 1, "factor": 0.7,
                    "patience": 0, "epsilon": 0}})"), 60, flat(1, 60)).value;
  double value = 1;
  for (step_t t = 2; t < 60; ++t) {
    value *= 0.7;
    EXPECT_EQ(x.at(t), form::constant(value).at(t)) << t;
  }
}

TEST(Plateau, NaNIsBad) {
  auto seen = flat(1, 3);
  seen.values[1].value = std::nan("");
  EXPECT_EQ(reduced(R"("patience": 0)", seen), "0: 0.1, 2: 0.01");
  seen.values[0].value = std::nan(""); // not even the first is better
  EXPECT_EQ(reduced(R"("patience": 1)", seen), "0: 0.1, 2: 0.01");
}

TEST(Plateau, TheObjectiveSaysWhatIsBetter) {
  observations rising;
  rising.values = {{1, 0.1}, {2, 0.2}, {3, 0.3}};
  EXPECT_EQ(reduced(R"("patience": 0)", rising), "0: 0.1");
  rising.better = direction::minimize;
  EXPECT_EQ(reduced(R"("patience": 0)", rising),
            "0: 0.1, 2: 0.01, 3: 0.001");
}

TEST(Plateau, AfterAWarmupCountsFromItsEnd) {
  const auto made = [](const observations& seen) {
    return shown(R"({"warmup": {"steps": 4, "from": 0.1, "to": 0.5, "then":
                    {"reduce_on_plateau": {"patience": 1}}}})", 100, seen);
  };
  const std::string ramp = "0: 0.1, 1: 0.2, 2: line(0.1,0.1,1)@0, 5: 0.5";
  // What is measured at 4 is of the warm-up.
  EXPECT_EQ(made(flat(1, 7)), ramp);
  EXPECT_EQ(made(flat(1, 8)), ramp + ", 7: 0.05");
}

TEST(Plateau, SaysThatItResponds) {
  const auto responds = [](const char* text) {
    return make_sequence(json::parse(text), 10).responsive;
  };
  EXPECT_TRUE(responds(R"({"reduce_on_plateau": {"initial": 1}})"));
  EXPECT_TRUE(responds(R"({"warmup": {"steps": 2, "from": 0, "to": 1, "then":
                          {"reduce_on_plateau": {}}}})"));
  EXPECT_FALSE(responds("0.1"));
  EXPECT_FALSE(responds(R"({"cosine": {"initial": 1, "horizon": 9}})"));
}

TEST(Canonical, WhatIsSharedDoesNotDependOnTheLastStep) {
  for (const char* text :
       {R"({"linear": {"from": 0.1, "to": 0, "horizon": 50}})",
        R"({"exponential": {"initial": 0.1, "gamma": 0.9}})",
        R"({"step": {"initial": 0.1, "size": 7, "gamma": 0.9}})"}) {
    const auto longer = make(text, 90);
    for (step_t max = 1; max < 90; ++max) {
      const auto shorter = make(text, max);
      for (step_t t = 0; t < max; ++t)
        ASSERT_EQ(shorter.form_at(t), longer.form_at(t)) << text << max;
    }
  }
}

TEST(Canonical, LeavesOutWhatIsNotReached) {
  EXPECT_EQ(make(R"({"piecewise": [[0, 1], [5, 2], [9, 3]]})", 9),
            make(R"({"piecewise": [[0, 1], [5, 2]]})", 9));
}

TEST(Canonical, AFadingStaircaseEnds) {
  const auto x = make(
    R"({"step": {"initial": 1, "size": 2, "gamma": 0.000001}})", 1'000'000'000);
  EXPECT_LT(x.pieces().size(), 60u);
  EXPECT_EQ(x.at(999'999'999), scalar{0.0});
}

/// Random sequences whose parameters come from few values, so that many of
/// them mean the same.
class random_family {
public:
  explicit random_family(unsigned seed) : random_(seed) {}

  json next(int depth = 0) {
    switch (random_() % (depth < 2 ? 8 : 7)) {
      case 0:
        return number();
      case 1:
        return {{"constant", number()}};
      case 2:
        return {{"multistep",
                 {{"initial", number()},
                  {"milestones", steps(1, 3)},
                  {"gamma", gamma()}}}};
      case 3:
        return {{"step",
                 {{"initial", number()},
                  {"size", 1 + random_() % 12},
                  {"gamma", gamma()}}}};
      case 4: {
        auto list = json::array({json::array({0, number()})});
        for (const auto& begin : steps(1, 3))
          list.push_back(json::array({begin, number()}));
        return {{"piecewise", list}};
      }
      case 5:
        return {{"exponential",
                 {{"initial", number()},
                  {"gamma", gamma()},
                  {"every", 1 + random_() % 12}}}};
      case 6: {
        const bool line = random_() % 2 == 0;
        return {{line ? "linear" : "cosine",
                 {{line ? "from" : "initial", number()},
                  {line ? "to" : "end", number()},
                  {"horizon", 1 + random_() % 4}}}};
      }
      default:
        return {{"warmup",
                 {{"steps", random_() % 4},
                  {"from", number()},
                  {"to", number()},
                  {"then", next(depth + 1)}}}};
    }
  }

private:
  template <class T>
  T one_of(std::initializer_list<T> xs) {
    return xs.begin()[random_() % xs.size()];
  }

  double number() { return one_of({0.1, 0.03, 0.37}); }
  double gamma() { return one_of({1.0, 0.1, 0.0, 10.0}); }

  json steps(int least, unsigned count) {
    json result = json::array();
    int at = least;
    for (auto n = 1 + random_() % count; n > 0; --n) {
      at += static_cast<int>(random_() % 4);
      result.push_back(at++);
    }
    return result;
  }

  std::mt19937 random_;
};

class CanonicalSpelling : public testing::TestWithParam<unsigned> {};

// The range is longer than the longest of the sequences, so that every horizon
// is passed. No two lines between these numbers have the same slope, so that
// none goes on with another.
TEST_P(CanonicalSpelling, EqualFormsIffEqualValues) {
  constexpr step_t range = 24;
  random_family random{GetParam()};
  std::map<std::vector<double>, std::pair<sequence, json>> seen;
  int again = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto text = random.next();
    const auto made = make_sequence(text, range);
    ASSERT_TRUE(made.errors.empty()) << text;
    const auto [it, is_new] =
      seen.emplace(values(made.value, range), std::pair{made.value, text});
    again += !is_new;
    // Equal values are one entry of the map: their forms must be equal. Equal
    // forms have equal values because a form is a function.
    ASSERT_EQ(it->second.first, made.value) << text << "\n"
                                            << it->second.second;
  }
  EXPECT_GT(again, 500); // the property has been put to the test
}

INSTANTIATE_TEST_SUITE_P(Seeds, CanonicalSpelling, testing::Range(1u, 11u));

// -- errors -------------------------------------------------------------------

const std::string all_names
  = "constant, cosine, cosine_restarts, cyclic, exponential, inverse_sqrt, "
    "join, linear, multistep, one_cycle, piecewise, polynomial, "
    "reduce_on_plateau, rex, step, warmup, wsd";

TEST(FamilyError, WhatIsNoSequence) {
  expect_errors("null", {": must be a number or a word, found null"});
  expect_errors("[1]", {": must be a number or a word, found a list"});
  expect_errors(R"({"constant": 1, "step": 2})",
                {": must be a number, a word or a map with one key that names "
                 "a sequence, found a map with 2 keys"});
  expect_errors(R"({"multstep": {}})",
                {"/multstep: unknown sequence 'multstep', did you mean "
                 "'multistep'? Allowed: " + all_names});
  expect_errors(R"({"banana": {}})",
                {"/banana: unknown sequence 'banana'. Allowed: "
                 + all_names});
}

TEST(FamilyError, Parameters) {
  expect_errors(R"({"cosine": 3})",
                {"/cosine: must be a map of initial, end, horizon, found 3"});
  expect_errors(R"({"cosine": {"horizont": 3, "initial": "x"}})",
                {"/cosine/horizont: unknown parameter of cosine 'horizont', "
                 "did you mean 'horizon'? Allowed: initial, end, horizon",
                 "/cosine/initial: must be a finite number, found 'x'",
                 "/cosine: 'horizon' is missing"});
  expect_errors(R"({"exponential": {"initial": 1, "gamma": -1, "every": 0}})",
                {"/exponential/gamma: must be at least 0, found -1",
                 "/exponential/every: must be a whole number of steps from 1 "
                 "to 1000000000, found 0"});
  expect_errors(R"({"linear": {"from": 1, "to": 2, "horizon": 1.5}})",
                {"/linear/horizon: must be a whole number of steps from 1 to "
                 "1000000000, found 1.5"});
  expect_errors(R"({"warmup": {"steps": -1, "from": 1, "to": 2}})",
                {"/warmup/steps: must be a whole number of steps from 0 to "
                 "1000000000, found -1"});
  expect_errors(R"({"warmup": {"steps": 2, "from": 1, "to": 2, "then": []}})",
                {"/warmup/then: must be a number or a word, found an empty "
                 "list"});
  expect_errors(
    R"({"warmup": {"steps": 2, "from": 1, "to": 2, "then": {"step": {}}}})",
    {"/warmup/then/step: 'size' is missing",
     "/warmup/then/step: 'gamma' is missing"});
}

TEST(FamilyError, ParametersOfCurves) {
  expect_errors(R"({"polynomial": {"initial": 1, "horizon": 3, "power": 0}})",
                {"/polynomial/power: must be above 0, found 0"});
  expect_errors(R"({"polynomial": {"initial": 1, "horizon": 3}})",
                {"/polynomial: 'power' is missing"});
  expect_errors(R"({"rex": {"initial": 1, "horizon": 3, "beta": 1}})",
                {"/rex/beta: must be at least 0 and below 1, found 1"});
  expect_errors(R"({"rex": {"initial": 1, "horizon": 3, "beta": -0.1}})",
                {"/rex/beta: must be at least 0 and below 1, found -0.1"});
  expect_errors(
    R"({"cosine_restarts": {"initial": 1, "period": 0, "multiplier": 1.5}})",
    {"/cosine_restarts/period: must be a whole number of steps from 1 to "
     "1000000000, found 0",
     "/cosine_restarts/multiplier: must be a whole number from 1 to "
     "1000000000, found 1.5"});
}

TEST(FamilyError, ParametersOfCycles) {
  expect_errors(R"({"cyclic": {"low": 1, "high": 2, "up": 0, "down": 0}})",
                {"/cyclic/up: must be a whole number of steps from 1 to "
                 "1000000000, found 0",
                 "/cyclic/down: must be a whole number of steps from 1 to "
                 "1000000000, found 0"});
  expect_errors(R"({"cyclic": {"low": 1, "high": 2, "up": 2, "gamma": 1,
                   "mode": "triangulr"}})",
                {"/cyclic/mode: unknown mode 'triangulr', did you mean "
                 "'triangular'? Allowed: triangular, triangular2, exp_range",
                 "/cyclic/gamma: is only for the mode exp_range, found it with "
                 "triangular"});
  expect_errors(R"({"cyclic": {"low": 1, "high": 2, "up": 2, "mode": 3}})",
                {"/cyclic/mode: must be one of triangular, triangular2, "
                 "exp_range, found 3"});
  expect_errors(R"({"cyclic": {"low": 1, "high": 2, "up": 2,
                   "mode": "exp_range"}})",
                {"/cyclic: 'gamma' is missing"});
  expect_errors(R"({"one_cycle": {"max": 1, "horizon": 9, "rise": 9}})",
                {"/one_cycle/rise: must be below the horizon, 9, found 9"});
  expect_errors(R"({"one_cycle": {"max": 1, "horizon": 9, "rise": 5,
                   "three_phase": true, "anneal": "cosin"}})",
                {"/one_cycle/rise: must be below half of the horizon, 9, found "
                 "5",
                 "/one_cycle/anneal: unknown anneal 'cosin', did you mean "
                 "'cosine'? Allowed: cosine, linear"});
  expect_errors(R"({"one_cycle": {"max": 1, "horizon": 2, "three_phase": 1}})",
                {"/one_cycle/horizon: must be a whole number of steps from 3 "
                 "to 1000000000, found 2",
                 "/one_cycle/three_phase: must be true or false, found 1"});
}

TEST(FamilyError, ParametersOfAPlateau) {
  expect_errors(
    R"({"reduce_on_plateau": {"initial": 1, "factor": 1, "patience": -1,
        "threshold": -0.1, "threshold_mode": "relative", "cooldown": 0.5,
        "min": "x", "epsilon": -1}})",
    {"/reduce_on_plateau/factor: must be at least 0 and below 1, found 1",
     "/reduce_on_plateau/patience: must be a whole number of measurements from "
     "0 to 1000000000, found -1",
     "/reduce_on_plateau/threshold: must be at least 0, found -0.1",
     "/reduce_on_plateau/threshold_mode: unknown threshold_mode 'relative'. "
     "Allowed: rel, abs",
     "/reduce_on_plateau/cooldown: must be a whole number of measurements from "
     "0 to 1000000000, found 0.5",
     "/reduce_on_plateau/min: must be a finite number, found 'x'",
     "/reduce_on_plateau/epsilon: must be at least 0, found -1"});
  expect_errors(R"({"reduce_on_plateau": {}})",
                {"/reduce_on_plateau: 'initial' is missing"});
}

TEST(FamilyError, Lists) {
  const auto multistep = [](const std::string& milestones) {
    return R"({"multistep": {"initial": 1, "gamma": 0.5, "milestones": )"
           + milestones + "}}";
  };
  expect_errors(multistep("[6, 3, 3]"),
                {"/multistep/milestones/1: must be above the milestone before "
                 "it, found 3 after 6",
                 "/multistep/milestones/2: must be above the milestone before "
                 "it, found 3 after 3"});
  expect_errors(multistep("[0]"),
                {"/multistep/milestones/0: must be a whole number of steps "
                 "from 1 to 1000000000, found 0"});
  expect_errors(multistep("[]"),
                {"/multistep/milestones: must be a list with at least one "
                 "item, found an empty list"});
  expect_errors(R"({"piecewise": [[1, 0.1]]})",
                {"/piecewise/0/0: must be 0, for the first value begins at "
                 "step 0, found 1"});
  expect_errors(R"({"piecewise": [[0, 1], [4, 2], [4, 3], [5], 6]})",
                {"/piecewise/2/0: must be above the begin before it, found 4 "
                 "after 4",
                 "/piecewise/3: must be a pair [begin, value], found 1 items",
                 "/piecewise/4: must be a list with at least one item, found "
                 "6"});
  expect_errors(R"({"piecewise": [[0, [1]]]})",
                {"/piecewise/0/1: must be a number or a word, found a list"});
}

TEST(FamilyError, AbsurdSizes) {
  auto list = json::array();
  for (step_t i = 0; i <= piece_limit; ++i)
    list.push_back(json::array({i, i}));
  const auto made = make_sequence({{"piecewise", list}}, 100);
  EXPECT_EQ(texts(made.errors),
            std::vector<std::string>{
              "/piecewise: has 10001 items, at most 10000 are allowed"});
  const auto stairs = make_sequence(
    json::parse(R"({"step": {"initial": 1, "size": 2, "gamma": 1.0001}})"),
    100'000);
  EXPECT_EQ(texts(stairs.errors),
            std::vector<std::string>{
              "/step: has more than 10000 plateaus; a decay at every step has "
              "no such limit"});
}

TEST(FamilyError, AbsurdNumbersOfCycles) {
  for (const auto& [text, message] :
       {std::pair{R"({"cosine_restarts": {"initial": 1, "period": 2}})",
                  "/cosine_restarts: has more than 10000 cycles"},
        {R"({"cyclic": {"low": 0, "high": 1, "up": 2}})",
         "/cyclic: has more than 10000 ramps"},
        {R"({"cyclic": {"low": 0, "high": 1, "up": 2, "mode": "exp_range",
            "gamma": 0.5}})",
         "/cyclic: has more than 10000 ramps"}})
    EXPECT_EQ(texts(make_sequence(json::parse(text), 1'000'000).errors),
              std::vector<std::string>{message});
  // One that halves its height is flat before that.
  EXPECT_TRUE(make_sequence(json::parse(R"({"cyclic": {"low": 1, "high": 2,
                            "up": 2, "mode": "triangular2"}})"),
                            1'000'000'000)
                .errors.empty());
  EXPECT_TRUE(make_sequence(json::parse(R"({"cosine_restarts": {"initial": 1,
                            "period": 1000000000, "multiplier": 1000000000}})"),
                            1'000'000'000)
                .errors.empty());
}

TEST(FamilyWarning, WhatIsNeverReached) {
  const auto warnings = [](const std::string& text) {
    return texts(make_sequence(json::parse(text), 12).warnings);
  };
  using lines = std::vector<std::string>;
  EXPECT_EQ(warnings(R"({"multistep": {"initial": 1, "milestones": [11, 12],
                        "gamma": 0.5}})"),
            lines{"/multistep/milestones/1: is never reached, training ends at "
                  "step 12"});
  EXPECT_EQ(warnings(R"({"piecewise": [[0, 1], [15, 2]]})"),
            lines{"/piecewise/1: is never reached, training ends at step 12"});
  EXPECT_EQ(warnings(R"({"warmup": {"steps": 8, "from": 1, "to": 2, "then":
                        {"piecewise": [[0, 1], [3, 2], [4, 2]]}}})"),
            lines{"/warmup/then/piecewise/2: is never reached, training ends "
                  "at step 12"});
  EXPECT_EQ(warnings(R"({"warmup": {"steps": 12, "from": 1, "to": 2, "then":
                        {"piecewise": [[0, 1], [3, 2]]}}})"),
            lines{"/warmup/then: is never reached, training ends at step 12"});
  EXPECT_EQ(warnings(R"({"cosine": {"initial": 1, "horizon": 50}})"), lines{});
}

} // namespace
} // namespace hippo
