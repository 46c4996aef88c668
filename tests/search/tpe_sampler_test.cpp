#include "hippo/search/sampler/tpe_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "search/studies.hpp"
#include "search/study_runs.hpp"

namespace hippo {
namespace {

constexpr auto plane = "{x: {uniform: [-5, 5]}, y: {log_uniform: [0.001, 10]}}";

double number(const trial_parameters& x, const std::string& name) {
  return std::get<double>(x.sequences.at(name).at(0));
}

/// Best at x = 2, y = 0.1; the less, the better.
double bowl(const trial_parameters& x) {
  return std::pow(number(x, "x") - 2, 2)
         + std::pow(std::log10(number(x, "y")) + 1, 2);
}

tpe_sampler make(const std::string& space, std::uint64_t startup,
                 const untrained_work* work = nullptr,
                 std::uint64_t candidates = 24) {
  return {study(space, "random", "budget: {trials: 100}").space,
          0,
          startup,
          candidates,
          direction::minimize,
          9,
          {3, 9},
          work};
}

/// The best of `trials` that are told of one after the other.
template <class Sampler>
double best_of(Sampler& x, trial_no trials) {
  double best = INFINITY;
  for (trial_no trial = 0; trial < trials; ++trial) {
    const auto value = bowl(x.draw(trial));
    x.on_result(trial, 81, value);
    best = std::min(best, value);
  }
  return best;
}

TEST(TpeSampler, FindsBetterValuesThanRandomSearch) {
  double learned = 0, drawn = 0; // logarithms, over seeds
  int wins = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto x = study(plane, "tpe", "budget: {trials: 60}");
    auto y = study(plane, "random", "budget: {trials: 60}");
    x.objective.direction = y.objective.direction = direction::minimize;
    x.seed = y.seed = seed;
    const auto tpe = sampler_of(x), random = sampler_of(y);
    const auto a = std::log(best_of(*tpe, 60)),
               b = std::log(best_of(*random, 60));
    learned += a / 20;
    drawn += b / 20;
    wins += a < b;
  }
  EXPECT_LT(learned, drawn - 1); // less by a factor of e at least
  EXPECT_GE(wins, 15);
}

TEST(TpeSampler, KnowsTheDirection) {
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    auto x = study(endless, "tpe", "budget: {trials: 40}");
    x.seed = seed; // it maximises
    const auto tpe = sampler_of(x);
    for (trial_no trial = 0; trial < 40; ++trial) {
      const auto value = number(tpe->draw(trial), "x");
      tpe->on_result(trial, 81, value);
      if (trial >= 30)
        sum += value / 100;
    }
  }
  EXPECT_GT(sum, 0.8);
}

TEST(TpeSampler, BeginsWithoutAModel) {
  for (const auto* space : {twelve, endless}) {
    const auto x = study(space, "random", "budget: {trials: 12}");
    const auto random = sampler_of(x);
    auto tpe = make(space, 5);
    for (trial_no trial = 0; trial < 5; ++trial) {
      const auto drawn = tpe.draw(trial).shown;
      if (space == twelve) {
        EXPECT_EQ(drawn, random->draw(trial).shown);
      }
      EXPECT_EQ(tpe.choice_of(trial)->why.how, "startup");
      tpe.on_result(trial, 9, 1);
      tpe.on_result(trial, 9, 1); // told twice, counted once
    }
    tpe.draw(5);
    EXPECT_EQ(tpe.choice_of(5)->why.how, "model");
  }
}

TEST(TpeSampler, NeverRepeatsACombinationUntilAllWereTried) {
  auto tpe = make(twelve, 2);
  std::set<std::string> seen;
  for (trial_no trial = 0; trial < 12; ++trial) {
    const auto x = tpe.draw(trial);
    EXPECT_TRUE(seen.insert(x.shown.dump()).second) << trial;
    tpe.on_result(trial, 9, number(x, "x"));
  }
  EXPECT_TRUE(seen.contains(tpe.draw(12).shown.dump()));
}

/// Returns how many of the trials 100, 101, ... have x below 0.5.
int low_of_30(tpe_sampler& tpe) {
  int result = 0;
  for (trial_no trial = 100; trial < 130; ++trial)
    result += number(tpe.draw(trial), "x") < 0.5;
  return result;
}

/// Draws 40 trials. @returns their values of x
std::vector<double> draw_40(tpe_sampler& tpe) {
  std::vector<double> result;
  for (trial_no trial = 0; trial < 40; ++trial)
    result.push_back(number(tpe.draw(trial), "x"));
  return result;
}

