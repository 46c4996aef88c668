#include "hippo/forecast/preview/sharing_notes.hpp"

#include <string>

#include <gtest/gtest.h>

#include "hippo/forecast/preview/preview.hpp"
#include "hippo/report/text.hpp"
#include "preview/previewed.hpp"

namespace hippo {
namespace {

using test::accepted;
using test::workloads;

std::vector<std::string> notes(const std::string& space,
                               const std::string& algorithm,
                               const std::string& more = "") {
  std::vector<std::string> result;
  for (const auto& x : sharing_notes(accepted(space, algorithm, more),
                                     workloads().front()))
    result.push_back(x.path + ": " + x.message);
  return result;
}

std::string rate_of(const std::string& space, const std::string& more) {
  const auto found
    = preview({accepted(space, "random", more)}, workloads());
  return found ? fixed(found->full.merge_rate, 2) : "";
}

using strings = std::vector<std::string>;

/// Two values from the start, and six that come at step 6.
constexpr auto late
  = "{x: {choice: [1, 2]}, y: {choice: [{piecewise: [[0, 0], [6, 1]]},"
    " {piecewise: [[0, 0], [6, 2]]}, {piecewise: [[0, 0], [6, 3]]}]}}";

TEST(SharingNotes, ARungThatCannotTellTrialsApartIsNamed) {
  for (const auto* name : {"sha", "asha"})
    EXPECT_EQ(
      notes(late, std::string{"{"} + name + ": {eta: 2, min: 3}}"),
      strings{std::string{"algorithm."} + name
              + ".min: at step 3, the first rung, these 6 trials are 2 "
                "different states: no result tells apart those that are one. "
                "With `min: 7` they are 6: see "
                "docs/sharing.md#early-stopping"});
  // Of Hyperband's brackets the first is looked at.
  const auto found = notes(late, "{hyperband: {eta: 3, min: 1}}",
                           "budget: {trials: 6}");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].find("algorithm.hyperband.min: at step 1, the first rung,"
                          " these 6 trials are 2 different states"),
            0u)
    << found[0];
}

// A reader waits for it, and others for the memory.
TEST(SharingNotes, OfTrialsThatAreLargeFewAreLookedAtOrNone) {
  auto large = workloads().front();
  for (int i = 0; i < 200; ++i) {
    parameter_descriptor more;
    more.name = "p" + std::to_string(i);
    more.fallback = 1.0;
    large.hyper_parameters.push_back(more);
  }
  const auto of = [&](int pieces) {
    std::string list = "[0, {uniform: [0, 1]}]";
    for (int i = 1; i < pieces; ++i)
      list += ", [" + std::to_string(i) + ", " + std::to_string(1 + i % 2)
              + "]";
    const auto read = admit_study(
      "study: s\nworkload: toy\nobjective: {metric: acc}\nmax_steps: 40\n"
      "space: {x: {piecewise: ["
        + list
        + "]}}\nalgorithm: random\n"
          "budget: {trials: 1000}\n",
      "s.yaml", {large});
    return sharing_notes(read.study.value(), large).size();
  };
  EXPECT_EQ(of(2), 1u);
  EXPECT_EQ(of(30), 0u);
}

// With many trainers it compares what is one state on purpose.
TEST(SharingNotes, NothingIsSaidOfARungThatWasChosenForAStudy) {
  const std::string space = "{x: {multistep: {initial: {choice: [0.1, 1]},"
                            " milestones: [{choice: [2, 3, 4]}],"
                            " gamma: {uniform: [0.1, 0.5], points: 15}}}}";
  const auto x = accepted(space, "auto", "", 16);
  ASSERT_EQ(x.chosen().find(R"({"asha":{"eta":3.0,"min":2.0,)"), 0u)
    << x.chosen();
  EXPECT_TRUE(sharing_notes(x, workloads().front()).empty());
  EXPECT_EQ(notes(space, "{asha: {eta: 3, min: 2, sampler: gp}}").size(), 1u);
}

TEST(SharingNotes, TrialsThatAreOneStateAreSaidToBe) {
  EXPECT_EQ(notes("{y: {choice: [{piecewise: [[0, 0], [11, 1]]}, 0]}}",
                  "{sha: {eta: 2, min: 3}}"),
            strings{"algorithm.sha.min: at step 3, the first rung, these 2 "
                    "trials are one and the same state: no result tells apart "
                    "those that are one. No rung would tell half of them "
                    "apart: see docs/sharing.md#early-stopping"});
}

TEST(SharingNotes, ARungBehindTheBranchesIsFine) {
  EXPECT_EQ(notes(late, "{sha: {eta: 2, min: 7}}"), strings{});
  EXPECT_EQ(notes(late, "{sha: {eta: 2, min: 12}}"), strings{}); // no rung
  EXPECT_EQ(notes(late, "random"), strings{});
  EXPECT_EQ(notes(late, "median"), strings{});
}

TEST(SharingNotes, WhatWouldShareHasTheRateThatItWouldHave) {
  const std::string more = "budget: {trials: 24}";
  // The first trial's values for all, up to step 6: six steps once, then each.
  const auto one = fixed(24.0 * 12 / (6 + 24 * 6), 2);
  EXPECT_EQ(notes("{x: {log_uniform: [0.01, 0.3]}}", "random", more),
            strings{"space.x: no two trials share a step (p = 1.00), since "
                    "they differ from step 0 on in x. If all had the same "
                    "values up to step 6, and their own after it, p would be "
                    + one + ": see docs/sharing.md"});
  const std::string rates
    = "{x: {log_uniform: [0.01, 0.3]RANGE}, y: {choice: [{piecewise: [[0, 0],"
      " [6, 1]]}, {piecewise: [[0, 0], [6, 2]]}]}}";
  auto plain = rates, points = rates;
  plain.replace(plain.find("RANGE"), 5, "");
  points.replace(points.find("RANGE"), 5, ", points: 4");
  const auto with_points = rate_of(points, "budget: {trials: 8}");
  EXPECT_EQ(with_points, "1.33"); // 8 trials of 12 steps, 4 share 6 each
  const auto found = notes(plain, "random", "budget: {trials: 300}");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("; with `points: 4` for each continuous range "
                          + with_points + ": see"),
            std::string::npos)
    << found[0];
}

TEST(SharingNotes, StudiesThatShareAreNotTold) {
  EXPECT_EQ(notes("{x: {choice: [1, 1, 2]}}", "grid"), strings{});
  EXPECT_EQ(notes("{x: 1}", "grid"), strings{});
  EXPECT_EQ(notes(late, "grid"), strings{});
}

} // namespace
} // namespace hippo
