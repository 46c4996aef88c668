// Study files with the keys of earlier versions.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fixtures.hpp"

namespace hippo {
namespace {

using lines = std::vector<std::string>;

lines texts(const std::vector<diagnostic>& xs) {
  lines result;
  for (const auto& x : xs)
    result.push_back(to_text(x));
  return result;
}

/// A study of which line 3 is `objective`, and line 4 and after it `more`.
study_file read(const std::string& objective, const std::string& more) {
  return test::read("study: s\nworkload: toy\n" + objective + "\n" + more
                    + "\nspace: {lr: {log_uniform: [1e-3, 1e-1]}}\n");
}

constexpr auto objective = "objective: {metric: loss}";

/// Expects that a file with old keys is the study of one with new keys, and
/// warns.
void expect_same(const study_file& old, const study_file& now,
                 const lines& warnings) {
  EXPECT_EQ(texts(old.warnings), warnings);
  EXPECT_EQ(texts(now.warnings), lines{});
  ASSERT_TRUE(old.study) << texts(old.errors)[0];
  ASSERT_TRUE(now.study) << texts(now.errors)[0];
  EXPECT_EQ(old.study->max_steps, now.study->max_steps);
  EXPECT_EQ(old.study->several_lengths, now.study->several_lengths);
  EXPECT_EQ(old.study->objective.all(), now.study->objective.all());
  EXPECT_EQ(old.study->objective.every, now.study->objective.every);
  EXPECT_EQ(old.study->algorithm.options, now.study->algorithm.options);
  for (std::uint64_t draw = 0; draw < 20; ++draw) {
    const auto drawn = old.study->space.sample(1, draw);
    EXPECT_EQ(drawn.shown, now.study->space.sample(1, draw).shown);
    EXPECT_EQ(drawn.sequences, now.study->space.sample(1, draw).sequences);
    EXPECT_EQ(drawn.length, now.study->space.sample(1, draw).length);
  }
}

TEST(OldSpellings, StepsMax) {
  expect_same(read(objective, "steps: {max: 12}"),
              read(objective, "max_steps: 12"),
              {R"(s.yaml:4:1: steps: 'steps.max' is now max_steps; the next )"
               R"(release refuses the old name. Replace it: sed -E -i )"
               R"('4s/steps: *\{ *max: *(.*[^ ]) *\}/max_steps: \1/' s.yaml)"});
}

TEST(OldSpellings, StepsMaxInABlock) {
  expect_same(read(objective, "steps:\n  max: 12"),
              read(objective, "max_steps: 12"),
              {R"(s.yaml:4:1: steps: 'steps.max' is now max_steps; the next )"
               R"(release refuses the old name. Replace it: sed -E -i )"
               R"('4s/^steps://; 5s/^ *max:/max_steps:/' s.yaml)"});
}

TEST(OldSpellings, StepsMaxInBracesOfSeveralLines) {
  expect_same(read(objective, "steps: {\n  max: 12}"),
              read(objective, "max_steps: 12"),
              {"s.yaml:4:1: steps: 'steps.max' is now max_steps; the next "
               "release refuses the old name. Rename it"});
}

TEST(OldSpellings, StepsOfOneNumber) {
  expect_same(read(objective, "steps: 12"), read(objective, "max_steps: 12"),
              {"s.yaml:4:1: steps: 'steps' is now max_steps; the next release "
               "refuses the old name. Replace it: sed -E -i "
               "'4s/^steps:/max_steps:/' s.yaml"});
}

TEST(OldSpellings, LengthsAreDrawnAsBefore) {
  const auto now =
    read(objective, "max_steps: {choice: [10, 20, {int_uniform: [30, 90]}]}");
  expect_same(read(objective,
                   "steps: {max: {choice: [10, 20, {int_uniform: [30, 90]}]}}"),
              now,
              {R"(s.yaml:4:1: steps: 'steps.max' is now max_steps; the next )"
               R"(release refuses the old name. Replace it: sed -E -i )"
               R"('4s/steps: *\{ *max: *(.*[^ ]) *\}/max_steps: \1/' s.yaml)"});
  // Draws are a function of the path.
  lines paths;
  now.study->space.walk([&](const space_leaf& leaf) {
    paths.push_back(leaf.path());
    return leaf.is_choice() ? 2u : 0u;
  });
  EXPECT_EQ(paths, (lines{"steps.max.choice", "steps.max.choice[2].int_uniform",
                          "space.lr.log_uniform"}));
}

TEST(OldSpellings, Every) {
  expect_same(read("objective: {metric: loss, every: 3}", "max_steps: 12"),
              read(objective, "max_steps: 12\neval_every: 3"),
              {R"(s.yaml:3:27: objective.every: 'every' is now eval_every, a )"
               R"(key beside 'objective'; the next release refuses the old )"
               R"(name. Replace it: sed -E -i '3s/, *every: *3\b|\bevery: *3 )"
               R"(*,? *//; $a eval_every: 3' s.yaml)"});
}

TEST(OldSpellings, EveryOfSeveralMetrics) {
  const auto old = read("objective: [{metric: loss, every: 3}, {metric: "
                        "accuracy, every: 3}]",
                        "max_steps: 12");
  EXPECT_EQ(old.warnings.size(), 1u);
  expect_same(old,
              read("objective: [{metric: loss}, {metric: accuracy}]",
                   "max_steps: 12\neval_every: 3"),
              texts(old.warnings));
  EXPECT_EQ(texts(read("objective: [{metric: loss, every: 2}, {metric: "
                       "accuracy, every: 3}]",
                       "max_steps: 12")
                    .errors),
            lines{"s.yaml:3:65: objective[1].every: must be 2 as for the "
                  "metric before it, since all are measured together, found "
                  "'3'"});
}

TEST(OldSpellings, EveryThatIsWrongIsToldByItsNewName) {
  EXPECT_EQ(
    texts(read("objective: {metric: loss, every: 0}", "max_steps: 12").errors),
    lines{"s.yaml:3:34: eval_every: must be a whole number from 1 to "
          "1000000000, found '0'"});
}

TEST(OldSpellings, Concurrent) {
  expect_same(
    read(objective, "max_steps: 12\nalgorithm: {asha: {concurrent: 4}}"),
    read(objective, "max_steps: 12\nalgorithm: {asha: {max_concurrent: 4}}"),
    {R"(s.yaml:5:20: algorithm.asha.concurrent: 'concurrent' is now )"
     R"(max_concurrent; the next release refuses the old name. Replace it: )"
     R"(sed -E -i '5s/\bconcurrent:/max_concurrent:/' s.yaml)"});
}

TEST(OldSpellings, BothNamesOfAKey) {
  EXPECT_EQ(texts(read("objective: {metric: loss, every: 3}",
                       "eval_every: 3\nsteps: {max: 12}\nmax_steps: 12\n"
                       "algorithm: {asha: {concurrent: 4, max_concurrent: 4}}")
                    .errors),
            (lines{"s.yaml:5:1: steps: is the old name of max_steps, which "
                   "line 6 gives too: remove 'steps' here",
                   "s.yaml:3:27: objective.every: is the old name of "
                   "eval_every, which line 4 gives too: remove 'every' here",
                   "s.yaml:7:20: algorithm.asha.concurrent: is the old name "
                   "of max_concurrent, which line 7 gives too: remove "
                   "'concurrent' here"}));
}

} // namespace
} // namespace hippo
