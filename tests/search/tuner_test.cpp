#include "hippo/search/tuner.hpp"

#include <string>

#include <gtest/gtest.h>

#include "search/studies.hpp"
#include "search/study_runs.hpp"
#include "search/tuner_runs.hpp"

namespace hippo {
namespace {

/// Schedules with common beginnings, a part that comes with a choice, points
/// and a continuous range.
const std::string fixed
  = "{x: {choice: [1, {multistep: {initial: 1, milestones: [{choice: [9, 27]}],"
    " gamma: {choice: [0.1, 0.5]}}}, {value: 3, with: {z: {choice: [1, 2]}}}]},"
    " y: {log_uniform: [0.01, 1], points: 4}}";

/// Some of these follow what is measured, one of them not from the start.
const std::string following
  = "{x: {choice: [1, {reduce_on_plateau: {initial: 1, patience: {choice:"
    " [0, 2]}, factor: 0.5}}, {warmup: {steps: 4, from: 0, to: 1, then:"
    " {reduce_on_plateau: {initial: 1, patience: 1, cooldown: 2}}}}]},"
    " y: {choice: [1, 2, {piecewise: [[0, 1], [20, 2]]}]}, z: {uniform: [0, 1],"
    " points: 2}}";

/// Steps between measurements: few, many, more than there are.
step_t every(std::uint64_t seed) {
  return std::vector<step_t>{1, 4, 30, 100}[seed % 4];
}

study_spec make(const std::string& space, const std::string& algorithm,
                std::uint64_t seed) {
  const bool sized = algorithm.find("population") != std::string::npos;
  auto x = study(space, algorithm, sized ? "" : "budget: {trials: 20}");
  x.seed = seed;
  x.objective.every = every(seed);
  if (seed % 2 == 0)
    x.objective.direction = direction::minimize;
  const auto checked = check_algorithm(x, true);
  for (const auto& wrong : checked.errors)
    ADD_FAILURE() << wrong.path << ": " << wrong.message;
  return x;
}

double x_at(const tuner& x, trial_no trial, step_t at) {
  return std::get<double>(x.parameters(trial).sequences.at("x").at(at));
}

// -- what holds for every study -----------------------------------------------

class EveryTunedStudy
  : public testing::TestWithParam<std::tuple<const char*, bool>> {
protected:
  static study_spec make(std::uint64_t seed) {
    return hippo::make(follows() ? following : fixed, std::get<0>(GetParam()),
                       seed);
  }

  static bool follows() { return std::get<1>(GetParam()); }
};

TEST_P(EveryTunedStudy, EndsWhateverFails) {
  for (std::uint64_t seed = 0; seed < 9; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    tuner_run x{make(seed)};
    x.run(seed, seed % 3 * seed);
  }
}

TEST_P(EveryTunedStudy, EndsHoweverOftenWhatHasFailedIsTriedAgain) {
  for (std::uint64_t seed = 0; seed < 9; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    tuner_run x{make(seed)};
    x.run(seed, 10);
    for (std::uint64_t i = 0; i < 4 && x.retry() > 0; ++i)
      x.run(seed + i, 2);
  }
}

TEST_P(EveryTunedStudy, EndsWhenEverythingFailsAtOnce) {
  tuner_run x{make(1)};
  for (trial_no trial = 0; trial < x.decisions().trials(); ++trial)
    x.fail(trial);
  EXPECT_TRUE(x.decisions().done());
}

TEST_P(EveryTunedStudy, TakesTheSameTurnsAgain) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    tuner_run x{make(seed)};
    x.run(seed, seed % 3);
    tuner_run again{make(seed)};
    again.replay(x.events());
    ASSERT_EQ(again.turns(), x.turns());
    for (trial_no trial = 0; trial < x.decisions().trials(); ++trial)
      if (x.was_added(trial)) {
        EXPECT_EQ(again.decisions().segments(trial),
                  x.decisions().segments(trial));
        EXPECT_EQ(again.decisions().parameters(trial).shown,
                  x.decisions().parameters(trial).shown);
      }
  }
}

