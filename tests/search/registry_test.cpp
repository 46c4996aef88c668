#include "hippo/search/registry.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/search/algorithm/asha.hpp"
#include "hippo/search/algorithm/dehb.hpp"
#include "hippo/search/algorithm/hyperband.hpp"
#include "hippo/search/algorithm/median_stopping.hpp"
#include "hippo/search/algorithm/pbt.hpp"
#include "hippo/search/sampler/gp_settings.hpp"
#include "hippo/search/sampler/tpe_sampler.hpp"
#include "search/studies.hpp"
#include "search/trainers.hpp"

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

/// Returns the options of an algorithm by their type.
template <class Settings>
Settings options_of(const study_spec& x) {
  return dynamic_cast<const Settings&>(*read_search(x).options);
}

/// The same of a sampler.
template <class Settings>
Settings sampling_of(const study_spec& x) {
  return dynamic_cast<const Settings&>(*read_search(x).sampling);
}

std::optional<std::uint64_t> concurrent_of(const study_spec& x) {
  return read_search(x).options->concurrent;
}

TEST(Registry, DefaultsAreSensible) {
  const auto x = study(twelve, "asha");
  expect_warnings(x, {"algorithm: with 12 trials only one will go beyond step "
                      "9, after all others have ended: more trials, a greater "
                      "`min` or a smaller `eta` would give more of them a "
                      "chance"});
  const auto found = options_of<asha_settings>(x);
  EXPECT_EQ(read_search(x).algorithm->name, "asha");
  EXPECT_EQ(read_search(x).sampler->name, "random");
  EXPECT_EQ(found.trials, 12u);
  EXPECT_EQ(found.eta, 3u);
  EXPECT_EQ(found.first, 1u);
  EXPECT_EQ(found.max, 81u);
  EXPECT_TRUE(found.may_resume);
  EXPECT_EQ(found.concurrent, std::nullopt);
  EXPECT_EQ(concurrent_of(study(twelve, "{asha: {max_concurrent: auto}}")),
            std::nullopt);
  EXPECT_EQ(concurrent_of(study(twelve, "{asha: {max_concurrent: 0}}")), 0u);
}

TEST(Registry, OptionsAreRead) {
  const auto found = options_of<asha_settings>(study(
    endless,
    "{asha: {eta: 4, min: 2, max: 60, mode: stopping, max_concurrent: 5}}",
    "budget: {trials: 50}"));
  EXPECT_EQ(found.trials, 50u);
  EXPECT_EQ(found.eta, 4u);
  EXPECT_EQ(found.first, 2u);
  EXPECT_EQ(found.max, 60u);
  EXPECT_FALSE(found.may_resume);
  EXPECT_EQ(found.concurrent, 5u);
  EXPECT_EQ(read_search(study(twelve, "{sha: {sampler: grid}}")).sampler->name,
            "grid");
}

TEST(Registry, AlgorithmsGetTheirRungs) {
  using steps = std::vector<step_t>;
  EXPECT_EQ(algorithm_of(study(twelve, "grid"))->rungs(), steps{81});
  EXPECT_EQ(algorithm_of(study(twelve, "random"))->rungs(), steps{81});
  EXPECT_EQ(algorithm_of(study(twelve, "sha"))->rungs(),
            (steps{1, 3, 9, 27, 81}));
  EXPECT_EQ(algorithm_of(study(twelve, "{asha: {min: 2, max: 9}}"))->rungs(),
            (steps{2, 6, 9}));
  EXPECT_EQ(
    algorithm_of(study(twelve, "{asha: {mode: stopping, eta: 9}}"))->rungs(),
    (steps{1, 9, 81}));
}

