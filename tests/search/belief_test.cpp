#include "hippo/search/surrogate/belief.hpp"

#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "search/studies.hpp"
#include "search/study_runs.hpp"

namespace hippo {
namespace {

/// A leaf of a space with a range x and a choice z.
space_leaf leaf_of(const std::string& name) {
  static const auto known =
    study("{x: {uniform: [-5, 5]}, z: {choice: [1, 5, 3, 4]}}", "random",
          "budget: {trials: 1}");
  std::optional<space_leaf> result;
  known.space.walk([&](const space_leaf& leaf) -> std::uint64_t {
    if (leaf.path().find("space." + name) != std::string::npos)
      result = leaf;
    return 0;
  });
  return *result;
}

/// The probabilities of all decisions add up to one, at each strength and mode,
/// on a range at the resolution of a sum.
TEST(Belief, IsADistribution) {
  constexpr auto end = space_leaf::high_end;
  for (const auto strength : {0.1, 1.0, 2.0, 8.0, 32.0})
    for (const auto mode : {0.0, 0.1, 0.5, 1.0}) {
      const auto at =
        static_cast<std::uint64_t>(mode * static_cast<double>(end));
      const belief x{leaf_of("x"), {"", at, strength}};
      constexpr int points = 20'000;
      double sum = 0;
      for (int i = 0; i < points; ++i)
        sum += std::exp(x.log_of(static_cast<std::uint64_t>(
                 (i + 0.5) / points * static_cast<double>(end))))
               / points;
      EXPECT_NEAR(sum, 1, 1e-3) << strength << ' ' << mode;
    }
  for (std::uint64_t mode = 0; mode < 4; ++mode) {
    const belief x{leaf_of("z"), {"", mode, 2}};
    double sum = 0;
    for (std::uint64_t i = 0; i < 4; ++i)
      sum += std::exp(x.log_of(i)) / 4;
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_NEAR(x.log_of(mode) - x.log_of((mode + 1) % 4), std::log(5), 1e-12);
  }
}

/// Draws are as frequent as the density says.
TEST(Belief, IsDrawnFromAsItSays) {
  constexpr int draws = 20'000, bins = 10;
  const auto end = static_cast<double>(space_leaf::high_end);
  for (const auto strength : {0.5, 2.0, 8.0}) {
    const belief x{leaf_of("x"),
                   {"", static_cast<std::uint64_t>(0.2 * end), strength}};
    std::vector<double> counted(bins), expected(bins);
    for (int i = 0; i < draws; ++i) {
      counter_rng one{{7, static_cast<std::uint64_t>(i)}, "draw"};
      const auto share = static_cast<double>(x.draw(one)) / end;
      ++counted[std::min(bins - 1, static_cast<int>(share * bins))];
    }
    for (int i = 0; i < 100 * bins; ++i)
      expected[i / 100] +=
        std::exp(
          x.log_of(static_cast<std::uint64_t>((i + 0.5) / (100 * bins) * end)))
        * draws / (100 * bins);
    for (int i = 0; i < bins; ++i)
      EXPECT_NEAR(counted[i], expected[i], 6 * std::sqrt(expected[i] + 1))
        << strength << ' ' << i;
  }
  std::vector<int> chosen(4);
  const belief x{leaf_of("z"), {"", 2, 1.5}};
  for (int i = 0; i < draws; ++i) {
    counter_rng one{{7, static_cast<std::uint64_t>(i)}, "draw"};
    ++chosen[x.draw(one)];
  }
  for (std::uint64_t i = 0; i < 4; ++i)
    EXPECT_NEAR(chosen[i], draws / 7.0 * (i == 2 ? 4 : 1), 300);
}

// -- samplers -----------------------------------------------------------------

double number(const trial_parameters& x, const std::string& name) {
  return std::get<double>(x.sequences.at(name).at(0));
}

constexpr auto plane = "{x: {uniform: [-5, 5]}, y: {uniform: [-5, 5]}}";

/// A study with a belief about both.
study_spec believing(const std::string& algorithm, double x, double y,
                     std::uint64_t seed) {
  auto result = study(plane, algorithm, "budget: {trials: 60}");
  result.objective.direction = direction::minimize;
  result.seed = seed;
  result.space.walk([&](const space_leaf& leaf) -> std::uint64_t {
    const bool is_x = leaf.path().find("space.x") != std::string::npos;
    result.prior.push_back({leaf.path(), *leaf.nearest(is_x ? x : y), 4});
    return 0;
  });
  return result;
}

/// The trials until one is within .3 of (2, 1), by a sampler alone.
int trials_until_found(study_spec study) {
  const auto sampler = sampler_of(study);
  for (trial_no trial = 0; trial < 60; ++trial) {
    const auto values = sampler->draw(trial);
    const auto a = number(values, "x") - 2, b = number(values, "y") - 1;
    const auto worth = a * a + b * b;
    if (worth < 0.09)
      return static_cast<int>(trial) + 1;
    sampler->on_result(trial, 81, worth);
  }
  return 61;
}

TEST(Prior, BringsTheFirstTrialToItsModes) {
  for (const auto* algorithm : {"tpe", "gp"}) {
    const auto sampler = sampler_of(believing(algorithm, 3, -2, 0));
    const auto values = sampler->draw(0);
    EXPECT_NEAR(number(values, "x"), 3, 1e-9) << algorithm;
    EXPECT_NEAR(number(values, "y"), -2, 1e-9) << algorithm;
    EXPECT_EQ(sampler->choice_of(0)->why.how, "prior");
    int near = 0, drawn = 0;
    for (trial_no trial = 1; trial < 10; ++trial) {
      const auto others = sampler->draw(trial);
      const auto how = sampler->choice_of(trial)->why.how;
      drawn += how == "prior";
      EXPECT_TRUE(how == "prior" || how == "startup") << how;
      near += how == "prior" && std::abs(number(others, "x") - 3) < 3;
    }
    EXPECT_GE(drawn, 4) << algorithm;
    EXPECT_LT(drawn, 9) << algorithm;
    EXPECT_GE(near, drawn - 1) << algorithm;
  }
}

TEST(Prior, HelpsWhereItIsRightAndIsLetGoOfWhereItIsNot) {
  for (const auto* algorithm : {"tpe", "gp"}) {
    int right = 0, none = 0, wrong = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      right += trials_until_found(believing(algorithm, 2.5, 0.5, seed));
      wrong += trials_until_found(believing(algorithm, -4, -4, seed));
      auto without = believing(algorithm, 0, 0, seed);
      without.prior.clear();
      none += trials_until_found(without);
    }
    EXPECT_LT(right * 10, none * 9) << algorithm;
    EXPECT_LT(wrong, none * 2) << algorithm;
  }
}

/// Stored choices are taken as they are, and what follows does not depend on
/// whether they were.
TEST(Prior, IsTheSameAfterARestart) {
  for (const auto* algorithm : {"tpe", "gp"}) {
    const auto text = believing(algorithm, 2, 2, 3);
    const auto first = sampler_of(text);
    const auto again = sampler_of(text);
    for (trial_no trial = 0; trial < 24; ++trial) {
      const auto values = first->draw(trial);
      if (trial < 12)
        again->restore(trial, *first->choice_of(trial));
      const auto same = again->draw(trial);
      EXPECT_EQ(values.shown, same.shown) << algorithm << ' ' << trial;
      for (const auto& x : {std::ref(*first), std::ref(*again)})
        x.get().on_result(trial, 81, number(values, "x"));
    }
  }
}

// -- trials that are hidden ---------------------------------------------------

/// A model is as if a trial had never been while it is hidden.
TEST(HiddenTrials, AreNotLearnedFrom) {
  auto spec = study(plane, "tpe", "budget: {trials: 60}");
  spec.objective.direction = direction::minimize;
  const auto x = sampler_of(spec), never = sampler_of(spec),
             always = sampler_of(spec);
  std::vector<double> worths;
  for (trial_no trial = 0; trial < 14; ++trial) {
    worths.push_back(std::pow(number(x->draw(trial), "x"), 2));
    never->draw(trial);
    always->draw(trial);
  }
  worths[5] = -1e6; // it lies about how good it is
  for (trial_no trial = 0; trial < 14; ++trial) {
    x->on_result(trial, 81, worths[trial]);
    always->on_result(trial, 81, worths[trial]);
    if (trial != 5)
      never->on_result(trial, 81, worths[trial]);
  }
  x->on_removal(5);
  EXPECT_EQ(x->draw(14).shown, never->draw(14).shown);
  always->draw(14);
  x->on_return(5);
  EXPECT_EQ(x->draw(15).shown, always->draw(15).shown);
  EXPECT_NE(always->recall(15)->shown, never->draw(15).shown);
}

TEST(HiddenTrials, OfAGaussianProcessAreNotPredictedFrom) {
  auto spec = study(plane, "gp", "budget: {trials: 60}");
  spec.objective.direction = direction::minimize;
  const auto x = sampler_of(spec);
  for (trial_no trial = 0; trial < 12; ++trial) {
    const auto worth = std::pow(number(x->draw(trial), "x"), 2);
    x->on_result(trial, 81, trial == 5 ? -1e6 : worth);
  }
  x->on_result(5, 81, 0); // said before: does not count
  x->draw(12);
  EXPECT_LT(*x->choice_of(12)->why.predicted, -100);
  x->on_removal(5);
  x->draw(13);
  EXPECT_GT(*x->choice_of(13)->why.predicted, -100);
  x->on_return(5);
  x->draw(14);
  EXPECT_LT(*x->choice_of(14)->why.predicted, -100);
}

} // namespace
} // namespace hippo