TEST_P(EveryTunedStudy, DecidesAsItsAlgorithmAndItsSamplerDo) {
  if (follows())
    return; // those know nothing of schedules that follow measurements
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto spec = make(seed);
    tuner_run x{spec};
    x.run(seed, seed % 3);
    study_run parts{spec}; // counts what is untrained by brute force
    parts.replay(x.events());
    std::vector<advance> asked, expected;
    std::vector<trial_no> pruned, expected_pruned;
    for (const auto& turn : x.turns()) {
      asked.insert(asked.end(), turn.asked.begin(), turn.asked.end());
      pruned.insert(pruned.end(), turn.pruned.begin(), turn.pruned.end());
    }
    for (const auto& action : parts.actions())
      if (const auto* go = std::get_if<advance>(&action))
        expected.push_back(*go);
      else if (const auto* end = std::get_if<prune>(&action))
        expected_pruned.push_back(end->trial);
    EXPECT_EQ(asked, expected);
    EXPECT_EQ(pruned, expected_pruned);
    for (const auto& [trial, values] : parts.parameters())
      EXPECT_EQ(x.decisions().parameters(trial).sequences, values.sequences);
    for (const auto& split : parts.forks()) {
      ASSERT_NE(x.decisions().origin(split.trial), nullptr);
      EXPECT_EQ(*x.decisions().origin(split.trial), split);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
  Algorithms, EveryTunedStudy,
  testing::Combine(
    testing::Values("grid", "random", "{tpe: {startup: 4}}",
                    "{tpe: {startup: 3, max_concurrent: 2,"
                    " prefer_shared: off}}",
                    "sha", "{sha: {sampler: grid}}",
                    "{sha: {sampler: tpe, startup: 3}}",
                    "{asha: {max_concurrent: 4}}",
                    "{asha: {max_concurrent: 4, mode: stopping}}",
                    "{asha: {max_concurrent: 2, eta: 2}}",
                    "{asha: {sampler: tpe, startup: 4}}",
                    "{hyperband: {min: 3, max: 27}}", "{gp: {startup: 3}}",
                    "{asha: {sampler: gp, startup: 3}}",
                    "{bohb: {min: 3, max: 27, startup: 3}}",
                    "{boss: {min: 3, max: 27, startup: 3}}",
                    "{dehb: {min: 9, max_concurrent: 2}}",
                    "{freeze-thaw: {min: 27, startup: 3, max_concurrent: 3}}",
                    "{dehb: {min: 27, eta: 2, promote: first-round}}", "median",
                    "{median: {sampler: tpe, startup: 3, max_concurrent: 3}}",
                    "{pbt: {population: 8, interval: 9}}",
                    "{pbt: {population: 9, interval: 20, quantile: 0.5}}"),
    testing::Bool()));

// -- the window of trials -----------------------------------------------------

class EveryWindowedStudy : public EveryTunedStudy {};

TEST_P(EveryWindowedStudy, HasNoMoreTrialsThanTheWindowThatHaveGotNowhere) {
  // `tuner_run` counts them after each turn.
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    for (const std::uint64_t ahead : {1, 6}) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      tuner_run x{make(seed), ahead};
      x.run(seed, seed % 3 * seed);
      EXPECT_EQ(x.own_trials(), tuner_run{make(seed)}.decisions().trials());
    }
}

TEST_P(EveryWindowedStudy, TakesTheSameTurnsAgain) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    tuner_run x{make(seed), 3};
    x.run(seed, seed % 3);
    tuner_run again{make(seed), 3};
    again.replay(x.events());
    ASSERT_EQ(again.turns(), x.turns());
  }
}

