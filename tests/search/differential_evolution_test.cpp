#include "hippo/search/sampler/differential_evolution.hpp"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "search/studies.hpp"

namespace hippo {
namespace {

differential_evolution sampler_of(const std::string& space,
                                  std::uint64_t seed = 0) {
  return {study(space, "random", "budget: {trials: 100}").space, seed};
}

double number(const trial_parameters& x, const std::string& name) {
  return std::get<double>(x.sequences.at(name).at(0));
}

TEST(EvolvingSampler, BeginsAsRandomSearchDoes) {
  for (const auto* space : {twelve, endless}) {
    const auto x = study(space, "random", "budget: {trials: 12}");
    const auto random = sampler_of(x);
    differential_evolution own{x.space, x.seed};
    for (trial_no trial = 0; trial < 12; ++trial)
      EXPECT_EQ(own.draw(trial).shown, random->draw(trial).shown);
    EXPECT_FALSE(own.is_static());
  }
}

TEST(EvolvingSampler, MovesTheBaseByHalfADifference) {
  // One leaf: it is the mutant's always.
  for (const bool logarithmic : {false, true}) {
    auto own = sampler_of(logarithmic ? "{x: {log_uniform: [0.01, 100]}}"
                                      : "{x: {uniform: [-2, 2]}}");
    const auto share = [&](const trial_parameters& x) {
      const auto value = number(x, "x");
      return logarithmic ? (std::log10(value) + 2) / 4 : (value + 2) / 4;
    };
    std::vector<double> known;
    for (trial_no trial = 0; trial < 100; ++trial)
      known.push_back(share(own.draw(trial)));
    int inside = 0, outside = 0;
    std::set<double> drawn;
    for (trial_no i = 0; i < 96; ++i) {
      const auto expected = known[i + 1] + 0.5 * (known[i + 2] - known[i + 3]);
      const auto found = share(own.cross({100 + i, i, {i + 1, i + 2, i + 3}}));
      if (expected >= 0 && expected <= 1) {
        EXPECT_NEAR(found, expected, 1e-9);
        ++inside;
      } else {
        EXPECT_TRUE(found > 0 && found < 1) << "is drawn anew";
        drawn.insert(found);
        ++outside;
      }
    }
    EXPECT_GT(inside, 10);
    EXPECT_GT(outside, 2);
    EXPECT_EQ(drawn.size(), static_cast<std::size_t>(outside));
  }
}

TEST(EvolvingSampler, TakesHalfOfTheMutantAndSomethingAlways) {
  auto own = sampler_of("{x: {uniform: [0, 1]}, y: {uniform: [0, 1]},"
                        " z: {uniform: [0, 1]}}");
  std::vector<trial_parameters> known;
  for (trial_no trial = 0; trial < 4; ++trial)
    known.push_back(own.draw(trial));
  int changed = 0;
  constexpr int crosses = 2000;
  for (trial_no trial = 4; trial < 4 + crosses; ++trial) {
    const auto x = own.cross({trial, 0, {1, 2, 3}});
    int here = 0;
    for (const auto* name : {"x", "y", "z"})
      here += number(x, name) != number(known[0], name);
    EXPECT_GT(here, 0);
    changed += here;
  }
  // Of three coordinates 1.5, and one more where it would be none.
  EXPECT_NEAR(changed, (1.5 + 0.125) * crosses, 0.03 * crosses);
}

TEST(EvolvingSampler, PointsAndAlternativesAreBinsOfEqualWidth) {
  for (const auto* space :
       {"{x: {choice: [1, 2, 3, 4]}}", "{x: {int_uniform: [1, 4]}}"}) {
    std::map<double, int> counts;
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
      auto own = sampler_of(space, seed);
      std::map<double, trial_no> by_value;
      for (trial_no trial = 0; trial < 4; ++trial)
        by_value[number(own.draw(trial), "x")] = trial;
      EXPECT_EQ(by_value.size(), 4u);
      // All were tried, so that any may come again: 3 + (1 - 2) / 2 lies in the
      // bin of 2 or in that of 3, as often.
      const auto x =
        own.cross({4, by_value[4], {by_value[3], by_value[1], by_value[2]}});
      ++counts[number(x, "x")];
    }
    EXPECT_EQ(counts.size(), 4u) << "what was tried gives way to the order";
  }
  auto own = sampler_of("{x: {choice: [1, 2]}, y: {uniform: [0, 1]}}");
  for (trial_no trial = 0; trial < 200; ++trial)
    own.draw(trial);
  std::map<double, int> counts;
  for (trial_no trial = 200; trial < 1000; ++trial) {
    const auto of = [&](trial_no i) { return (trial * 7 + i) % 200; };
    ++counts[number(own.cross({trial, of(0), {of(1), of(2), of(3)}}), "x")];
  }
  EXPECT_EQ(counts.size(), 2u);
  for (const auto& [value, count] : counts)
    EXPECT_GT(count, 300) << value;
}

TEST(EvolvingSampler, WhatALeafIsWithoutItsTrialHasACoordinateAllTheSame) {
  auto own = sampler_of("{x: {choice: [{value: 1, with: {y: {uniform: [0,"
                        " 1]}}}, {value: 2, with: {z: {uniform: [0, 1]}}}]}}");
  for (trial_no trial = 0; trial < 50; ++trial)
    own.draw(trial);
  std::set<double> seen;
  for (trial_no trial = 50; trial < 150; ++trial) {
    const auto x =
      own.cross({trial,
                 trial % 50,
                 {(trial + 1) % 50, (trial + 2) % 50, (trial + 3) % 50}});
    const auto* there = number(x, "x") == 1 ? "y" : "z";
    EXPECT_EQ(x.sequences.size(), 2u);
    seen.insert(number(x, there));
  }
  EXPECT_GT(seen.size(), 70u) << "they differ but where they are the target's";
}

TEST(EvolvingSampler, TriesNothingTwiceWhileOthersAreLeft) {
  auto own = sampler_of(twelve);
  std::set<std::string> seen;
  for (trial_no trial = 0; trial < 4; ++trial)
    seen.insert(own.draw(trial).shown.dump());
  for (trial_no trial = 4; trial < 12; ++trial)
    EXPECT_TRUE(
      seen.insert(own.cross({trial, 0, {1, 2, 3}}).shown.dump()).second);
  EXPECT_EQ(seen.size(), 12u);
  EXPECT_TRUE(seen.contains(own.cross({12, 0, {1, 2, 3}}).shown.dump()));
}

TEST(EvolvingSampler, ASpaceWithoutChoicesIsNoObstacle) {
  auto own = sampler_of("{x: {choice: [3]}}");
  for (trial_no trial = 0; trial < 4; ++trial)
    own.draw(trial);
  EXPECT_EQ(number(own.cross({4, 0, {1, 2, 3}}), "x"), 3);
}

TEST(EvolvingSampler, RecallsWhatItDecided) {
  const auto* space = "{x: {choice: [1, 2, 3]}, y: {log_uniform: [0.1, 1]},"
                      " z: {int_uniform: [1, 1000000]}}";
  auto own = sampler_of(space), again = sampler_of(space);
  const auto next = [](differential_evolution& x, trial_no trial) {
    return trial < 20
             ? x.draw(trial)
             : x.cross({trial, trial - 4, {trial - 1, trial - 2, trial - 3}});
  };
  EXPECT_FALSE(own.recall(0));
  for (trial_no trial = 0; trial < 300; ++trial) {
    const auto x = next(own, trial);
    EXPECT_EQ(own.recall(trial)->shown, x.shown);
    EXPECT_EQ(next(again, trial).shown, x.shown);
  }
}

TEST(EvolvingSampler, SaysHowItChose) {
  auto own = sampler_of("{x: {choice: [1, 2, 3]}, y: {uniform: [0, 1]}}");
  EXPECT_FALSE(own.choice_of(0));
  for (trial_no trial = 0; trial < 20; ++trial)
    own.draw(trial);
  own.cross({20, 5, {17, 3, 9}});
  EXPECT_EQ(own.choice_of(5)->why.how, "startup");
  const auto choice = own.choice_of(20);
  EXPECT_EQ(choice->why.how, "cross of 17, 3, 9");
  EXPECT_FALSE(choice->why.predicted);
  ASSERT_EQ(choice->decisions.size(), 2u);
  const auto x = own.recall(20)->sequences.at("x").at(0);
  EXPECT_EQ(std::get<double>(x), static_cast<double>(choice->decisions[0]) + 1);
}

} // namespace
} // namespace hippo
