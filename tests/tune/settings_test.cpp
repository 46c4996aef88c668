#include "hippo/tune/settings.hpp"

#include <gtest/gtest.h>

#include "tune/studies.hpp"

namespace hippo {
namespace {

using strings = std::vector<std::string>;

strings texts(const std::vector<algorithm_check::finding>& xs) {
  strings result;
  for (const auto& x : xs)
    result.push_back(x.path + ": " + x.message);
  return result;
}

void expect_errors(const study_spec& x, const strings& expected) {
  EXPECT_EQ(texts(check_algorithm(x).errors), expected);
}

void expect_warnings(const study_spec& x, const strings& expected) {
  EXPECT_EQ(texts(check_algorithm(x).errors), strings{});
  EXPECT_EQ(texts(check_algorithm(x).warnings), expected);
}

TEST(Settings, DefaultsAreSensible) {
  const auto x = study(twelve, "asha");
  expect_warnings(x, {"algorithm: with 12 trials none will go beyond step 9: "
                      "more trials, a greater `min` or a smaller `eta` would"});
  const auto found = read_settings(x);
  EXPECT_EQ(found.kind, algorithm_kind::asha);
  EXPECT_EQ(found.sampling, sampling_kind::random);
  EXPECT_EQ(found.trials, 12u);
  EXPECT_EQ(found.eta, 3u);
  EXPECT_EQ(found.min, 1u);
  EXPECT_EQ(found.max, 81u);
  EXPECT_TRUE(found.may_resume);
  EXPECT_EQ(found.concurrent, 0u);
}

TEST(Settings, OptionsAreRead) {
  const auto found = read_settings(
    study(endless,
          "{asha: {eta: 4, min: 2, max: 60, mode: stopping, concurrent: 5}}",
          "budget: {trials: 50}"));
  EXPECT_EQ(found.trials, 50u);
  EXPECT_EQ(found.eta, 4u);
  EXPECT_EQ(found.min, 2u);
  EXPECT_EQ(found.max, 60u);
  EXPECT_FALSE(found.may_resume);
  EXPECT_EQ(found.concurrent, 5u);
  EXPECT_EQ(read_settings(study(twelve, "{sha: {sampler: grid}}")).sampling,
            sampling_kind::grid);
}

TEST(Settings, AlgorithmsGetTheirRungs) {
  using steps = std::vector<step_t>;
  EXPECT_EQ(make_algorithm(study(twelve, "grid"))->rungs(), steps{81});
  EXPECT_EQ(make_algorithm(study(twelve, "random"))->rungs(), steps{81});
  EXPECT_EQ(make_algorithm(study(twelve, "sha"))->rungs(),
            (steps{1, 3, 9, 27, 81}));
  EXPECT_EQ(make_algorithm(study(twelve, "{asha: {min: 2, max: 9}}"))->rungs(),
            (steps{2, 6, 9}));
  EXPECT_EQ(
    make_algorithm(study(twelve, "{asha: {mode: stopping, eta: 9}}"))->rungs(),
    (steps{1, 9, 81}));
}

TEST(Settings, MisspeltNamesFindTheRightOnes) {
  expect_errors(study(twelve, "ashaa"),
                {"algorithm: unknown algorithm 'ashaa', did you mean 'asha'? "
                 "(must be grid, random, tpe, sha, asha, hyperband, bohb, median, "
                 "pbt or client)"});
  expect_errors(study(twelve, "{sha: {etta: 3}}"),
                {"algorithm.sha.etta: unknown option 'etta' of sha, did you "
                 "mean 'eta'? (may be eta, min, max, sampler, prefer_shared, "
                 "startup or candidates)"});
  expect_errors(study(twelve, "{grid: {depth: 3}}"),
                {"algorithm.grid.depth: unknown option 'depth' of grid (it "
                 "takes none)"});
  expect_errors(study(twelve, "{asha: {mode: promotoin}}"),
                {"algorithm.asha.mode: must be promotion or stopping, found "
                 "promotoin, did you mean 'promotion'?"});
  expect_errors(study(twelve, "{sha: {mode: stopping}}"),
                {"algorithm.sha.mode: unknown option 'mode' of sha (may be "
                 "eta, min, max, sampler, prefer_shared, startup or "
                 "candidates)"});
}

TEST(Settings, RangesAreChecked) {
  const auto eta = "must be a whole number of at least 2, found ";
  for (const auto* x : {"1", "0", "-3", "2.5", "three", ".nan", ".inf"})
    EXPECT_EQ(texts(check_algorithm(
                      study(twelve, "{sha: {eta: " + std::string{x} + "}}"))
                      .errors)
                .size(),
              1u)
      << x;
  expect_errors(study(twelve, "{sha: {eta: 1}}"),
                {std::string{"algorithm.sha.eta: "} + eta + "1"});
  expect_errors(study(twelve, "{sha: {min: 0}}"),
                {"algorithm.sha.min: must be a whole number from 1 to 81, "
                 "found 0"});
  expect_errors(study(twelve, "{sha: {max: 82}}"),
                {"algorithm.sha.max: must be a whole number from 1 to 81, "
                 "found 82"});
  expect_errors(study(twelve, "{sha: {min: 10, max: 9}}"),
                {"algorithm.sha.min: must be a whole number from 1 to 9, "
                 "found 10"});
  expect_errors(study(twelve, "{asha: {concurrent: -1, eta: 1}}"),
                {std::string{"algorithm.asha.eta: "} + eta + "1",
                 "algorithm.asha.concurrent: must be a whole number of at "
                 "least 0, found -1"});
}

TEST(Settings, TheNumberOfTrialsIsFinite) {
  expect_errors(study(endless, "random"),
                {"algorithm: random needs `budget.trials`: the space holds any "
                 "number of combinations"});
  expect_errors(study(endless, "grid", "budget: {trials: 5}"),
                {"algorithm: a grid needs a finite space: give each continuous "
                 "range `points`, or use random"});
  expect_errors(study(endless, "{sha: {sampler: grid}}"),
                {"algorithm.sha.sampler: a grid needs a finite space: give "
                 "each continuous range `points`, or use random"});
  expect_errors(study(endless, "random", "budget: {trials: 10000001}"),
                {"budget.trials: 10000001 trials are too many: `budget.trials` "
                 "may be up to 10000000"});
  auto none = study(twelve, "random");
  none.budget.trials = 0;
  expect_errors(none, {"budget.trials: must be at least 1, found 0"});
}

TEST(Settings, ASpaceAndABudgetOfDifferentSizesAreTold) {
  expect_warnings(study(twelve, "random", "budget: {trials: 40}"),
                  {"budget.trials: the space has only 12 combinations, so "
                   "there will be that many trials, not 40"});
  expect_warnings(study(twelve, "grid", "budget: {trials: 5}"),
                  {"budget.trials: the grid has 12 combinations, of which only "
                   "the first 5 will be tried"});
  expect_warnings(study(twelve, "random", "budget: {trials: 5}"), {});
  expect_warnings(study(twelve, "grid", "budget: {trials: 12}"), {});
  EXPECT_EQ(make_algorithm(study(twelve, "random", "budget: {trials: 40}"))
              ->trials(),
            12u);
  EXPECT_EQ(
    make_algorithm(study(twelve, "grid", "budget: {trials: 5}"))->trials(), 5u);
}

TEST(Settings, RungsThatNobodyReachesAreTold) {
  expect_warnings(study(twelve, "{asha: {min: 27}}"), {});
  expect_warnings(study(twelve, "{asha: {mode: stopping}}"), {});
  expect_warnings(study(twelve, "sha"), {}); // one trial always goes on
}

} // namespace
} // namespace hippo
