#include "hippo/search/sampler/sequence_features.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "hippo/sequence/configuration.hpp"
#include "search/studies.hpp"

namespace hippo {
namespace {

/// Schedules that agree for some steps with others, spelt in several ways, a
/// word, and hyper-parameters that not all have.
constexpr auto schedules
  = "{x: {choice: [{constant: {choice: [1, 0.1]}},"
    " {multistep: {initial: {choice: [1, 0.1]}, milestones: [{choice: [20, 40,"
    " 60]}], gamma: {choice: [0.1, 1]}}},"
    " {piecewise: [[0, {choice: [1, 0.1]}], [{choice: [20, 41]}, 0.01]]},"
    " {linear: {from: 1, to: 0.1, horizon: {choice: [40, 80]}}},"
    " {cosine: {initial: 1, horizon: {choice: [40, 80]}}}]},"
    " y: {choice: [1, {value: 2, with: {z: {choice: [3, {piecewise: [[0, 3],"
    " [50, 4]]}]}}}]}}";

std::map<std::string, sequence> defaults() {
  return {{"x", sequence{form::constant(0)}},
          {"y", sequence{form::constant(0)}},
          {"z", sequence{form::constant(3)}}};
}

/// What is trained up to a step: the canonical forms.
std::vector<segment> up_to(step_t end, std::map<std::string, sequence> x) {
  x.merge(defaults());
  auto result = join(x, 81);
  std::erase_if(result, [end](const segment& y) { return y.begin >= end; });
  return result;
}

TEST(SequenceFeatures, AreEqualWheneverWhatWasTrainedIs) {
  const auto space = study(schedules, "random").space;
  const sequence_features features{space, defaults(), 81, 1};
  std::uint64_t equal = 0, different = 0;
  for (std::uint64_t i = 0; i < *space.size(); ++i)
    for (std::uint64_t j = 0; j < i; ++j) {
      const auto a = space.at(i).sequences, b = space.at(j).sequences;
      for (step_t at : {1, 9, 20, 27, 41, 50, 51, 81}) {
        const auto x = features.cut(features.of(a), at);
        const auto y = features.cut(features.of(b), at);
        ASSERT_EQ(x.size(), features.size());
        if (up_to(at, a) == up_to(at, b)) {
          ++equal;
          EXPECT_EQ(x, y) << space.at(i).shown << space.at(j).shown << at;
        } else {
          different += x != y;
        }
      }
    }
  EXPECT_GT(equal, 500u); // or nothing was looked at
  EXPECT_GT(different, 500u);
}

TEST(SequenceFeatures, ADefaultIsAValueLikeAnyOther) {
  const auto space = study(schedules, "random").space;
  const sequence_features features{space, defaults(), 81, 1};
  auto with = space.at(0).sequences, without = with;
  with.insert_or_assign("z", sequence{form::constant(3)});
  without.erase("z");
  EXPECT_EQ(features.of(with), features.of(without));
  with.insert_or_assign("z", sequence{form::constant(4)});
  EXPECT_NE(features.of(with), features.of(without));
}

TEST(SequenceFeatures, NothingAtOrBeyondTheStepCounts) {
  const auto space = study(schedules, "random").space;
  const sequence_features features{space, {}, 81, 1};
  const auto early = sequence{{{0, form::constant(1)},
                               {40, form::constant(0.5)}}};
  const auto late = sequence{{{0, form::constant(1)},
                              {60, form::constant(0.5)}}};
  const auto of = [&](const sequence& x, step_t at) {
    return features.cut(features.of({{"x", x}}), at);
  };
  EXPECT_EQ(of(early, 40), of(late, 40));
  EXPECT_NE(of(early, 81), of(late, 81));
  EXPECT_NE(of(early, 40), of(early, 41)); // by the step alone
}

/// The squared distance of two trials in each group.
std::vector<double> distances(const sequence_features& features,
                              const std::vector<double>& x,
                              const std::vector<double>& y) {
  std::vector<double> result(features.groups());
  const auto groups = features.group_of();
  for (std::size_t i = 0; i < x.size(); ++i)
    result[groups[i]] += (x[i] - y[i]) * (x[i] - y[i]);
  return result;
}

TEST(SequenceFeatures, HalvesAreGroupsOfWhatChanges) {
  const auto space
    = study("{x: {choice: [1, {piecewise: [[0, 1], [41, 3]]}]},"
            " y: {choice: [1, 2]}}",
            "random")
        .space;
  const sequence_features features{space, {}, 81, 1};
  ASSERT_EQ(features.groups(), 4u); // two of x, one of y, one of the step
  const auto of = [&](std::uint64_t i) {
    return features.of(space.at(i).sequences);
  };
  // Combinations 0 and 2 differ in x's second half alone.
  const auto off = distances(features, of(0), of(2));
  EXPECT_EQ(off[0], 0);
  EXPECT_GT(off[1], 1);
  EXPECT_EQ(off[2], 0);
  EXPECT_EQ(off[3], 0);
  const auto other = distances(features, of(0), of(1));
  EXPECT_EQ(other[0] + other[1], 0);
  EXPECT_NEAR(other[2], 4, 0.5); // a deviation on either side of the mean
}

TEST(SequenceFeatures, ADecadeIsSeenByItsLogarithm) {
  const auto distance = [](const char* values) {
    const auto space
      = study(std::string{"{x: {choice: "} + values + "}}", "random").space;
    const sequence_features features{space, {}, 81, 1};
    const auto of = [&](std::uint64_t i) {
      return features.of(space.at(i).sequences);
    };
    return std::sqrt(distances(features, of(0), of(1))[0]
                     / distances(features, of(1), of(2))[0]);
  };
  EXPECT_NEAR(distance("[0.01, 0.1, 1]"), 1, 1e-9);
  EXPECT_NEAR(distance("[1, 3, 9]"), 2.0 / 6, 1e-9); // not quite a decade
  EXPECT_NEAR(distance("[-1, 9, 99]"), 10.0 / 90, 1e-9);
}

TEST(SequenceFeatures, ARangeIsSeenAsItIsSpread) {
  // Of how far apart three values are, equally far by `place`.
  const auto distance = [](const char* range, double (*place)(double)) {
    const auto space
      = study(std::string{"{x: "} + range + "}", "random").space;
    const sequence_features features{space, {}, 81, 1};
    const auto of = [&](double x) {
      return features.of({{"x", sequence{form::constant(place(x))}}});
    };
    return std::sqrt(distances(features, of(0.2), of(0.5))[0]
                     / distances(features, of(0.5), of(0.8))[0]);
  };
  const auto even = [](double x) { return x; };
  const auto powers = [](double x) { return std::pow(10, 4 * x - 4); };
  EXPECT_NEAR(distance("{uniform: [0, 1]}", even), 1, 1e-9);
  EXPECT_NEAR(distance("{uniform: [0.001, 1]}", even), 1, 1e-9);
  EXPECT_NEAR(distance("{log_uniform: [1e-4, 1]}", powers), 1, 1e-9);
}

TEST(SequenceFeatures, WordsAreEquallyFarFromEachOther) {
  workload_descriptor toy;
  toy.name = "toy";
  toy.metrics = {{"acc", direction::maximize, "quality"}};
  parameter_descriptor word;
  word.name = "w";
  word.fallback = "a";
  word.words = {"a", "b", "c"};
  toy.hyper_parameters = {word};
  const auto file = read_study("study: s\nworkload: toy\n"
                               "objective: {metric: acc}\nmax_steps: 81\n"
                               "space: {w: {choice: [a, b, c]}}\n",
                               "s.yaml", {toy});
  ASSERT_TRUE(file.study) << to_text(file.errors.front());
  const auto& space = file.study->space;
  const sequence_features features{space, {}, 81, 1};
  const auto of = [&](std::uint64_t i) {
    return features.of(space.at(i).sequences);
  };
  const auto off = distances(features, of(0), of(1))[0];
  EXPECT_GT(off, 0);
  EXPECT_EQ(off, distances(features, of(0), of(2))[0]);
  EXPECT_EQ(off, distances(features, of(1), of(2))[0]);
}

TEST(SequenceFeatures, ASpaceWithoutChoicesHasTheStepAlone) {
  const auto space = study("{x: 3}", "random").space;
  const sequence_features features{space, {}, 81, 1};
  EXPECT_EQ(features.size(), 1u);
  EXPECT_EQ(features.groups(), 1u);
}

} // namespace
} // namespace hippo