INSTANTIATE_TEST_SUITE_P(
  Algorithms, EveryWindowedStudy,
  testing::Combine(
    testing::Values("grid", "random", "{tpe: {startup: 4}}", "sha",
                    "{sha: {sampler: tpe, startup: 3}}", "asha",
                    "{asha: {max_concurrent: 0}}",
                    "{asha: {max_concurrent: 4, mode: stopping}}",
                    "{asha: {max_concurrent: 2, eta: 2}}",
                    "{asha: {sampler: tpe, startup: 4}}",
                    "{hyperband: {min: 3, max: 27}}",
                    "{hyperband: {min: 3, max: 27, order: in-turn}}",
                    "{gp: {startup: 3}}", "{asha: {sampler: gp, startup: 3}}",
                    "{bohb: {min: 3, max: 27, startup: 3}}",
                    "{boss: {min: 3, max: 27, startup: 3}}",
                    "{dehb: {min: 9, max_concurrent: 2}}",
                    "{freeze-thaw: {min: 27, startup: 3, max_concurrent: 3}}",
                    "{dehb: {min: 27, eta: 2, promote: first-round}}", "median",
                    "{pbt: {population: 8, interval: 9}}"),
    testing::Bool()));

/// What a study has decided of a trial in the end.
struct fate {
  step_t asked = 0;
  bool pruned = false;
  nlohmann::ordered_json shown;
  friend bool operator==(const fate&, const fate&) = default;
};

std::map<trial_no, fate> fates(const tuner_run& x) {
  std::map<trial_no, fate> result;
  for (const auto& turn : x.turns()) {
    for (auto trial : turn.added)
      result[trial].shown = x.decisions().parameters(trial).shown;
    for (const auto& [trial, to] : turn.asked)
      result[trial].asked = to;
    for (auto trial : turn.pruned)
      result[trial].pruned = true;
  }
  return result;
}

TEST(TrialWindow, DecidesAsWithoutWhereDecisionsAreTimeless) {
  // What these decide depends on results alone, not on who was faster.
  for (const auto* algorithm :
       {"grid", "random", "sha", "{sha: {sampler: grid}}",
        "{hyperband: {min: 3, max: 27}}",
        "{hyperband: {min: 3, max: 27, order: in-turn}}",
        "{pbt: {population: 8, interval: 9}}"})
    for (const auto& space : {fixed, following})
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        SCOPED_TRACE(algorithm + std::string{" "} + std::to_string(seed));
        const auto spec = make(space, algorithm, seed);
        tuner_run whole{spec};
        whole.run(seed);
        for (const std::uint64_t ahead : {1, 5}) {
          tuner_run windowed{spec, ahead};
          windowed.run(seed * 7 + ahead);
          ASSERT_EQ(fates(windowed), fates(whole));
          EXPECT_EQ(windowed.unique_steps(), whole.unique_steps());
        }
      }
}

TEST(TrialWindow, OpensAsManyAsThereIsRoomFor) {
  for (const auto* algorithm :
       {"random", "sha", "{asha: {max_concurrent: 0}}"}) {
    const auto spec = make(fixed, algorithm, 4);
    tuner_run x{spec, 5};
    EXPECT_EQ(x.own_trials(), 5u);
    while (!x.running().empty()) {
      x.measure(*x.running().begin());
      EXPECT_TRUE(x.unsettled() == 5 || x.own_trials() == 20) << algorithm;
    }
    EXPECT_TRUE(x.decisions().done());
  }
}

TEST(TrialWindow, GuessesWhereTrialsPartThatAreYetToCome) {
  const auto spec = make(fixed, "random", 0);
  const auto search = read_search(spec);
  EXPECT_TRUE((tuner{spec, search, {}, 20}).when().branches.empty());
  EXPECT_EQ((tuner{spec, search, {}, 19}).when().branches,
            (std::vector<step_t>{9, 27}));
}

TEST(TrialWindow, TenMillionTrialsCostWhatIsInFlight) {
  for (const auto* algorithm :
       {"random", "sha", "asha", "{asha: {max_concurrent: 0, mode: stopping}}",
        "hyperband", "{hyperband: {order: in-turn}}", "median"}) {
    const auto spec = study(endless, algorithm, "budget: {trials: 10000000}");
    tuner x{spec, read_search(spec), {}, 50};
    const auto first = x.start();
    EXPECT_EQ(first.added.size(), 50u) << algorithm;
    EXPECT_LE(first.asked.size(), 50u) << algorithm;
    EXPECT_EQ(x.trials(), 10'000'000u);
    EXPECT_EQ(x.on_failure(first.asked[0].trial).added.size(), 1u);
  }
}

// -- plain studies ------------------------------------------------------------

