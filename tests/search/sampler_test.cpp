#include "hippo/search/sampler/sampler.hpp"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "search/studies.hpp"

namespace hippo {
namespace {

std::vector<std::string> all(const study_spec& x) {
  const auto values = sampler_of(x);
  std::vector<std::string> result;
  for (trial_no trial = 0; trial < algorithm_of(x)->trials(); ++trial)
    result.push_back(values->draw(trial).shown.dump());
  return result;
}

TEST(Sampler, GridCoversEachCombinationOnceInOrder) {
  const auto x = study(twelve, "grid");
  const auto found = all(x);
  ASSERT_EQ(found.size(), 12u);
  for (std::uint64_t i = 0; i < 12; ++i)
    EXPECT_EQ(found[i], x.space.at(i).shown.dump());
  EXPECT_EQ(std::set(found.begin(), found.end()).size(), 12u);
}

TEST(Sampler, AFiniteSpaceIsCoveredOnceAfterTheTrialsThatAreGiven) {
  // The second is the first of a grid, the last one the grid's place of another
  // that is given: both are moved.
  const std::vector<std::string> first{"{x: 3, y: 2}", "{x: 1, y: 1}",
                                       "{x: 1, y: 2}"};
  for (const auto* algorithm : {"grid", "random", "tpe", "gp"})
    for (std::size_t given = 1; given <= first.size(); ++given) {
      std::string list;
      for (std::size_t i = 0; i < given; ++i)
        list += first[i] + ", ";
      const auto found = all(study(twelve, algorithm,
                                   "first: [" + list
                                     + "]\n"
                                       "budget: {trials: 12}"));
      ASSERT_EQ(found.size(), 12u);
      EXPECT_EQ(found[0], R"({"x":3,"y":2})");
      if (given > 1) {
        EXPECT_EQ(found[1], R"({"x":1,"y":1})");
      }
      if (given > 2) {
        EXPECT_EQ(found[2], R"({"x":1,"y":2})");
      }
      EXPECT_EQ(std::set(found.begin(), found.end()).size(), 12u)
        << algorithm << given;
    }
}

TEST(Sampler, EveryAlgorithmBeginsWithTheTrialsThatAreGiven) {
  const std::string given = "first: [{x: 0.25}, {x: 0.75}]\n";
  for (const auto* algorithm :
       {"random", "tpe", "gp", "asha", "sha", "hyperband", "bohb", "boss",
        "dehb", "freeze-thaw", "median", "{pbt: {population: 4}}"}) {
    const bool sized = algorithm[0] == '{';
    const auto x =
      study(endless, algorithm, given + (sized ? "" : "budget: {trials: 9}"));
    auto decisions = tuner_of(x);
    auto added = decisions.start().added.size();
    if (added < 2) // it waits for room
      added += decisions.widen(1).added.size();
    ASSERT_GE(added, 2u) << algorithm;
    EXPECT_EQ(decisions.parameters(0).shown.at("x"), 0.25) << algorithm;
    EXPECT_EQ(decisions.parameters(1).shown.at("x"), 0.75) << algorithm;
    if (const auto choice = decisions.choice_of(0)) {
      EXPECT_EQ(choice->why.how, "given") << algorithm;
    }
  }
}

TEST(Sampler, MoreGivenTrialsThanThereAreAreRefused) {
  const auto errors = [](const std::string& algorithm,
                         const std::string& more) {
    return check_algorithm(
             study(endless, algorithm, "first: [{x: 0}, {x: 1}]\n" + more),
             true)
      .errors;
  };
  EXPECT_TRUE(errors("random", "budget: {trials: 2}").empty());
  const auto few = errors("random", "budget: {trials: 1}");
  ASSERT_EQ(few.size(), 1u);
  EXPECT_EQ(few[0].path, "first");
  EXPECT_EQ(few[0].message, "has 2 trials, of which the study makes 1");
  const auto client = errors("client", "");
  ASSERT_EQ(client.size(), 1u);
  EXPECT_EQ(client[0].message, "trials of `algorithm: client` get their values"
                               " when they are asked for: give them there");
}

TEST(Sampler, RandomCoversAFiniteSpaceOnceInAnotherOrder) {
  auto x = study(twelve, "random");
  const auto grid = all(study(twelve, "grid"));
  const auto found = all(x);
  EXPECT_NE(found, grid);
  EXPECT_EQ(std::set(found.begin(), found.end()),
            std::set(grid.begin(), grid.end()));
  x.seed = 1;
  EXPECT_NE(all(x), found);
}

TEST(Sampler, ALargerBudgetGoesOnWhereTheSmallerOneEnds) {
  for (const auto* space : {twelve, endless}) {
    const auto few = all(study(space, "random", "budget: {trials: 4}"));
    auto more = all(study(space, "random", "budget: {trials: 9}"));
    more.resize(4);
    EXPECT_EQ(few, more);
  }
}

TEST(Sampler, DrawsFromAContinuousSpace) {
  const auto x = study(endless, "random", "budget: {trials: 100}\nseed: 5");
  const auto found = all(x);
  EXPECT_EQ(std::set(found.begin(), found.end()).size(), 100u);
  EXPECT_EQ(found[3], x.space.sample(5, 3).shown.dump());
}

TEST(Sampler, HalvingAlgorithmsMayCountThroughTheGrid) {
  const auto grid = all(study(twelve, "grid"));
  EXPECT_EQ(all(study(twelve, "{sha: {sampler: grid}}")), grid);
  EXPECT_EQ(all(study(twelve, "{asha: {sampler: grid}}")), grid);
  EXPECT_NE(all(study(twelve, "sha")), grid);
  EXPECT_EQ(all(study(twelve, "sha")), all(study(twelve, "random")));
}

/// The best of 40 trials, best at x = 13, y = 64 and z = 3, on ranges of which
/// none is even in its values.
double best_on_new_scales(const std::string& algorithm, std::uint64_t seed) {
  auto x = study("{x: {normal: [10, 2]}, y: {log_int_uniform: [1, 1024]}, z: "
                 "{log_normal: [0, 1]}}",
                 algorithm, "budget: {trials: 40}");
  x.seed = seed;
  const auto values = sampler_of(x);
  double best = INFINITY;
  for (trial_no trial = 0; trial < 40; ++trial) {
    const auto shown = values->draw(trial).shown;
    const auto loss
      = std::pow((shown["x"].get<double>() - 13) / 2, 2)
        + std::pow(std::log(shown["y"].get<double>() / 64) / 2, 2)
        + std::pow(std::log(shown["z"].get<double>() / 3), 2);
    values->on_result(trial, 81, -loss);
    best = std::min(best, loss);
  }
  return std::log(best);
}

TEST(Sampler, SamplersThatLearnDoSoOnNormalAndWholeLogarithmicRanges) {
  double random = 0, tpe = 0, gp = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    random += best_on_new_scales("random", seed) / 4;
    tpe += best_on_new_scales("tpe", seed) / 4;
    gp += best_on_new_scales("gp", seed) / 4;
  }
  EXPECT_LT(tpe, random - 0.5);
  EXPECT_LT(gp, random - 0.5);
}

TEST(Sampler, EqualRoundedValuesAreOneCombinationAndDoNotComeTwice) {
  // 12 * 2 + 3 and 9 * 2 combinations: multiples of 0.01 from 0.86 to 0.94.
  const std::vector<std::pair<std::string, std::uint64_t>> spaces{
    {"{x: {choice: [{value: 1, with: {y: {log_int_uniform: [1, 12]}, z: "
     "{choice:"
     " [1, 2]}}}, {value: 2, with: {y: {choice: [1, 2, 3]}}}]}}",
     27},
    {"{x: {normal: [0.9, 0.01], step: 0.01}, y: {choice: [1, 2]}}", 18}};
  for (const auto* algorithm : {"tpe", "gp"})
    for (const auto& [space, size] : spaces)
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        SCOPED_TRACE(algorithm + (" seed " + std::to_string(seed)));
        const auto trials = size + 3;
        auto spec = study(space, algorithm,
                          "budget: {trials: " + std::to_string(trials) + "}");
        spec.seed = seed;
        const auto from = sampler_of(spec);
        std::set<std::string> seen;
        for (trial_no trial = 0; trial < trials; ++trial) {
          seen.insert(from->draw(trial).shown.dump());
          // As if all were best by one value, which is then looked for again.
          from->on_result(trial, 81, trial % 5 == 0 ? 1 : 0);
          EXPECT_EQ(seen.size(), std::min(trial + 1, size));
        }
      }
}

} // namespace
} // namespace hippo
