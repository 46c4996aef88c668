#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hippo/sequence/configuration.hpp"
#include "space/fixtures.hpp"

namespace hippo {
namespace {

using lines = std::vector<std::string>;

/// A study of code of its own, whose space is in line 6 and after it.
study_file read_own(const std::string& space, const std::string& more = {}) {
  return read_study("study: s\nworkload: {command: [train], packages: {m: 1}}\n"
                    "objective: {metric: m, direction: minimize}\nmax_steps: "
                    "12\nspace:\n"
                      + space + more,
                    "s.yaml", built_in_workloads());
}

/// The values of the only trial.
trial_parameters values_of(const std::string& space) {
  const auto file = read_own(space);
  EXPECT_EQ(test::texts(file.errors), lines{});
  EXPECT_EQ(test::texts(file.warnings), lines{});
  return file.study ? file.study->space.at(0) : trial_parameters{};
}

std::string text_of(const std::map<std::string, sequence>& xs) {
  configuration first;
  for (const auto& [name, x] : xs)
    first.emplace(name, x.pieces().back().shape);
  return to_text(first);
}

TEST(TypedValues, AreWhatTheTextSays) {
  const auto x = values_of(R"(  a: 3
  b: 3.0
  c: true
  d: "1e-3"
  e: 0.3
  f: {int_uniform: [7, 8], points: 2}
  g: {uniform: [0, 1], points: 2}
  h: 20240131123456
  i: {constant: [64, {b: null, a: 1.0}]}
  j: {constant: {cosine: 1}}
  k: 12345678901234567890
)");
  EXPECT_EQ(text_of(x.sequences),
            R"(a=int:3;b=3;c=bool:1;d="1e-3";e=0.3;f=int:7;g=0;)"
            R"(h=int:20240131123456;i=json:"[64,{\"a\":1.0,\"b\":null}]";)"
            R"(j=json:"{\"cosine\":1}";k=json:"12345678901234567890")");
  EXPECT_EQ(x.shown.dump(),
            R"({"a":3,"b":3.0,"c":true,"d":"1e-3","e":0.3,"f":7,"g":0.0,)"
            R"("h":20240131123456,"i":{"constant":[64,{"b":null,"a":1.0}]},)"
            R"("j":{"constant":{"cosine":1}},"k":12345678901234567890})");
}

TEST(TypedValues, DecaysOfWholeNumbersByWholeNumbersAreWhole) {
  const auto x = values_of(
    R"(  a: {multistep: {initial: 32, milestones: [3], gamma: 2}}
  b: {multistep: {initial: 32, milestones: [3], gamma: 2.0}}
  c: {multistep: {initial: 32.0, milestones: [3], gamma: 2}}
  d: {exponential: {initial: 3, gamma: 3}}
  e: {step: {initial: 5, size: 4, gamma: 0}}
  f: {piecewise: [[0, 0.5], [5, 1]]}
  g: {linear: {from: 1, to: 3, horizon: 2}}
  h: {warmup: {steps: 2, from: 1, to: 2, then: {constant: 7}}}
)");
  EXPECT_EQ(text_of(x.sequences),
            "a=int:64;b=64;c=64;d=int:exp(3,3)@0;e=int:0;f=int:1;g=3;h=int:7");
  EXPECT_EQ(x.sequences.at("d").at(11), scalar{531441.0});
  EXPECT_EQ(x.sequences.at("a").form_at(0), form::whole(32));
  // The first value is one of the schedule's, also where they are equal.
  EXPECT_EQ(x.sequences.at("g").form_at(0), form::constant(1));
  EXPECT_EQ(test::texts(read_own("  a: {exponential: {initial: 3, gamma: "
                                 "100000}}\n")
                          .errors),
            (lines{"s.yaml:6:20: space.a.exponential: must be a whole number "
                   "up to 2^53: begin with a number that has a point, found "
                   "inf at step 11"}));
}

TEST(TypedValues, OptionsOfAnyTypeAreOptionsOfTheirOwn) {
  const auto file = read_own(R"(  x:
    choice:
      - null
      - [64, 64]
      - []
      - [{choice: [1, 2]}, {int_uniform: [3, 4]}]
      - {constant: {b: 1, a: [x]}}
      - {value: null, with: {y: 1}}
      - 1
      - 1.0
      - true
      - "true"
      - "1"
      - "null"
)");
  EXPECT_EQ(test::texts(file.errors), lines{});
  EXPECT_EQ(test::texts(file.warnings), lines{});
  ASSERT_TRUE(file.study);
  lines found;
  for (std::uint64_t i = 0; i < file.study->space.size().value(); ++i)
    found.push_back(
      shown_text(file.study->space.at(i).sequences.at("x").form_at(0)));
  EXPECT_EQ(found,
            (lines{"null", "[64,64]", "[]", "[1,3]", "[1,4]", "[2,3]", "[2,4]",
                   R"({"a":["x"],"b":1})", "null", "1", "1", "true", "true",
                   R"("1")", "null"}));
}

TEST(TypedValues, TheSameOptionIsThatOfTheSameTypeAndValue) {
  const auto warnings = [](const std::string& options) {
    return test::texts(
      read_own("  x: {choice: [" + options + "]}\n").warnings);
  };
  EXPECT_EQ(warnings("true, 'true', 1, 1.0, '1', null, 'null', [], [1], [1.0]"),
            lines{});
  const auto second = [](const std::string& column) {
    return lines{"s.yaml:6:" + column
                 + ": space.x.choice[1]: is the same option as "
                   "space.x.choice[0]"};
  };
  EXPECT_EQ(warnings("1.0, 1e0"), second("21"));
  EXPECT_EQ(warnings("1, +1"), second("19"));
  EXPECT_EQ(warnings("a, 'a'"), second("19"));
  EXPECT_EQ(warnings("null, ~"), second("22"));
  // A built-in workload knows what it is given.
  const auto file = test::read(
    test::with_space("  batch_size: {choice: [true, 1, 1.0]}\n"));
  EXPECT_EQ(file.warnings.size(), 2u);
}

TEST(TypedValues, WhatIsNoOptionIsNoValue) {
  EXPECT_EQ(test::texts(read_own(R"(  a: [0.1, 0.2]
  b:
  c: {piecewise: [[0, 1], [2, [3]]]}
  d: {choice: [1, {e: 1, f: 2}]}
  e: {choice: [123456789012345678901]}
  f: {choice: [[.nan]]}
)")
                          .errors)
              .size(),
            6u);
  // Nor for a workload that has no use for it.
  const auto file = test::read(
    test::with_space("  lr: {choice: [null, 0.1]}\n"));
  EXPECT_EQ(test::texts(file.errors),
            (lines{"s.yaml:6:17: space.lr.choice[0]: must be a value, found "
                   "nothing"}));
}

TEST(TypedValues, WhatIsRoundedIsToldAsItIsTrained) {
  const auto file = read_own(R"(  x: 0.1234567890123456
  y: {choice: [0.30000000000000004, 0.1234567890123456]}
  z: {uniform: [0, 0.1234567890123456], points: 2}
  n: {multistep: {initial: 20240131123456, milestones: [2], gamma: 1.0}}
)");
  EXPECT_EQ(test::texts(file.errors), lines{});
  EXPECT_EQ(
    test::texts(file.warnings),
    (lines{"s.yaml:6:6: space.x: has more than 12 digits, and is trained with "
           "as 0.123456789012",
           "s.yaml:7:16: space.y.choice[0]: has more than 12 digits, and is "
           "trained with as 0.3",
           "s.yaml:8:20: space.z.uniform[1]: has more than 12 digits, and is "
           "trained with as 0.123456789012",
           "s.yaml:9:28: space.n.multistep.initial: has more than 12 digits, "
           "and is trained with as 20240131123500"}));
  EXPECT_EQ(file.study->space.at(3).shown.dump(),
            R"({"x":0.123456789012,"y":0.123456789012,"z":0.123456789012,)"
            R"("n":{"multistep":{"initial":20240131123500,"milestones":[2],)"
            R"("gamma":1.0}}})");
}

TEST(TypedValues, ATrialIsReadAsItIsShown) {
  const auto shown = values_of("  a: 3\n  b: 3.0\n  c: true\n"
                               "  d: '1e-3'\n"
                               "  e: {choice: [null]}\n"
                               "  f: {choice: [[1, 2.0]]}\n"
                               "  g: {constant: {x: [null]}}\n");
  workload_descriptor open;
  open.open = true;
  const auto again = read_parameters(shown.shown.dump(), 12, open,
                                     name_rules::today, true);
  ASSERT_TRUE(again) << again.failure().message;
  EXPECT_EQ(again->shown, shown.shown);
  EXPECT_EQ(again->sequences, shown.sequences);
}

TEST(TypedValues, LeavesAreDrawnApartWhateverTheirNames) {
  const auto file = read_own("  a: {choice: [{constant: {uniform: [0, 1]}}]}\n"
                             "  a.choice[0].constant: {uniform: [0, 1]}\n");
  EXPECT_EQ(test::texts(file.errors), lines{});
  const auto drawn = file.study->space.sample(1, 2).sequences;
  EXPECT_NE(drawn.at("a"), drawn.at("a.choice[0].constant"));
}

TEST(TypedValues, MergeKeysBringWhatTheMapItselfDoesNotHave) {
  const auto file = read_own(R"(  x:
    choice:
      - {value: sgd, with: &both {a: {choice: [1, 2]}, b: 3}}
      - {value: adam, with: {<<: *both, b: 4, c: 5}}
      - {value: rms, with: {c: 6, <<: [{c: 7, d: 8}, {d: 9, e: 10}]}}
      - {value: none, with: {"<<": 1}}
)");
  EXPECT_EQ(test::texts(file.errors), lines{});
  ASSERT_TRUE(file.study);
  lines found;
  for (const auto i : {0u, 2u, 4u, 5u})
    found.push_back(file.study->space.at(i).shown.dump());
  EXPECT_EQ(found, (lines{R"({"x":"sgd","a":1,"b":3})",
                          R"({"x":"adam","a":1,"b":4,"c":5})",
                          R"({"x":"rms","c":6,"d":8,"e":10})",
                          R"({"x":"none","<<":1})"}));
  const auto errors = [](const std::string& space) {
    return test::texts(read_own(space).errors);
  };
  EXPECT_EQ(errors("  <<: 1\n  a: 1\n"),
            (lines{"s.yaml:6:3: space: the merge key '<<' takes a map or a "
                   "list of maps (write \"<<\" for a name), found '1'"}));
  EXPECT_EQ(errors("  <<: {b: 1}\n  <<: {c: 1}\n  a: 1\n"),
            (lines{"s.yaml:7:3: space: the merge key '<<' is there twice: give "
                   "it a list of maps"}));
  EXPECT_FALSE(errors("  a: &a {constant: {<<: *a}}\n").empty());
}

} // namespace
} // namespace hippo