TEST(Tuner, KnowsAllTrialsOfAStaticSamplerAtOnce) {
  auto x = tuner_of(study(twelve, "grid"));
  const auto first = x.start();
  EXPECT_EQ(first.added.size(), 12u);
  EXPECT_EQ(first.asked.size(), 12u);
  EXPECT_EQ(first.asked[3], (advance{3, 81}));
  EXPECT_EQ(x.trials(), 12u);
  EXPECT_EQ(x.when().rungs, std::vector<step_t>{81});
  EXPECT_TRUE(x.when().branches.empty());
  EXPECT_EQ(x.origin(3), nullptr);
  for (trial_no trial = 0; trial < 12; ++trial) {
    EXPECT_FALSE(x.done());
    EXPECT_EQ(x.on_result(trial, 80, 1), turn{});
    EXPECT_EQ(x.on_result(trial, 81, 1), turn{});
  }
  EXPECT_TRUE(x.done());
}

TEST(Tuner, FillsInWhatTheStudyDoesNotMention) {
  auto x = tuner_of(
    study("{x: 2, y: 3}", "grid"),
    {{"y", sequence{form::constant(7)}},
     {"z", sequence{{{0, form::constant(5)}, {4, form::constant(6)}}}}});
  x.start();
  EXPECT_EQ(x.parameters(0).sequences.size(), 2u);
  EXPECT_EQ(x.segments(0),
            (std::vector<segment>{{0,
                                   {{"x", form::constant(2)},
                                    {"y", form::constant(3)},
                                    {"z", form::constant(5)}}},
                                  {4,
                                   {{"x", form::constant(2)},
                                    {"y", form::constant(3)},
                                    {"z", form::constant(6)}}}}));
}

TEST(Tuner, MeasuresAsTheObjectiveSaysAndOnRungs) {
  auto spec = study(twelve, "{sha: {eta: 3, min: 3}}");
  spec.objective.every = 5;
  const auto when = tuner{spec, read_search(spec), {}}.when();
  EXPECT_EQ(when.every, 5u);
  EXPECT_EQ(when.rungs, (std::vector<step_t>{3, 9, 27, 81}));
}

// -- values that are learned --------------------------------------------------

TEST(Tuner, DrawsLearnedValuesWhenTheyAreNeeded) {
  auto x = tuner_of(study(twelve, "{tpe: {startup: 2, max_concurrent: 3}}"));
  EXPECT_EQ(x.start().added, (std::vector<trial_no>{0, 1, 2}));
  EXPECT_EQ(x.on_result(1, 40, 3), turn{});
  const auto next = x.on_result(1, 81, 3);
  EXPECT_EQ(next.added, std::vector<trial_no>{3});
  EXPECT_EQ(next.asked, (std::vector<advance>{{3, 81}}));
  EXPECT_EQ(x.on_failure(0).added, std::vector<trial_no>{4});
  EXPECT_EQ(x.trials(), 12u);
}

TEST(Tuner, LearnsFromFailures) {
  // Everything above 5 fails: the model must hear of it.
  auto spec =
    study("{x: {uniform: [0, 10]}}", "{tpe: {startup: 5, max_concurrent: 1}}",
          "budget: {trials: 60}");
  tuner x{spec, read_search(spec), {}};
  auto next = x.start();
  std::size_t failed_late = 0;
  for (trial_no trial = 0; !next.asked.empty(); ++trial) {
    const bool fails = x_at(x, trial, 0) > 5;
    failed_late += fails && trial >= 40;
    next = fails ? x.on_failure(trial) : x.on_result(trial, 81, 1);
  }
  EXPECT_TRUE(x.done());
  EXPECT_LE(failed_late, 6u);
}