TEST(Registry, MisspeltNamesFindTheRightOnes) {
  std::vector<std::string> names;
  for (const auto* type : algorithm_types())
    names.emplace_back(type->name);
  names.emplace_back("auto");
  expect_errors(study(twelve, "ashaa"),
                {"algorithm: unknown algorithm 'ashaa', did you mean 'asha'? "
                 "(must be "
                 + either_of(names) + ")"});
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

TEST(Registry, RangesAreChecked) {
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
  expect_errors(study(twelve, "{asha: {max_concurrent: -1, eta: 1}}"),
                {std::string{"algorithm.asha.eta: "} + eta + "1",
                 "algorithm.asha.max_concurrent: must be `auto` or a whole "
                 "number of at least 0, found -1"});
  EXPECT_EQ(
    check_algorithm(study(twelve, "{client: {max_concurrent: auto}}"), true)
      .errors.at(0)
      .message,
    "must be a whole number of at least 0, found auto");
}

TEST(Registry, TheNumberOfTrialsIsFinite) {
  expect_errors(study(endless, "random"),
                {"algorithm: random needs `budget.trials`: the space holds any "
                 "number of combinations"});
  // A limit of time is one; there is a number all the same.
  for (const auto* end : {"budget: {seconds: 3}", "budget: {device_hours: 3}",
                          "stop_when: {value: 3}", "stop_when: {no_gain: 3}"}) {
    const auto ending = check_algorithm(study(endless, "random", end));
    EXPECT_TRUE(ending.errors.empty());
    ASSERT_EQ(ending.warnings.size(), 1u);
    EXPECT_EQ(
      ending.warnings[0].message,
      "there are at most 10000 trials: give another number as `trials`");
  }
  // Each trial has a step at least.
  const auto thirty = study(endless, "random", "budget: {steps: 30}");
  EXPECT_TRUE(check_algorithm(thirty).errors.empty());
  EXPECT_TRUE(check_algorithm(thirty).warnings.empty());
  EXPECT_EQ(algorithm_of(thirty)->trials(), 30u);
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

TEST(Registry, ASpaceAndABudgetOfDifferentSizesAreTold) {
  expect_warnings(study(twelve, "random", "budget: {trials: 40}"),
                  {"budget.trials: the space has only 12 combinations, so "
                   "there will be that many trials, not 40"});
  expect_warnings(study(twelve, "grid", "budget: {trials: 5}"),
                  {"budget.trials: the grid has 12 combinations, of which only "
                   "the first 5 will be tried"});
  expect_warnings(study(twelve, "random", "budget: {trials: 5}"), {});
  expect_warnings(study(twelve, "grid", "budget: {trials: 12}"), {});
  EXPECT_EQ(
    algorithm_of(study(twelve, "random", "budget: {trials: 40}"))->trials(),
    12u);
  EXPECT_EQ(
    algorithm_of(study(twelve, "grid", "budget: {trials: 5}"))->trials(), 5u);
}

TEST(Registry, RungsThatNobodyReachesAreTold) {
  expect_warnings(study(twelve, "{asha: {min: 27}}"), {});
  expect_warnings(study(twelve, "{asha: {mode: stopping}}"), {});
  expect_warnings(study(twelve, "sha"), {}); // one trial always goes on
}

// -- algorithms beyond halving ------------------------------------------------

TEST(Registry, HyperbandCountsItsTrials) {
  const auto budget = "budget: {trials: 300}";
  EXPECT_EQ(algorithm_of(study(endless, "hyperband"))->trials(), 143u);
  auto x = study(endless, "hyperband", budget);
  expect_warnings(x, {});
  EXPECT_EQ(options_of<hyperband_settings>(x).trials,
            300u); // the brackets are repeated
  EXPECT_EQ(options_of<hyperband_settings>(x).brackets, 5u);
  EXPECT_FALSE(options_of<hyperband_settings>(x).in_turn);
  x = study(endless, "{hyperband: {iterations: 2}}", budget);
  EXPECT_EQ(options_of<hyperband_settings>(x).trials, 286u);
  x = study(endless, "{hyperband: {brackets: 2, min: 3, max: 27}}");
  EXPECT_EQ(algorithm_of(x)->trials(), 14u);
  EXPECT_EQ(algorithm_of(x)->rungs(), (std::vector<step_t>{3, 9, 27}));
  EXPECT_EQ(start(*algorithm_of(x)).size(), 14u);
  x = study(endless, "{hyperband: {brackets: 1, min: 3, max: 27}}",
            "budget: {trials: 18}");
  EXPECT_EQ(start(*algorithm_of(x)).back(), action{(advance{17, 3})});
  x = study(endless, "{hyperband: {order: in-turn}}");
  EXPECT_EQ(start(*algorithm_of(x)).size(), 81u);
  expect_warnings(study(endless, "hyperband", "budget: {trials: 100}"),
                  {"budget.trials: a round of the brackets takes 143 trials: "
                   "with 100 the last ones stay empty"});
  expect_warnings(study(twelve, "hyperband"),
                  {"algorithm: a round of the brackets takes 143 trials: with "
                   "12 the last ones stay empty"});
  expect_errors(study(endless, "{hyperband: {brackets: 6}}"),
                {"algorithm.hyperband.brackets: must be a whole number from 1 "
                 "to 5, found 6"});
  expect_errors(study(endless, "{hyperband: {order: inturn}}"),
                {"algorithm.hyperband.order: must be together or in-turn, "
                 "found inturn, did you mean 'in-turn'?"});
}

TEST(Registry, BohbIsHyperbandInTurnByTpe) {
  const auto x = study(endless, "bohb");
  const auto found = options_of<hyperband_settings>(x);
  EXPECT_EQ(read_search(x).sampler->name, "tpe");
  EXPECT_TRUE(found.in_turn);
  EXPECT_EQ(found.trials, 143u);
  EXPECT_TRUE(options_of<hyperband_settings>(
                study(endless, "{hyperband: {sampler: tpe}}"))
                .in_turn);
  EXPECT_FALSE(
    options_of<hyperband_settings>(study(endless, "{bohb: {order: together}}"))
      .in_turn);
  EXPECT_FALSE(sampler_of(study(endless, "bohb"))->is_static());
  expect_errors(
    study(endless, "{bohb: {sampler: random}}"),
    {"algorithm.bohb.sampler: unknown option 'sampler' of bohb (may "
     "be eta, min, max, brackets, iterations, order, "
     "prefer_shared, startup or candidates)"});
}

TEST(Registry, BossIsHyperbandInTurnByTpeAndSubSampling) {
  const auto x = study(endless, "boss");
  const auto found = options_of<hyperband_settings>(x);
  EXPECT_EQ(read_search(x).sampler->name, "tpe");
  EXPECT_EQ(found.rule, bracket_rule::sub_sampling);
  EXPECT_TRUE(found.in_turn);
  EXPECT_EQ(found.trials, 143u);
  EXPECT_EQ(options_of<hyperband_settings>(
              study(endless, "{hyperband: {rule: sub-sampling}}"))
              .rule,
            bracket_rule::sub_sampling);
  EXPECT_EQ(options_of<hyperband_settings>(study(endless, "hyperband")).rule,
            bracket_rule::halving);
  expect_errors(study(endless, "{hyperband: {rule: subsampling}}"),
                {"algorithm.hyperband.rule: must be halving or sub-sampling, "
                 "found subsampling, did you mean 'sub-sampling'?"});
  expect_errors(
    study(twelve, "{sha: {rule: halving}}"),
    {"algorithm.sha.rule: unknown option 'rule' of sha (may be eta, "
     "min, max, sampler, prefer_shared, startup or candidates)"});
}

TEST(Registry, DehbHasItsDefaults) {
  const auto found = options_of<dehb_settings>(study(endless, "dehb"));
  EXPECT_EQ(found.eta, 3u);
  EXPECT_EQ(found.first, 1u);
  EXPECT_TRUE(found.promotes_always);
  EXPECT_EQ(found.concurrent, std::nullopt);
  EXPECT_EQ(found.trials, 81u + 27 + 9 + 6 + 5) << "a round";
  EXPECT_EQ(algorithm_of(study(endless, "dehb"))->rungs(),
            (std::vector<step_t>{1, 3, 9, 27, 81}));
  EXPECT_EQ(
    options_of<dehb_settings>(study(endless, "dehb", "budget: {trials: 500}"))
      .trials,
    500u);
  EXPECT_FALSE(
    options_of<dehb_settings>(study(endless, "{dehb: {promote: first-round}}"))
      .promotes_always);
  expect_warnings(study(endless, "dehb"), {});
}

TEST(Registry, DehbNeedsTwoRungsAndABracket) {
  expect_errors(study(endless, "{dehb: {min: 81}}"),
                {"algorithm.dehb.min: dehb needs two rungs: `min`, 81, must be "
                 "below `max_steps`, 81; to train each trial in full use tpe"});
  expect_errors(study(endless, "{dehb: {min: 9, max: 9}}"),
                {"algorithm.dehb.min: dehb needs two rungs: `min`, 9, must be "
                 "below `max`, 9; to train each trial in full use tpe"});
  expect_errors(study(endless, "{dehb: {max: 1}}"),
                {"algorithm: dehb needs two rungs: `min`, 1, must be below "
                 "`max`, 1; to train each trial in full use tpe"});
  expect_errors(study(endless, "{dehb: {promote: first}}"),
                {"algorithm.dehb.promote: must be always or first-round, found "
                 "first"});
  expect_errors(study(endless, "{dehb: {sampler: tpe}}"),
                {"algorithm.dehb.sampler: unknown option 'sampler' of dehb "
                 "(may be eta, min, max, promote or max_concurrent)"});
  expect_warnings(study(endless, "dehb", "budget: {trials: 20}"),
                  {"budget.trials: the first bracket takes 81 trials: with 20 "
                   "fewer go on from each of its rungs, and no other begins"});
  expect_warnings(study(twelve, "{dehb: {min: 3}}"),
                  {"algorithm: the first bracket takes 27 trials: with 12 "
                   "fewer go on from each of its rungs, and no other begins"});
  expect_warnings(
    study(endless, "{dehb: {max_concurrent: 0}}"),
    {"algorithm.dehb.max_concurrent: with 0 all trials start at once, "
     "before any could be made of others: all will be random"});
}

TEST(Registry, MedianHasItsDefaults) {
  const auto x = study(twelve, "median");
  expect_warnings(x, {});
  const auto found = options_of<median_settings>(x);
  EXPECT_EQ(found.grace, 9u); // a tenth of 81, up
  EXPECT_EQ(found.min_others, 3u);
  EXPECT_EQ(found.concurrent, 0u);
  EXPECT_EQ(algorithm_of(x)->rungs(), std::vector<step_t>{81});
  const auto other = options_of<median_settings>(
    study(twelve, "{median: {grace: 4, min_others: 1, max: 40}}"));
  EXPECT_EQ(other.grace, 4u);
  EXPECT_EQ(other.min_others, 1u);
  EXPECT_EQ(other.max, 40u);
  expect_errors(study(twelve, "{median: {max: 5, grace: 6, min_others: 0}}"),
                {"algorithm.median.grace: must be a whole number from 1 to 5, "
                 "found 6",
                 "algorithm.median.min_others: must be a whole number from 1 "
                 "to 10000000, found 0"});
}

TEST(Registry, PbtHasItsDefaults) {
  auto found = options_of<pbt_settings>(study(endless, "pbt"));
  EXPECT_EQ(found.trials, 10u);
  EXPECT_EQ(found.interval, 9u);
  EXPECT_EQ(found.replaced, 2u);
  EXPECT_EQ(found.resample, 0.25);
  found =
    options_of<pbt_settings>(study(endless, "pbt", "budget: {trials: 15}"));
  EXPECT_EQ(found.trials, 15u);
  EXPECT_EQ(found.replaced, 3u);
  EXPECT_EQ(options_of<pbt_settings>(
              study(endless, "{pbt: {population: 100, quantile: 0.07}}"))
              .replaced,
            7u); // 0.07 * 100 is a little more
  found = options_of<pbt_settings>(study(
    endless, "{pbt: {population: 11, quantile: 0.25, interval: 40, max: 60,"
             " resample: 0}}"));
  EXPECT_EQ(found.trials, 11u);
  EXPECT_EQ(found.replaced, 3u); // up
  EXPECT_EQ(found.resample, 0);
  EXPECT_EQ(
    algorithm_of(study(endless, "{pbt: {interval: 40, max: 60}}"))->rungs(),
    (std::vector<step_t>{40, 60}));
  EXPECT_EQ(options_of<pbt_settings>(
              study(endless, "{pbt: {population: 5, quantile: 0.5}}"))
              .replaced,
            2u); // half of them at most
  expect_warnings(study(endless, "{pbt: {population: 1}}"),
                  {"algorithm: a population of 1 is too small to replace "
                   "anybody"});
  expect_warnings(study(twelve, "{pbt: {population: 20}}"),
                  {"algorithm: the space has only 12 combinations, so there "
                   "will be that many trials, not 20"});
}

TEST(Registry, PbtIsChecked) {
  expect_errors(
    study(endless, "{pbt: {population: 8}}", "budget: {trials: 40}"),
    {"algorithm.pbt.population: is 8, but `budget.trials` is 40: "
     "both say how many trials begin, so give one of them"});
  expect_errors(study(endless, "{pbt: {quantile: 0.6, resample: -1}}"),
                {"algorithm.pbt.quantile: must be a number from 0 to 0.5, "
                 "found 0.6",
                 "algorithm.pbt.resample: must be a number from 0 to 1, found "
                 "-1"});
  expect_errors(study(endless, "{pbt: {population: 5000000, interval: 20}}"),
                {"algorithm.pbt.interval: a population of 5000000 over 5 "
                 "generations could need more than 10000000 trials"});
  expect_errors(study(endless, "{pbt: {sampler: tpe}}"),
                {"algorithm.pbt.sampler: must be random or grid, found tpe"});
}

TEST(Registry, TpeStartsNoMoreThanTrainersHaveRoomFor) {
  const auto budget = "budget: {trials: 50}";
  for (const auto* x :
       {"tpe", "{asha: {sampler: tpe}}", "{median: {sampler: tpe}}",
        "{median: {max_concurrent: auto}}"}) {
    EXPECT_EQ(concurrent_of(study(endless, x, budget)), std::nullopt) << x;
    const auto made = algorithm_of(study(endless, x, budget));
    EXPECT_EQ(start(*made).size(), 1u) << x;
    EXPECT_TRUE(made->wants_capacity()) << x;
    EXPECT_EQ(made->widen(3).size(), 3u) << x;
    EXPECT_EQ(made->widen(50).size(), 46u) << x;
    EXPECT_FALSE(made->wants_capacity()) << x;
  }
  expect_warnings(study(endless, "{tpe: {max_concurrent: 0}}", budget),
                  {"algorithm.tpe.max_concurrent: with 0 all trials start at "
                   "once, before tpe could learn: all will be random"});
  expect_warnings(study(endless, "{sha: {sampler: tpe}}", budget),
                  {"algorithm.sha.sampler: sha starts all trials at once, "
                   "before tpe could learn: all will be random; use asha, "
                   "hyperband or median with it"});
  const auto found = sampling_of<tpe_settings>(
    study(endless, "{tpe: {startup: 3, candidates: 7}}", budget));
  EXPECT_EQ(found.startup, 3u);
  EXPECT_EQ(found.candidates(), 7u);
  expect_errors(study(endless, "{asha: {startup: 3}}", budget),
                {"algorithm.asha.startup: is an option of `sampler: tpe` "
                 "or `gp`"});
  expect_errors(study(endless, "{tpe: {candidates: 0}}", budget),
                {"algorithm.tpe.candidates: must be a whole number from 1 to "
                 "10000, found 0"});
  expect_errors(study(endless, "tpe"),
                {"algorithm: tpe needs `budget.trials`: the space holds any "
                 "number of combinations"});
}

TEST(Registry, SharingIsPreferredUnlessItIsOff) {
  const auto preference = [](const char* algorithm) {
    return read_search(study(twelve, algorithm)).sampling->prefer_shared;
  };
  EXPECT_EQ(preference("asha"), sharing_preference::ties);
  EXPECT_EQ(preference("{asha: {prefer_shared: on}}"),
            sharing_preference::ties);
  EXPECT_EQ(preference("{asha: {prefer_shared: ties}}"),
            sharing_preference::ties);
  EXPECT_EQ(preference("{asha: {prefer_shared: off}}"),
            sharing_preference::off);
  EXPECT_EQ(preference("gp"), sharing_preference::price);
  EXPECT_EQ(preference("{asha: {sampler: gp}}"), sharing_preference::price);
  EXPECT_EQ(preference("{gp: {prefer_shared: ties}}"),
            sharing_preference::ties);
  expect_errors(study(twelve, "{sha: {prefer_shared: no}}"),
                {"algorithm.sha.prefer_shared: must be off, ties, price or on,"
                 " found no"});
  for (const auto* x : {"tpe", "asha", "bohb"})
    expect_errors(
      study(twelve, std::string{"{"} + x + ": {prefer_shared: price}}"),
      {"algorithm." + std::string{x}
       + ".prefer_shared: price is for the sampler gp, which says what a trial"
         " is worth: use ties, or `sampler: gp`"});
}

TEST(Registry, GpIsASamplerAndAnAlgorithm) {
  const auto x = study(twelve, "{gp: {startup: 3}}");
  EXPECT_EQ(read_search(x).sampler->name, "gp");
  EXPECT_EQ(sampling_of<gp_settings>(x).startup, 3u);
  EXPECT_TRUE(sampling_of<gp_settings>(x).has_schedule_mean);
  EXPECT_FALSE(sampling_of<gp_settings>(study(twelve, "{gp: {mean: zero}}"))
                 .has_schedule_mean);
  const auto startup_of = [](const std::string& algorithm) {
    return sampling_of<gp_settings>(study(twelve, algorithm)).startup;
  };
  EXPECT_EQ(startup_of("gp"), 5u);
  EXPECT_EQ(startup_of("{asha: {sampler: gp}}"), 10u);
  EXPECT_FALSE(concurrent_of(x)); // auto
  EXPECT_EQ(algorithm_of(study(twelve, "gp"))->rungs(),
            std::vector<step_t>{81});
  for (const auto* name : {"sha", "asha", "hyperband", "median", "client"})
    EXPECT_FALSE(
      sampler_of(study(twelve, std::string{"{"} + name + ": {sampler: gp}}"))
        ->is_static());
  EXPECT_TRUE(
    options_of<hyperband_settings>(study(twelve, "{hyperband: {sampler: gp}}"))
      .in_turn);
  expect_errors(study(twelve, "{gp: {candidates: 30}}"),
                {"algorithm.gp.candidates: unknown option 'candidates' of gp "
                 "(may be max_concurrent, prefer_shared, startup or mean)"});
  expect_errors(study(twelve, "{pbt: {sampler: gp}}"),
                {"algorithm.pbt.sampler: must be random or grid, found gp"});
}

TEST(Registry, GpTakesNoMoreThan200Leaves) {
  const auto of = [](int leaves, const char* algorithm) {
    std::string space = "{x: {choice: [0";
    for (int i = 1; i < leaves; ++i)
      space += ", {uniform: [0, 1]}";
    return study(space + "]}}", algorithm, "budget: {trials: 9}");
  };
  EXPECT_EQ(of(200, "gp").space.leaves(), 200u);
  expect_errors(of(200, "gp"), {});
  const std::string why =
    "gp takes at most 200 choices and ranges, and the space has 201: use tpe";
  expect_errors(of(201, "gp"), {"algorithm: " + why});
  expect_errors(of(201, "{asha: {sampler: gp}}"),
                {"algorithm.asha.sampler: " + why});
  expect_errors(of(201, "tpe"), {});
}

TEST(Registry, ClientsDecideOnlyWhereThereAreAny) {
  const auto x = study(endless, "client");
  expect_errors(x, {"algorithm: client: decisions come from a client of a "
                    "service; `hippo run` and previews have none"});
  EXPECT_EQ(texts(check_algorithm(x, true).errors), strings{});
  EXPECT_EQ(read_search(x).options->trials, max_trials);
  EXPECT_EQ(algorithm_of(x)->rungs(), std::vector<step_t>{81});
  EXPECT_EQ(algorithm_of(study(endless, "{client: {interval: 30}}"))->rungs(),
            (std::vector<step_t>{30, 60, 81}));
  EXPECT_EQ(read_search(study(twelve, "client", "budget: {trials: 40}"))
              .options->trials,
            40u); // it may give values of its own
}

// -- declarations -------------------------------------------------------------

/// An option with a value that it cannot have gives one error, at the option:
/// it is read, and by its own declaration.
TEST(Registry, EachDeclaredOptionIsRead) {
  for (const auto* type : algorithm_types())
    for (const auto& x : options_of(*type)) {
      const auto spec = study(twelve,
                              "{" + std::string{type->name} + ": {"
                                + std::string{x.name} + ": wrong}}",
                              "budget: {trials: 12}");
      const auto found = check_algorithm(spec, true).errors;
      const auto path =
        "algorithm." + std::string{type->name} + "." + std::string{x.name};
      const auto told =
        std::ranges::count(found, path, &algorithm_check::finding::path);
      EXPECT_EQ(told, 1) << path;
      const auto i =
        std::ranges::find(found, path, &algorithm_check::finding::path);
      if (i != found.end() && x.high_text.empty()) {
        EXPECT_TRUE(
          i->message.starts_with("must be " + values_text(x) + ", found"))
          << i->message;
      }
    }
}

TEST(Registry, EachOptionOfASamplerIsRead) {
  for (const auto* type : sampler_types())
    for (const auto& x : type->options) {
      const std::string name{x.name};
      const auto spec =
        study(twelve, "{client: {sampler: " + std::string{type->name} + ", "
                        + name + ": wrong}}");
      const auto found = check_algorithm(spec, true).errors;
      EXPECT_EQ(std::ranges::count(found, "algorithm.client." + name,
                                   &algorithm_check::finding::path),
                1)
        << name;
    }
}

/// A default that is shown is the value of a study that gives none.
TEST(Registry, EachDefaultIsTheOneThatIsShown) {
  for (const auto* type : algorithm_types())
    for (const auto& x : options_of(*type)) {
      if (!x.fallback_text.empty())
        continue;
      const std::string name{type->name};
      const auto budget = name == "pbt" ? "" : "budget: {trials: 12}";
      const auto plain = study(twelve, name, budget);
      const auto said = study(twelve,
                              "{" + name + ": {" + std::string{x.name} + ": "
                                + fallback_text(x) + "}}",
                              budget);
      EXPECT_EQ(texts(check_algorithm(said, true).errors),
                texts(check_algorithm(plain, true).errors));
      const auto a = read_search(plain), b = read_search(said);
      EXPECT_EQ(a.sampler, b.sampler) << name << ' ' << x.name;
      EXPECT_EQ(a.options->trials, b.options->trials) << name << ' ' << x.name;
      EXPECT_EQ(a.options->concurrent, b.options->concurrent);
      EXPECT_EQ(a.options->course().marks, b.options->course().marks);
      EXPECT_EQ(a.sampling->prefer_shared, b.sampling->prefer_shared);
    }
}

TEST(Registry, NamesAndOptionsAreThereOnce) {
  std::set<std::string_view> names;
  for (const auto* type : algorithm_types()) {
    EXPECT_TRUE(names.insert(type->name).second) << type->name;
    EXPECT_FALSE(type->meaning.empty()) << type->name;
    std::set<std::string_view> options;
    for (const auto& x : options_of(*type)) {
      EXPECT_TRUE(options.insert(x.name).second) << x.name;
      EXPECT_FALSE(x.meaning.empty() || x.since.empty()) << x.name;
      EXPECT_TRUE(x.type != option_type::word || !words_of(x).empty())
        << x.name;
    }
  }
}

/// The refusal of several lengths names all algorithms that take them.
TEST(Registry, LengthsAreForTheAlgorithmsThatTheRefusalNames) {
  std::vector<std::string> names;
  for (const auto* type : algorithm_types())
    if (type->takes_lengths)
      names.emplace_back(type->name);
  EXPECT_EQ(either_of(names), "grid, random, tpe, gp or client");
}

} // namespace
} // namespace hippo
