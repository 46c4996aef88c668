#include "hippo/space/trial_defaults.hpp"

#include <gtest/gtest.h>

#include "space/fixtures.hpp"

namespace hippo {
namespace {

using test::parameter;

/// A workload whose `turns` and `length` configurations may leave out: the
/// second one has no effect without the first, and neither without `share`.
workload_descriptor workload() {
  workload_descriptor result;
  auto turns = parameter("turns", 0.0), length = parameter("length", 3.0);
  turns.left_out = length.left_out = true;
  turns.only_with = "share";
  length.only_with = "turns";
  result.hyper_parameters = {parameter("share", 0.5), turns, length};
  return result;
}

form constant(double x) {
  return form::constant(x);
}

/// The segments of a trial with these values, as texts.
std::vector<std::string> segments(std::map<std::string, sequence> values) {
  std::vector<std::string> result;
  for (const auto& x : trial_defaults{workload()}.complete(values, 10))
    result.push_back(std::to_string(x.begin) + ": " + to_text(x.config));
  return result;
}

using texts = std::vector<std::string>;

TEST(TrialDefaults, WhatMakesNoDifferenceIsLeftOut) {
  const texts plain{"0: " + to_text(configuration{{"share", constant(0.5)}})};
  EXPECT_EQ(segments({}), plain);
  EXPECT_EQ(segments({{"turns", sequence{constant(0)}}}), plain);
  EXPECT_EQ(segments({{"length", sequence{constant(9)}}}), plain);
  EXPECT_EQ(segments({{"share", sequence{constant(0)}},
                      {"turns", sequence{constant(7)}},
                      {"length", sequence{constant(9)}}}),
            (texts{"0: " + to_text(configuration{{"share", constant(0)}})}));
}

TEST(TrialDefaults, WhatMakesADifferenceIsKept) {
  const configuration turns{{"share", constant(0.5)}, {"turns", constant(7)}};
  auto both = turns;
  both["length"] = constant(9);
  EXPECT_EQ(segments({{"turns", sequence{constant(7)}}}),
            texts{"0: " + to_text(turns)});
  EXPECT_EQ(segments({{"turns", sequence{constant(7)}},
                      {"length", sequence{constant(3)}}}),
            texts{"0: " + to_text(turns)});
  EXPECT_EQ(segments({{"turns", sequence{constant(7)}},
                      {"length", sequence{constant(9)}}}),
            texts{"0: " + to_text(both)});
}

TEST(TrialDefaults, SegmentsWithoutADifferenceAreOne) {
  const sequence late{std::vector<piece>{{0, constant(0)}, {6, constant(7)}}};
  const sequence lengths{
    std::vector<piece>{{0, constant(1)}, {2, constant(9)}}};
  const configuration before{{"share", constant(0.5)}};
  auto after = before;
  after["turns"] = constant(7);
  after["length"] = constant(9);
  EXPECT_EQ(segments({{"turns", late}, {"length", lengths}}),
            (texts{"0: " + to_text(before), "6: " + to_text(after)}));
}

TEST(TrialDefaults, OthersAreFilledIn) {
  const trial_defaults defaults{workload()};
  EXPECT_EQ(defaults.values().size(), 3u);
  EXPECT_EQ(defaults.values().at("length"), sequence{constant(3)});
  EXPECT_EQ(defaults.kept(), (std::map<std::string, sequence>{
                               {"share", sequence{constant(0.5)}}}));
  // Without such hyper-parameters segments are those of `join`.
  const auto toy = test::workloads().front();
  const auto plain = trial_defaults{toy};
  EXPECT_EQ(plain.kept(), plain.values());
  EXPECT_EQ(plain.complete({}, 10), join(plain.values(), 10));
}

} // namespace
} // namespace hippo
