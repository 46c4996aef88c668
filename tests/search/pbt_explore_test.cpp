#include "hippo/search/sampler/pbt_explore.hpp"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "search/studies.hpp"

namespace hippo {
namespace {

pbt_explore sampler_of(const std::string& space, double resample,
                       std::uint64_t seed = 0) {
  return {study(space, "random", "budget: {trials: 100}").space, seed, true,
          resample};
}

double number(const trial_parameters& x, const std::string& name,
              step_t at = 80) {
  return std::get<double>(x.sequences.at(name).at(at));
}

TEST(Spliced, IsTheOneBeforeAndTheOtherAfter) {
  const sequence before{{{0, form::constant(1)}, {5, form::constant(2)}}};
  const sequence after{
    {{0, form::constant(7)}, {3, form::constant(8)}, {9, form::constant(9)}}};
  const auto x = spliced(before, after, 6);
  EXPECT_EQ(x, (sequence{{{0, form::constant(1)},
                          {5, form::constant(2)},
                          {6, form::constant(8)},
                          {9, form::constant(9)}}}));
  EXPECT_EQ(spliced(before, after, 5).pieces().size(), 3u); // 2 has no length
  EXPECT_EQ(spliced(before, after, 9).pieces().back(),
            (piece{9, form::constant(9)}));
  EXPECT_EQ(spliced(before, after, 0), after);
  EXPECT_EQ(spliced(before, before, 6), before); // canonical
}

TEST(PerturbingSampler, BeginsAsRandomSearchDoes) {
  const auto x = study(twelve, "random");
  const auto random = sampler_of(x);
  pbt_explore own{x.space, x.seed, true, 0.25};
  for (trial_no trial = 0; trial < 12; ++trial)
    EXPECT_EQ(own.draw(trial).shown, random->draw(trial).shown);
  EXPECT_FALSE(own.is_static());
}

TEST(PerturbingSampler, ContinuousValuesAreMultipliedAndStayOnTheRange) {
  for (const auto* space :
       {"{x: {uniform: [-1, 5]}}", "{x: {normal: [2, 0.75]}}",
        "{x: {log_uniform: [0.001, 5]}}"}) {
    auto own = sampler_of(space, 0);
    std::set<int> seen; // which way
    for (trial_no trial = 0; trial < 60; ++trial) {
      const auto before = number(own.draw(trial), "x");
      const auto after = number(own.branch({trial + 100, trial, 10}), "x");
      const auto low =
        std::string{space}.find("log") != std::string::npos ? 0.001 : -1;
      const auto up = std::clamp(before * 1.2, low, 5.0),
                 down = std::clamp(before * 0.8, low, 5.0);
      const auto is_up = std::abs(after - up) < 1e-9,
                 is_down = std::abs(after - down) < 1e-9;
      if (before == 5 || before == low)
        continue;
      EXPECT_TRUE(is_up || is_down) << before << ' ' << after;
      seen.insert(is_up);
      if (up == 5 || down == low)
        seen.insert(2);
    }
    EXPECT_TRUE(seen.contains(0) && seen.contains(1)) << space;
  }
}

TEST(PerturbingSampler, PointsAndSortedNumbersMoveToANeighbour) {
  for (const auto* space :
       {"{x: {choice: [1, 2, 3, 4]}}", "{x: {choice: [4, 3, 2, 1]}}",
        "{x: {uniform: [1, 4], points: 4}}", "{x: {int_uniform: [1, 4]}}"}) {
    auto own = sampler_of(space, 0);
    std::set<std::pair<double, double>> moves;
    for (trial_no trial = 0; trial < 4; ++trial)
      own.draw(trial);
    for (trial_no trial = 100; trial < 200; ++trial) {
      const auto fork_of = hippo::fork{trial, trial % 4, 10};
      const auto x = own.branch(fork_of);
      moves.insert({number(x, "x", 9), number(x, "x")});
    }
    EXPECT_EQ(moves, (std::set<std::pair<double, double>>{
                       {1, 2}, {2, 1}, {2, 3}, {3, 2}, {3, 4}, {4, 3}}))
      << space;
  }
}

TEST(PerturbingSampler, OtherChoicesStayUnlessNothingElseChanges) {
  auto own = sampler_of("{x: {choice: [1, {exponential: {initial: 1, gamma:"
                        " 0.9}}, 5]}, y: {choice: [1, 2]}}",
                        0);
  for (trial_no trial = 0; trial < 6; ++trial) {
    const auto before = own.draw(trial);
    const auto after = own.branch({trial + 100, trial, 10});
    EXPECT_EQ(after.sequences.at("x"), before.sequences.at("x"));
    EXPECT_NE(number(after, "y"), number(before, "y"));
  }
  auto words = sampler_of("{x: {choice: [3, 1, 2]}}", 0);
  std::set<double> seen;
  words.draw(0);
  for (trial_no trial = 1; trial < 30; ++trial) {
    const auto x = words.branch({trial, 0, 10});
    EXPECT_NE(number(x, "x"), number(x, "x", 9));
    seen.insert(number(x, "x"));
  }
  EXPECT_EQ(seen.size(), 2u);
  auto single = sampler_of("{x: 3}", 0.5);
  single.draw(0);
  EXPECT_EQ(number(single.branch({1, 0, 10}), "x"), 3);
}

TEST(PerturbingSampler, ResamplesAsOftenAsItIsTold) {
  auto own = sampler_of("{x: {uniform: [1, 1000]}}", 0.25);
  int drawn = 0;
  const auto before = number(own.draw(0), "x");
  for (trial_no trial = 1; trial <= 2000; ++trial) {
    const auto after = number(own.branch({trial, 0, 10}), "x");
    drawn += std::abs(after - std::min(before * 1.2, 1000.0)) > 1e-6
             && std::abs(after - std::max(before * 0.8, 1.0)) > 1e-6;
  }
  EXPECT_NEAR(drawn, 500, 60);
}

// -- resample: with spaces of their own ---------------------------------------

pbt_explore own_spaces(const std::string& space, const std::string& resample,
                       const std::string& probability = "0") {
  const auto x = study(space,
                       "{pbt: {resample: {probability: " + probability
                         + ", space: " + resample + "}}}",
                       "budget: {trials: 100}");
  return {x.space, 0, true,
          std::get<double>(x.algorithm.options.at("resample")),
          x.algorithm.resample};
}

TEST(PerturbingSampler, AnOwnSpaceIsWhatForksChangeIn) {
  auto own = own_spaces("{x: {uniform: [0.1, 0.2]}, y: {uniform: [1, 2]}, z: "
                        "{product: [x, y]}}",
                        "{x: {log_uniform: [0.01, 10]}}");
  std::map<trial_no, double> at;
  for (trial_no trial = 0; trial < 20; ++trial)
    at[trial] = number(own.draw(trial), "x");
  for (trial_no trial = 20; trial < 400; ++trial) {
    const auto from = trial - 20;
    const auto x = own.branch({trial, from, 10});
    at[trial] = number(x, "x");
    const auto up = std::min(at[from] * 1.2, 10.0),
               down = std::max(at[from] * 0.8, 0.01);
    EXPECT_TRUE(std::abs(at[trial] - up) < 1e-9
                || std::abs(at[trial] - down) < 1e-9);
    EXPECT_EQ(number(x, "y"), number(x, "y", 0)); // is not named: stays
    EXPECT_EQ(x.shown["x"], at[trial]);
    EXPECT_NEAR(number(x, "z"), at[trial] * number(x, "y"), 1e-11 * at[trial]);
  }
  EXPECT_TRUE(std::ranges::any_of(at, [](const auto& x) {
    return x.second > 0.3; // beyond where they began
  }));
}

TEST(PerturbingSampler, AnOwnSpaceIsDrawnFromAsOftenAsItIsTold) {
  auto own =
    own_spaces("{x: {uniform: [0.1, 0.2]}}", "{x: {normal: [5, 1]}}", "0.25");
  own.draw(0);
  own.branch({1, 0, 5});
  int drawn = 0;
  const auto before = number(own.branch({1, 0, 10}), "x");
  for (trial_no trial = 2; trial <= 2001; ++trial) {
    const auto after = number(own.branch({trial, 1, 10}), "x");
    EXPECT_GE(after, 1);
    EXPECT_LE(after, 9);
    drawn += std::abs(after - before * 1.2) > 1e-6
             && std::abs(after - std::max(before * 0.8, 1.0)) > 1e-6;
  }
  EXPECT_NEAR(drawn, 500, 60);
}

TEST(PerturbingSampler, OwnSpacesAreChecked) {
  const auto error = [](const std::string& space, const std::string& resample) {
    const auto file = read_study(
      "study: s\nworkload: toy\nobjective: {metric: acc}\nmax_steps: 81\n"
      "space: "
        + space + "\nalgorithm: {pbt: {resample: " + resample + "}}\n",
      "s.yaml", toy_workloads());
    EXPECT_EQ(file.errors.size(), 1u);
    return file.errors.empty()
             ? ""
             : file.errors[0].path + ": " + file.errors[0].message;
  };
  const std::string path = "algorithm.pbt.resample.";
  EXPECT_EQ(error("{x: 1}", "{space: {y: 2}}"),
            path + "space.y: unknown hyper-parameter 'y'. Allowed: x");
  EXPECT_EQ(error("{x: 1}", "{space: {}}"),
            path
              + "space: must name the hyper-parameters that change, found "
                "none");
  EXPECT_EQ(error("{x: 1}", "{probability: 2}"),
            path + "probability: must be a number from 0 to 1, found '2'");
  EXPECT_EQ(error("{x: 1}", "{chance: 0.5}"),
            path + "chance: unknown key 'chance'. Allowed: probability, space");
  EXPECT_EQ(error("{x: 1}", "{space: {x: {choice: [{value: 1, with: {y: "
                            "2}}]}}}"),
            path
              + "space.x: must not bring further hyper-parameters: those of "
                "a trial stay the same");
  EXPECT_EQ(error("{x: 1, y: {product: [x, 2]}}",
                  "{space: {x: {cosine: {initial: 1, horizon: 9}}}}"),
            path + "space.x: must be numbers, since a product names it");
  EXPECT_EQ(error("{x: {linear: {from: 1, to: 2, horizon: 9}}, y: {product: "
                  "[x.linear.from, 2]}}",
                  "{space: {x: {uniform: [1, 2]}}}"),
            path
              + "space.x: stays as it is, since a product names a part of "
                "it, 'x.linear.from'");
}

// What has no place in the new space is drawn from it, as Ray Tune does.
TEST(PerturbingSampler, AnOwnSpaceTakesUpWhatItHas) {
  auto own = own_spaces("{x: {choice: [1, 2, 7]}}", "{x: {choice: [1, 2, 3]}}");
  std::set<std::pair<double, double>> moves;
  for (trial_no trial = 0; trial < 3; ++trial)
    own.draw(trial);
  for (trial_no trial = 10; trial < 200; ++trial) {
    const auto x = own.branch({trial, trial % 3, 10});
    moves.insert({number(x, "x", 9), number(x, "x")});
  }
  EXPECT_EQ(moves, (std::set<std::pair<double, double>>{
                     {1, 2}, {2, 1}, {2, 3}, {7, 1}, {7, 2}, {7, 3}}));
  auto schedule = own_spaces("{x: {cosine: {initial: 1, horizon: 9}}}",
                             "{x: {linear: {from: {uniform: [1, 2]}, to: 0, "
                             "horizon: 90}}}");
  schedule.draw(0);
  const auto first = schedule.branch({1, 0, 10});
  EXPECT_EQ(first.shown["x"].begin().key(), "linear");
  EXPECT_NE(schedule.branch({2, 1, 20}).shown["x"], first.shown["x"]);
}

TEST(PerturbingSampler, AForkIsItsParentUpToItsStep) {
  auto own = sampler_of(
    "{x: {choice: [{linear: {from: 1, to: 0, horizon: 81}}, {multistep:"
    " {initial: {uniform: [1, 2]}, milestones: [{int_uniform: [5, 70]}], gamma:"
    " 0.1}}]}, y: {log_uniform: [0.01, 1]}}",
    0.3, 7);
  std::map<trial_no, trial_parameters> values;
  for (trial_no trial = 0; trial < 5; ++trial)
    values[trial] = own.draw(trial);
  for (trial_no trial = 5; trial < 200; ++trial) {
    const trial_no from = trial * 7 % trial;
    const step_t at = 1 + trial % 80;
    values[trial] = own.branch({trial, from, at});
    const auto& x = values[trial];
    EXPECT_EQ(x.shown["forked"]["from"], from);
    EXPECT_EQ(x.shown["forked"]["at"], at);
    for (const auto& [name, sequence] : x.sequences) {
      for (step_t step = 0; step < at; ++step)
        ASSERT_EQ(sequence.at(step), values[from].sequences.at(name).at(step));
      for (std::size_t i = 1; i < sequence.pieces().size(); ++i)
        EXPECT_NE(sequence.pieces()[i].shape, sequence.pieces()[i - 1].shape);
    }
    if (x.shown["y"].is_number()) { // it shows what counts from there on
      EXPECT_EQ(number(x, "y", at), x.shown["y"].get<double>());
    }
  }
}

TEST(PerturbingSampler, WhichHyperParametersThereAreStays) {
  auto own = sampler_of("{x: {choice: [{value: 1, with: {z: {choice: [1, 2]}}},"
                        " {choice: [2, {value: 3, with: {z: 4}}]}]}, y:"
                        " {choice: [1, 2, 3]}}",
                        1);
  int without = 0;
  for (trial_no trial = 0; trial < 12; ++trial) {
    const auto before = own.draw(trial);
    without += !before.sequences.contains("z");
    for (trial_no i = 0; i < 20; ++i) {
      const auto after = own.branch({100 + trial * 20 + i, trial, 10});
      EXPECT_EQ(after.sequences.contains("z"), before.sequences.contains("z"));
      EXPECT_EQ(after.sequences.at("x"), before.sequences.at("x"));
    }
  }
  EXPECT_GT(without, 0);
}

} // namespace
} // namespace hippo