TEST(TpeSampler, OfTrialsThoseThatHaveComeFartherAreBetter) {
  for (const bool some_go_on : {true, false}) {
    auto tpe = make(endless, 10);
    const auto xs = draw_40(tpe);
    const auto value = [&](trial_no trial) { // low ones are good, then 0.9
      return xs[trial] < 0.5 ? xs[trial] : 1 + std::abs(xs[trial] - 0.9);
    };
    for (trial_no trial = 0; trial < 40; ++trial)
      tpe.on_result(trial, 3, value(trial));
    for (trial_no trial = 0; trial < 40; ++trial)
      if (some_go_on && xs[trial] >= 0.5)
        tpe.on_result(trial, 9, value(trial));
    if (some_go_on)
      EXPECT_LT(low_of_30(tpe), 6);
    else
      EXPECT_GT(low_of_30(tpe), 24);
  }
}

TEST(TpeSampler, AStepWhoseOrderDoesNotLastDoesNotCount) {
  // The ten best of step 3 go on, by x; some of them are the best of step 9.
  const auto low_after = [](const std::vector<std::size_t>& order) {
    auto tpe = make(endless, 10);
    const auto xs = draw_40(tpe);
    std::vector<trial_no> by_x(40);
    std::iota(by_x.begin(), by_x.end(), 0);
    std::ranges::sort(by_x, {}, [&](trial_no trial) { return xs[trial]; });
    for (std::size_t i = 0; i < 40; ++i)
      tpe.on_result(by_x[i], 3, static_cast<double>(i));
    for (std::size_t i = 0; i < order.size(); ++i)
      tpe.on_result(by_x[order[i]], 9, static_cast<double>(i));
    return low_of_30(tpe);
  };
  // Spearman's correlations of .45 and .02.
  EXPECT_GT(low_after({9, 0, 1, 2, 3, 4, 5, 6, 7, 8}), 24);
  EXPECT_LT(low_after({9, 8, 0, 1, 2, 3, 4, 5, 6, 7}), 20);
  // Of fewer than ten nothing is known.
  EXPECT_GT(low_after({9, 8, 0, 1, 2, 3, 4, 5, 6}), 24);
}

TEST(TpeSampler, LearnsFromTheStepsOfAStudyThatWasLengthened) {
  for (const bool is_longer : {true, false}) {
    auto tpe = make(endless, 10);
    const auto xs = draw_40(tpe);
    for (trial_no trial = 0; trial < 40; ++trial)
      tpe.on_result(trial, 9, xs[trial]);
    if (is_longer)
      tpe.lengthen(study(endless, "random", "budget: {trials: 100}").space,
                   {27});
    for (trial_no trial = 0; trial < 40; ++trial)
      tpe.on_result(trial, 27, -xs[trial]);
    if (is_longer)
      EXPECT_LT(low_of_30(tpe), 6);
    else
      EXPECT_GT(low_of_30(tpe), 24);
  }
}

TEST(TpeSampler, WhatIsMeasuredBetweenMarksDoesNotCount) {
  auto tpe = make(endless, 10);
  const auto xs = draw_40(tpe);
  for (trial_no trial = 0; trial < 40; ++trial) {
    tpe.on_result(trial, 2, -xs[trial]); // before the first one
    tpe.on_result(trial, 4, xs[trial]);  // the first at or after it
    tpe.on_result(trial, 5, -xs[trial]);
  }
  EXPECT_GT(low_of_30(tpe), 24);
}

TEST(TpeSampler, FailuresAndNanAreTheWorst) {
  // What is low fails, or measures NaN; all else is equal. How far it came, and
  // its results before, do not matter.
  for (const bool comes_far : {false, true})
    for (const bool fails : {false, true}) {
      auto tpe = make(endless, 10);
      for (trial_no trial = 0; trial < 40; ++trial) {
        const auto x = number(tpe.draw(trial), "x");
        if (comes_far)
          tpe.on_result(trial, 3, x < 0.5 ? 0 : 1);
        if (x >= 0.5)
          tpe.on_result(trial, comes_far ? 3 : 9, 1);
        else if (fails)
          tpe.on_failure(trial);
        else
          tpe.on_result(trial, 9, NAN);
      }
      EXPECT_LT(low_of_30(tpe), 4) << fails;
    }
}

