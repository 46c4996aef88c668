#include <string>

#include <gtest/gtest.h>

#include "hippo/search/accepted_study.hpp"
#include "hippo/search/registry.hpp"

namespace hippo {
namespace {

/// Code that a study brings.
workload_descriptor command_workload() {
  workload_descriptor result;
  result.name = "command";
  result.open = true;
  result.metrics = {{"m", direction::minimize, "how bad it is"}};
  return result;
}

study_admission admit(std::uint64_t leaves, const std::string& algorithm,
                      admission how = {}) {
  std::string space;
  for (std::uint64_t i = 0; i < leaves; ++i)
    space += (i == 0 ? "h" : ", h") + std::to_string(i) + ": {uniform: [0, 1]}";
  return admit_study("study: s\nworkload: {command: [x], packages: {x: v1}}\n"
                     "objective: {metric: m, direction: minimize}\n"
                     "max_steps: 1\nspace: {"
                       + space + "}\nalgorithm: " + algorithm
                       + "\nbudget: {trials: 9}\n",
                     "s.yaml", {command_workload()}, std::move(how));
}

std::string tpe(std::uint64_t candidates) {
  return "{tpe: {candidates: " + std::to_string(candidates) + "}}";
}

TEST(Admission, ASuggestionMayDrawSoManyValues) {
  constexpr std::uint64_t leaves = 100;
  constexpr auto most = draws_per_trial_max / leaves;
  const auto fits = admit(leaves, tpe(most));
  EXPECT_TRUE(fits.study) << to_text(fits.errors.at(0));
  const auto more = admit(leaves, tpe(most + 1));
  ASSERT_EQ(more.errors.size(), 1u);
  EXPECT_EQ(more.errors[0].path, "algorithm.tpe.candidates");
  EXPECT_EQ(more.errors[0].message,
            std::to_string(most + 1) + " candidates of 100 choices and ranges "
              "are " + std::to_string((most + 1) * leaves)
              + " draws for each trial, and at most "
              + std::to_string(draws_per_trial_max)
              + " may be: say candidates: " + std::to_string(most)
              + ", or fewer");
}

TEST(Admission, OneThatWasLetInBeforeGoesOn) {
  EXPECT_FALSE(admit(20, tpe(10000)).study);
  EXPECT_TRUE(admit(20, tpe(10000), as_before("", true)).study);
}

TEST(Admission, ARestoredStudyHasTheAlgorithmThatWasStored) {
  auto x = admit(2, "random");
  ASSERT_TRUE(x.study);
  EXPECT_EQ(x.study->search().algorithm->name, "random");
  EXPECT_EQ(x.study->search().options->trials, 9u);
  EXPECT_FALSE(x.study->restore("", 7));
  EXPECT_EQ(x.study->search().algorithm->name, "random");
  EXPECT_FALSE(x.study->restore(R"({"tpe":{"candidates":3.0}})", 7));
  EXPECT_EQ(x.study->search().algorithm->name, "tpe");
  EXPECT_EQ(x.study->search().sampling->candidates(), 3u);
  const auto why = x.study->restore(R"({"gone":{}})", 7);
  ASSERT_TRUE(why);
  EXPECT_TRUE(why->message.starts_with("unknown algorithm 'gone'"))
    << why->message;
}

TEST(Admission, WhatDrawsNoCandidatesIsNoMatter) {
  EXPECT_TRUE(admit(20, "random").study);
}

} // namespace
} // namespace hippo