TEST(Tuner, GuessesWhereTrialsOfLearnedValuesWillPart) {
  const auto branches = [](const std::string& space) {
    return tuner_of(
             study(space, "{tpe: {max_concurrent: 2}}", "budget: {trials: 9}"))
      .when()
      .branches;
  };
  EXPECT_EQ(branches("{x: {choice: [1, {piecewise: [[0, 1], [7, 2], [40, 3]]},"
                     " {multistep: {initial: 1, milestones: [{choice: [3, 7]}],"
                     " gamma: 0.1}}]}}"),
            (std::vector<step_t>{3, 7, 40}));
  EXPECT_TRUE(branches(twelve).empty());
  // Of very many only those that are the likeliest: 30 is half of all.
  const auto many
    = branches("{x: {choice: [{piecewise: [[0, 1], [30, 2]]}, {piecewise:"
               " [[0, 1], [{int_uniform: [1, 80]}, 2]]}]}}");
  EXPECT_EQ(many.size(), 32u);
  EXPECT_TRUE(std::is_sorted(many.begin(), many.end()));
  EXPECT_EQ(std::count(many.begin(), many.end(), 30u), 1);
}

/// Schedules that agree for some steps with some others.
const std::string sharing
  = "{x: {choice: [1, 2, 3, 4, 5, 6, 7, 8]}, y: {choice: ["
    "1, {piecewise: [[0, 1], [3, 2]]}, {piecewise: [[0, 1], [9, 2]]},"
    " {piecewise: [[0, 1], [27, 2]]}]}}";

TEST(Tuner, PrefersWhatIsSharedWhereItLearns) {
  std::uint64_t on = 0, off = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    for (const bool prefers : {true, false}) {
      auto spec =
        study(sharing,
              std::string{"{tpe: {startup: 3, max_concurrent: 1, candidates:"
                          " 40, prefer_shared: "}
                + (prefers ? "on}}" : "off}}"),
              "budget: {trials: 20}");
      spec.seed = seed;
      tuner_run x{spec};
      x.run(seed);
      (prefers ? on : off) += x.unique_steps();
    }
  EXPECT_LT(on, off);
}

TEST(Tuner, CountsWhatTheStudyDoesNotMentionAsShared) {
  auto spec = study(sharing, "{tpe: {startup: 3, max_concurrent: 1}}",
                    "budget: {trials: 20}");
  const sequence z{{{0, form::constant(5)}, {4, form::constant(6)}}};
  auto x = tuner_of(spec), y = tuner_of(spec, {{"z", z}});
  auto next = x.start();
  EXPECT_EQ(y.start(), next);
  for (trial_no trial = 0; trial < 20; ++trial) {
    EXPECT_EQ(x.parameters(trial).shown, y.parameters(trial).shown);
    const auto value = x_at(x, trial, 0);
    next = x.on_result(trial, 81, value);
    EXPECT_EQ(y.on_result(trial, 81, value), next);
  }
  EXPECT_TRUE(x.done());
}

TEST(Tuner, WhatIsSharedNeverChangesWhoIsKept) {
  for (const auto* name : {"sha", "hyperband"})
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const auto turns = [&](const std::string& prefers) {
        auto spec = study(sharing, std::string{"{"} + name
                                     + ": {prefer_shared: " + prefers + "}}");
        spec.seed = seed;
        tuner_run x{spec};
        x.run(seed, 2);
        return x.turns();
      };
      EXPECT_EQ(turns("on"), turns("off"));
    }
}

// -- schedules that follow measurements ---------------------------------------

/// A study of one trial whose x halves when a measurement is no better.
study_spec plateau_study(const std::string& algorithm = "grid") {
  auto x = study("{x: {reduce_on_plateau: {initial: 8, factor: 0.5, patience:"
                 " 0}}}",
                 algorithm);
  x.objective.every = 10;
  return x;
}