TEST(TpeSampler, AConditionalLeafLearnsFromThoseThatHadIt) {
  // With x = 1, z = 3 is best; without z nothing is ever good.
  int best = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    tpe_sampler tpe{
      study("{x: {choice: [{value: 1, with: {z: {choice: [1, 2, 3, 4, 5, 6, 7,"
            " 8]}}}, 2]}, y: {uniform: [0, 1]}}",
            "random", "budget: {trials: 60}")
        .space,
      seed,
      10,
      24,
      direction::minimize,
      9,
      {9},
      nullptr};
    for (trial_no trial = 0; trial < 60; ++trial) {
      const auto x = tpe.draw(trial);
      const bool has_z = x.sequences.contains("z");
      const auto off = has_z ? std::abs(number(x, "z") - 3) : 100.0;
      tpe.on_result(trial, 9, off + number(x, "y"));
      best += trial >= 30 && off == 0;
    }
  }
  EXPECT_GE(best, 60); // of 150; at random it would be 9
}

TEST(TpeSampler, OfEqualCandidatesTheLeastWorkIsTaken) {
  /// Everything is work but y = 3.
  class odd_work : public untrained_work {
  public:
    [[nodiscard]] step_t of(trial_no, step_t to) const override { return to; }
    [[nodiscard]] step_t of(const trial_parameters& x,
                            step_t to) const override {
      EXPECT_EQ(to, 9u);
      return number(x, "y") == 3 ? 0 : to;
    }
  };
  // One value of y was tried. The others are equally likely among the good and
  // the rest.
  const odd_work work;
  int with = 0, without = 0;
  for (const bool heeds : {true, false})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      tpe_sampler tpe{
        study("{y: {choice: [1, 2, 3, 4, 5, 6, 7, 8]}}", "random").space,
        seed,
        1,
        60,
        direction::minimize,
        9,
        {9},
        heeds ? &work : nullptr};
      const auto first = tpe.draw(0);
      if (number(first, "y") == 3)
        continue;
      tpe.on_result(0, 9, 1);
      (heeds ? with : without) += number(tpe.draw(1), "y") == 3;
    }
  EXPECT_GT(with, 15);
  EXPECT_LT(without, 10);
}

TEST(TpeSampler, LessWorkNeverMakesUpForAWorseCandidate) {
  /// Low values cost nothing.
  class tempting_work : public untrained_work {
  public:
    [[nodiscard]] step_t of(trial_no, step_t to) const override { return to; }
    [[nodiscard]] step_t of(const trial_parameters& x,
                            step_t to) const override {
      return number(x, "x") < 0.5 ? 0 : to;
    }
  };
  const tempting_work work;
  auto x = make(endless, 10, &work), y = make(endless, 10);
  for (trial_no trial = 0; trial < 40; ++trial) {
    const auto values = x.draw(trial);
    ASSERT_EQ(values.shown, y.draw(trial).shown);
    x.on_result(trial, 9, number(values, "x")); // low ones are good
    y.on_result(trial, 9, number(values, "x"));
  }
  auto high = make(endless, 10, &work), plain = make(endless, 10);
  for (trial_no trial = 0; trial < 40; ++trial) {
    const auto values = high.draw(trial);
    ASSERT_EQ(values.shown, plain.draw(trial).shown);
    high.on_result(trial, 9, -number(values, "x")); // high ones are good
    plain.on_result(trial, 9, -number(values, "x"));
  }
}

TEST(TpeSampler, WhatIsDrawnDependsOnTheTrial) {
  auto x = make(endless, 1);
  x.on_result(0, 9, number(x.draw(0), "x"));
  std::set<double> seen;
  for (trial_no trial = 1; trial < 20; ++trial)
    seen.insert(number(x.draw(trial), "x"));
  EXPECT_EQ(seen.size(), 19u);
  // Not because what was tried is left out: in another order it is the same.
  auto y = make(endless, 1), z = make(endless, 1);
  for (auto* own : {&y, &z})
    own->on_result(0, 9, number(own->draw(0), "x"));
  const auto first = y.draw(1).shown, second = y.draw(2).shown;
  EXPECT_EQ(z.draw(2).shown, second);
  EXPECT_EQ(z.draw(1).shown, first);
}

TEST(TpeSampler, DoesNotLearnFromTrialsOfOthers) {
  auto tpe = make(endless, 1);
  tpe.on_result(7, 9, 1); // not drawn here
  tpe.on_failure(8);
  EXPECT_EQ(tpe.draw(0).shown, make(endless, 1).draw(0).shown);
  EXPECT_EQ(tpe.choice_of(0)->why.how, "startup");
}

} // namespace
} // namespace hippo
