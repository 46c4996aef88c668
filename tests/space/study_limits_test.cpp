// What a study file may come to, so that what is accepted can be run.

#include <algorithm>

#include <gtest/gtest.h>

#include "hippo/base/limits.hpp"
#include "hippo/base/utf8.hpp"
#include "hippo/space/space_check.hpp"
#include "hippo/space/study.hpp"
#include "space/fixtures.hpp"

namespace hippo {
namespace {

using lines = std::vector<std::string>;

/// Reads a study of code of its own, of which any word is a value, with that
/// `space` in line 6 and more below it.
study_file read_any(const std::string& space, const std::string& more = {}) {
  return read_study("study: s\n"
                    "workload: {command: [sleep], packages: {a: '1'}}\n"
                    "objective: {metric: m, direction: minimize}\n"
                    "max_steps: 20000\n"
                    "space:\n"
                    "  "
                      + space + '\n' + more,
                    "s.yaml", built_in_workloads());
}

void expect_errors(const study_file& file, const lines& expected) {
  EXPECT_EQ(test::texts(file.errors), expected);
  EXPECT_EQ(file.study.has_value(), expected.empty());
}

std::string quoted(std::size_t size) {
  return '"' + std::string(size, 'w') + '"';
}

TEST(StudyLimits, AWordIsAsLongAsOneThatTravels) {
  expect_errors(read_any("a: {choice: [" + quoted(max_text_bytes) + ", b]}"),
                {});
  expect_errors(read_any("a: {choice: [b, " + quoted(max_text_bytes + 1)
                         + "]}"),
                {"s.yaml:6:19: space.a.choice[1]: is too long (more than 65536 "
                 "bytes)"});
}

TEST(StudyLimits, ANameIsAsLongAsOneThatTravels) {
  const auto named = [](std::size_t size) {
    return read_any("? " + quoted(size) + "\n  : 1");
  };
  expect_errors(named(max_name_bytes), {});
  expect_errors(named(max_name_bytes + 1),
                {"s.yaml:6:5: space: a key is too long (more than 1024 bytes)",
                 "s.yaml:6:3: space: must be a map from hyper-parameters to "
                 "their values, found an empty map"});
}

TEST(StudyLimits, AMetricsNameIsAsLongAsOneThatTravels) {
  const auto measured = [](std::size_t size) {
    return read_study("study: s\n"
                      "workload: {command: [sleep], packages: {a: '1'}}\n"
                      "objective: {metric: "
                        + quoted(size)
                        + ", direction: minimize}\n"
                          "max_steps: 2\n"
                          "space: {a: 1}\n",
                      "s.yaml", built_in_workloads());
  };
  expect_errors(measured(max_name_bytes), {});
  expect_errors(measured(max_name_bytes + 1),
                {"s.yaml:3:21: objective.metric: is too long (more than 1024 "
                 "bytes)"});
}

/// A study of a workload that takes any names.
std::string named_study(const std::string& study, const std::string& metric,
                        const std::string& parameter,
                        const std::string& constraint) {
  return "study: " + study
         + "\nworkload: {command: [sleep], packages: {a: '1'}}\n"
           "objective: {metric: "
         + metric
         + ", direction: minimize}\n"
           "max_steps: 2\nspace: {lr: 1, "
         + parameter
         + ": 2}\n"
           "constraints: ['"
         + constraint + "']\n";
}

TEST(StudyLimits, WhatIsNoNameIsRefusedWhereverItStands) {
  const auto read = [](const std::string& text) {
    return read_study(text, "s.yaml", built_in_workloads());
  };
  expect_errors(read(named_study("s", "val/acc", "a b", "a<=b >= 2")), {});
  expect_errors(read(named_study("\"2\"", "loss", "a", "a <= 2")),
                {"s.yaml:1:8: study: must not be digits alone, which would "
                 "name the study of that number, found '2'"});
  expect_errors(read(named_study("s", "' loss'", "a", "a <= 2")),
                {"s.yaml:3:21: objective.metric: begins with white space"});
  expect_errors(read(named_study("s", "loss", "''", "a <= 2")),
                {"s.yaml:5:16: space: a key is empty"});
  expect_errors(
    read(named_study("s", "loss", "\"a\\tb\"", "a <= 2")),
    {"s.yaml:5:16: space: a key holds a control character (U+0009)"});
  // Of a study that an older version took they are names.
  EXPECT_TRUE(read_study(named_study("\"2\"", "' loss'", "\"a\\tb\"", "a <= 2"),
                         "s.yaml", built_in_workloads(), name_rules::of_before)
                .study);
}

TEST(StudyLimits, AConstraintIsCutAtItsLastSign) {
  const auto read
    = read_study(named_study("s", "loss", "a", "a<=b >= 2"), "s.yaml",
                 built_in_workloads());
  ASSERT_TRUE(read.study);
  const auto& found = read.study->objective.constraints.at(0);
  EXPECT_EQ(found.metric, "a<=b");
  EXPECT_FALSE(found.is_at_most);
  EXPECT_EQ(found.limit, 2);
}

TEST(StudyLimits, TheNamesThatAClientGivesAreJudgedLikewise) {
  workload_descriptor any;
  any.open = true;
  EXPECT_TRUE(read_parameters("{'a b': 1}", 2, any));
  const auto bad = read_parameters("{'': 1}", 2, any);
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.failure().message.find("a key is empty"), std::string::npos);
  EXPECT_TRUE(read_parameters("{' a': 1}", 2, any, name_rules::of_before));
}

TEST(StudyLimits, ZeroBytesAreRefusedHoweverTheyAreSpelt) {
  expect_errors(read_any(R"(a: {choice: ["x\0y", z]})"),
                {"s.yaml:6:16: space.a.choice[0]: holds a zero byte"});
  expect_errors(read_any(std::string{"a: x\0y", 6}),
                {"s.yaml:6:7: holds a zero byte"});
  expect_errors(
    read_study("study: s\nworkload: toy\nobjective: {metric: \"a\\0\"}\n"
               "max_steps: 1\nspace: {lr: 1}\n",
               "s.yaml", test::workloads()),
    {"s.yaml:3:21: objective.metric: holds a zero byte",
     "s.yaml:3:21: objective.metric: must be a word, found ''"});
}

// yaml-cpp reads these escapes as bytes that are no UTF-8.
TEST(StudyLimits, EscapesThatAreNoTextAreRefused) {
  for (const auto* escape : {R"("x\_y")", R"("x\N")"}) {
    const auto what = std::string{" is not valid UTF-8 once its escapes are "
                                  "read: write the characters themselves"};
    expect_errors(read_any(std::string{"a: "} + escape),
                  {"s.yaml:6:6: space.a:" + what});
    const auto key = read_any(std::string{escape} + ": 1");
    ASSERT_FALSE(key.errors.empty());
    EXPECT_EQ(to_text(key.errors[0]), "s.yaml:6:3: space: a key" + what);
  }
}

TEST(StudyLimits, WhatIsToldIsText) {
  const auto file = read_study("study: s\n--- # code\n{\"files\": {\"\xff",
                               "s\xff.yaml", built_in_workloads());
  ASSERT_FALSE(file.errors.empty());
  for (const auto& x : file.errors)
    EXPECT_EQ(utf8_prefix(to_text(x)), to_text(x).size());
}

TEST(StudyLimits, NoMoreIsToldThanAnybodyReads) {
  std::string space = "a: {choice: [";
  for (int i = 0; i < 10'000; ++i)
    space += ".nan, ";
  const auto file = read_any(space + "1]}");
  EXPECT_EQ(file.errors.size(), told_max);
  EXPECT_FALSE(file.study);
}

TEST(StudyLimits, LongWordsAreNotRepeatedInMessages) {
  const auto file = read_any("a: 1", "weight: " + quoted(60'000) + "\n");
  ASSERT_EQ(file.errors.size(), 1u);
  EXPECT_LT(file.errors[0].message.size(), 200u);
}

// Of 48 kB these made half a gigabyte: every value keeps its path.
TEST(StudyLimits, LongPathsAndAliasesAreCountedWhereTheyStand) {
  const auto too_large = [](const study_file& x) {
    ASSERT_FALSE(x.errors.empty());
    EXPECT_NE(x.errors[0].message.find("larger than 4 MiB"), std::string::npos)
      << x.errors[0].message;
  };
  std::string items = "[";
  for (int i = 0; i < 5'000; ++i)
    items += "1,";
  too_large(read_any(std::string(1000, 'k') + ": " + items + "1]"));
  std::string aliases = "b: &w " + quoted(1000) + "\n  a: [";
  for (int i = 0; i < 5'000; ++i)
    aliases += "*w, ";
  too_large(read_any(aliases + "1]"));
}

TEST(StudyLimits, HyperParametersAreAsManyAsTravel) {
  const auto space = [](std::size_t count) {
    std::string result = "h0: 1";
    for (std::size_t i = 1; i < count; ++i)
      result += "\n  h" + std::to_string(i) + ": 1";
    return result;
  };
  expect_errors(read_any(space(max_hyper_parameters)), {});
  expect_errors(read_any(space(max_hyper_parameters + 1)),
                {"s.yaml:6:3: space: has 4097 hyper-parameters, of which 4096 "
                 "are allowed"});
}

TEST(StudyLimits, OptionsTogetherAreAsLongAsAWorkloadKey) {
  const auto args = [](std::size_t size) {
    return read_study("study: s\n"
                      "workload: {command: [sleep], packages: {a: '1'}, args: "
                      "{x: "
                        + quoted(size) + ", y: " + quoted(size)
                        + "}}\nobjective: {metric: m, direction: minimize}\n"
                          "max_steps: 1\nspace: {a: 1}\n",
                      "s.yaml", built_in_workloads());
  };
  expect_errors(args(32'000), {});
  const auto refused = args(33'000);
  ASSERT_EQ(refused.errors.size(), 1u);
  EXPECT_EQ(refused.errors[0].line, 2);
  EXPECT_NE(refused.errors[0].message.find("of which 65536 are allowed"),
            std::string::npos);
}

TEST(StudyLimits, OptionsAreFiniteAndNamed) {
  const auto args = [](const std::string& what) {
    return read_study("study: s\nworkload: {command: [sleep], packages: {a: "
                      "'1'}, args: "
                        + what
                        + "}\nobjective: {metric: m, direction: minimize}\n"
                          "max_steps: 1\nspace: {a: 1}\n",
                      "s.yaml", built_in_workloads());
  };
  expect_errors(args("{x: .inf}"),
                {"s.yaml:2:60: workload.args.x: must be a finite number, found "
                 "'.inf'"});
  const auto half = std::string(600, 'k');
  const auto deep = args("{" + half + ": {" + half + ": 1}}");
  ASSERT_EQ(deep.errors.size(), 1u);
  EXPECT_NE(deep.errors[0].message.find("is too long"), std::string::npos);
}

TEST(StudyLimits, EveryOptionIsTriedHoweverManyCombinationsThereAre) {
  // Each of 100 options has 100 within, of which the last one is wrong.
  std::string space = "a: {choice: [";
  for (int i = 0; i < 100; ++i) {
    space += "{multistep: {initial: 1, gamma: 0.1, milestones: [{choice: [";
    for (int k = 1; k <= 100; ++k)
      space
        += (i == 99 && k == 100 ? "-3" : std::to_string(100 * i + k)) + ", ";
    space += "]}]}}, ";
  }
  const auto file = read_any(space + "]}");
  ASSERT_FALSE(file.errors.empty());
  EXPECT_EQ(file.errors[0].path,
            "space.a.choice[99].multistep.milestones[0].choice[99]");
}

TEST(StudyLimits, WhatCannotBeCheckedIsRefused) {
  // 10 options of 10,000 pieces, beside so many that there is little time.
  std::string space = "a: {choice: [";
  for (int i = 0; i < 10; ++i)
    space += "{cosine_restarts: {initial: " + std::to_string(i + 1)
             + ", period: 2}}, ";
  space += "]}";
  for (int i = 0; i < 1000; ++i)
    space += "\n  h" + std::to_string(i) + ": 1";
  const auto file = read_any(space);
  ASSERT_FALSE(file.errors.empty());
  EXPECT_NE(file.errors[0].message.find("than can be checked"),
            std::string::npos)
    << file.errors[0].message;
}

TEST(StudyLimits, FormsOfATrialAreCounted) {
  std::string space = "a: {cosine_restarts: {initial: 1, period: 3}}";
  for (int i = 0; i < 60; ++i)
    space += "\n  h" + std::to_string(i) + ": 1";
  const auto file = read_any(space);
  ASSERT_EQ(file.errors.size(), 1u) << test::texts(file.errors)[0];
  EXPECT_NE(file.errors[0].message.find("another piece"), std::string::npos)
    << file.errors[0].message;
}

TEST(StudyLimits, BuiltInWorkloadsTakeZeroWhereItHasAMeaning) {
  for (const auto& workload : built_in_workloads()) {
    if (workload.open)
      continue;
    for (const auto& p : workload.hyper_parameters)
      for (const auto* name : {"lr", "weight_decay", "momentum", "dropout"})
        if (p.name == name) {
          EXPECT_FALSE(p.refuses(0.0)) << workload.name << ' ' << name;
        }
  }
  const auto file = read_study(
    "study: s\nworkload: fashion-cnn\nobjective: {metric: val_accuracy}\n"
    "max_steps: 12\nspace:\n"
    "  lr: {warmup: {from: 0, to: 0.1, steps: 2, then: {cosine: {initial: 0.1, "
    "end: 0, horizon: 6}}}}\n",
    "s.yaml", built_in_workloads());
  expect_errors(file, {});
}

} // namespace
} // namespace hippo