TEST(Tuner, AsksFromMeasurementToMeasurementWhereValuesFollow) {
  auto x = tuner_of(plateau_study());
  EXPECT_EQ(x.start().asked, (std::vector<advance>{{0, 10}}));
  auto next = x.on_result(0, 10, 5); // the first is better than nothing
  EXPECT_TRUE(next.rerouted.empty());
  EXPECT_EQ(next.asked, (std::vector<advance>{{0, 20}}));
  next = x.on_result(0, 20, 4);
  EXPECT_EQ(next.rerouted, std::vector<trial_no>{0});
  EXPECT_EQ(next.asked, (std::vector<advance>{{0, 30}}));
  EXPECT_EQ(x_at(x, 0, 19), 8);
  EXPECT_EQ(x_at(x, 0, 20), 4);
  EXPECT_EQ(x.segments(0).back().begin, 20u);
  next = x.on_result(0, 30, 6);
  EXPECT_TRUE(next.rerouted.empty());
  EXPECT_EQ(x_at(x, 0, 30), 4);
  // Heard twice: nothing is counted, or asked for, twice.
  EXPECT_EQ(x.on_result(0, 30, 6), turn{});
  EXPECT_EQ(x.on_result(0, 20, 4), turn{});
  for (step_t at = 40; at < 80; at += 10)
    x.on_result(0, at, 7 + static_cast<double>(at));
  next = x.on_result(0, 80, 200);
  EXPECT_EQ(next.asked, (std::vector<advance>{{0, 81}})); // no further
  EXPECT_FALSE(x.done());
  EXPECT_TRUE(x.on_result(0, 81, 201).asked.empty());
  EXPECT_TRUE(x.done());
  EXPECT_EQ(x_at(x, 0, 80), 4);
}

TEST(Tuner, FollowsTheDirectionOfTheObjective) {
  auto spec = plateau_study();
  spec.objective.direction = direction::minimize;
  tuner x{spec, read_search(spec), {}};
  x.start();
  x.on_result(0, 10, 5);
  EXPECT_TRUE(x.on_result(0, 20, 4).rerouted.empty());
  EXPECT_EQ(x.on_result(0, 30, 4).rerouted.size(), 1u);
}

TEST(Tuner, SharesWhatMeasurementsHaveMadeOfTheValues) {
  int looked = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    auto spec = study("{x: {choice: [{reduce_on_plateau: {initial: 8, factor:"
                      " 0.5, patience: 0}}, 8, {piecewise: [[0, 8], [20,"
                      " 4]]}]}}",
                      "{tpe: {startup: 1, max_concurrent: 1,"
                      " candidates: 100}}");
    spec.objective.every = 10;
    spec.seed = seed;
    tuner x{spec, read_search(spec), {}};
    x.start();
    if (!x.is_responsive(0))
      continue;
    ++looked;
    x.on_result(0, 10, 5);
    x.on_result(0, 20, 4); // it is the third of the choices from now on
    for (step_t at = 30; at <= 80; at += 10)
      x.on_result(0, at, static_cast<double>(at));
    EXPECT_EQ(x.on_result(0, 81, 81).added, std::vector<trial_no>{1});
    EXPECT_TRUE(x.parameters(1).shown["x"].is_object());
  }
  EXPECT_GT(looked, 0);
}

TEST(Tuner, RestsOnARungUntilItMayGoOn) {
  auto spec =
    plateau_study("{asha: {eta: 2, min: 20, max: 40, max_concurrent: 2}}");
  spec.space = study("{x: {reduce_on_plateau: {initial: 8, factor: 0.5,"
                     " patience: 0}}, y: {choice: [1, 2]}}",
                     "grid")
                 .space;
  tuner x{spec, read_search(spec), {}};
  EXPECT_EQ(x.start().asked, (std::vector<advance>{{0, 10}, {1, 10}}));
  EXPECT_EQ(x.on_result(0, 10, 1).asked, (std::vector<advance>{{0, 20}}));
  EXPECT_EQ(x.on_result(0, 20, 1).asked, std::vector<advance>{});
  EXPECT_EQ(x.on_result(1, 10, 2).asked, (std::vector<advance>{{1, 20}}));
  // One of two goes on: again no further than the next measurement.
  EXPECT_EQ(x.on_result(1, 20, 2).asked, (std::vector<advance>{{1, 30}}));
  EXPECT_EQ(x.on_result(1, 30, 2).asked, (std::vector<advance>{{1, 40}}));
  EXPECT_EQ(x.on_result(1, 40, 2).pruned, std::vector<trial_no>{0});
  EXPECT_TRUE(x.done());
}

TEST(Tuner, AsksNothingMoreOfWhatIsPrunedOnItsWay) {
  auto spec = study("{x: {reduce_on_plateau: {initial: 8, patience: 0}}, y:"
                    " {choice: [1, 2]}}",
                    "{median: {grace: 10, min_others: 1}}");
  spec.objective.every = 10;
  tuner x{spec, read_search(spec), {}};
  x.start();
  x.on_result(0, 10, 5);
  const auto next = x.on_result(1, 10, 1);
  EXPECT_EQ(next.pruned, std::vector<trial_no>{1});
  EXPECT_TRUE(next.asked.empty());
}

// -- forks --------------------------------------------------------------------

TEST(Tuner, AForkHasItsParentsValuesUpToItsStep) {
  auto x =
    tuner_of(study("{x: {choice: [{linear: {from: 8, to: 0, horizon: 80}},"
                   " {linear: {from: 4, to: 0, horizon: 80}}]}}",
                   "{pbt: {population: 2, interval: 30, quantile: 0.5}}"));
  EXPECT_EQ(x.start().asked, (std::vector<advance>{{0, 30}, {1, 30}}));
  x.on_result(0, 30, 2);
  const auto next = x.on_result(1, 30, 1);
  EXPECT_EQ(next.pruned, std::vector<trial_no>{1});
  EXPECT_EQ(next.added, std::vector<trial_no>{2});
  EXPECT_EQ(next.asked, (std::vector<advance>{{0, 60}, {2, 60}}));
  EXPECT_EQ(x.trials(), 3u);
  ASSERT_NE(x.origin(2), nullptr);
  EXPECT_EQ(*x.origin(2), (fork{2, 0, 30}));
  EXPECT_EQ(x.origin(0), nullptr);
  EXPECT_EQ(x_at(x, 2, 29), x_at(x, 0, 29));
  EXPECT_NE(x_at(x, 2, 30), x_at(x, 0, 30));
  EXPECT_EQ(x_at(x, 2, 30), x_at(x, 1, 30)); // the only other one there is
}

TEST(Tuner, AForkHasWhatMeasurementsHaveMadeOfItsParentsValues) {
  auto spec = study("{x: {reduce_on_plateau: {initial: {choice: [8, 16]},"
                    " factor: 0.5, patience: 0}}}",
                    "{pbt: {population: 2, interval: 30, quantile: 0.5,"
                    " resample: 0}}");
  spec.objective.every = 10;
  tuner x{spec, read_search(spec), {}};
  x.start();
  const auto first = x_at(x, 0, 0), other = 24 - first;
  for (const auto& [at, value] : {std::pair{10u, 5.0}, {20u, 4.0}, {30u, 6.0}})
    x.on_result(0, at, value);
  x.on_result(1, 10, 3);
  x.on_result(1, 20, 4);
  auto next = x.on_result(1, 30, 5);
  EXPECT_EQ(next.added, std::vector<trial_no>{2});
  // What it has in common with trial 0 is decided, what comes then is not yet.
  EXPECT_EQ(next.asked, (std::vector<advance>{{0, 40}, {2, 30}}));
  EXPECT_EQ(x_at(x, 2, 19), first);
  EXPECT_EQ(x_at(x, 2, 20), first / 2);
  EXPECT_EQ(x_at(x, 2, 29), first / 2);
  EXPECT_EQ(x.on_result(2, 10, 5), turn{});
  EXPECT_EQ(x.on_result(2, 20, 4), turn{});
  next = x.on_result(2, 30, 6);
  EXPECT_EQ(next.rerouted, std::vector<trial_no>{2});
  EXPECT_EQ(next.asked, (std::vector<advance>{{2, 40}}));
  EXPECT_EQ(x_at(x, 2, 29), first / 2);
  EXPECT_EQ(x_at(x, 2, 30), other / 2); // as if it had been there from step 0
  next = x.on_result(2, 40, 6);
  EXPECT_EQ(next.rerouted, std::vector<trial_no>{2});
  EXPECT_EQ(next.asked, (std::vector<advance>{{2, 50}}));
  EXPECT_EQ(x_at(x, 2, 39), other / 2);
  EXPECT_EQ(x_at(x, 2, 40), other / 4);
  EXPECT_EQ(x_at(x, 0, 40), first / 2); // its parent goes its own way
}

} // namespace
} // namespace hippo
