// Whole studies: an algorithm and a sampler together.

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "hippo/search/registry.hpp"
#include "search/studies.hpp"
#include "search/study_runs.hpp"

namespace hippo {
namespace {

/// Schedules with common beginnings, a conditional part, points and a
/// continuous range.
constexpr auto mixed
  = "{x: {choice: [1, {multistep: {initial: 1, milestones: [{choice: [9, 27]}],"
    " gamma: {uniform: [0.1, 0.9]}}}, {value: 3, with: {z: {choice: [1, 2]}}}]},"
    " y: {log_uniform: [0.01, 1], points: 4}}";

double number(const trial_parameters& x, const std::string& name, step_t at) {
  const auto found = x.sequences.find(name);
  return found == x.sequences.end() ? 0
                                    : std::get<double>(found->second.at(at));
}

double quality(const trial_parameters& x, step_t at) {
  if (number(x, "x", 0) == 3 && number(x, "z", 0) == 2 && at > 9)
    return NAN;
  return -std::pow(number(x, "x", at) - 0.5, 2)
         - std::pow(std::log(number(x, "y", 0)) + 2, 2)
         - 1 / static_cast<double>(at);
}

class EveryStudy : public testing::TestWithParam<const char*> {
protected:
  static study_spec make(std::uint64_t seed, const char* space = mixed) {
    const std::string name = GetParam();
    const auto own = name.find("population") != std::string::npos;
    auto x = study(space, name, own ? "" : "budget: {trials: 30}");
    x.seed = seed;
    EXPECT_TRUE(check_algorithm(x).errors.empty());
    return x;
  }
};

TEST_P(EveryStudy, EndsWhateverFails) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    study_run x{make(seed)};
    x.run(seed, seed % 4 * 15, quality);
    EXPECT_TRUE(x.tuner().done());
    for (const auto& [trial, step] : x.reached())
      EXPECT_LE(step, x.tuner().rungs().back());
  }
}

TEST_P(EveryStudy, DecidesAgainAsItDidValuesToo) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    study_run x{make(seed)};
    x.run(seed, seed % 3 * 10, quality);
    study_run again{make(seed)};
    again.replay(x.events());
    ASSERT_EQ(again.actions(), x.actions());
    ASSERT_EQ(again.parameters().size(), x.parameters().size());
    for (const auto& [trial, values] : x.parameters()) {
      EXPECT_EQ(again.parameters().at(trial).shown, values.shown);
      EXPECT_EQ(again.parameters().at(trial).sequences, values.sequences);
    }
    EXPECT_TRUE(again.tuner().done());
  }
}

TEST_P(EveryStudy, AFiniteSpaceIsNotDrawnFromTwice) {
  // 4 * 3 combinations, and as many trials at most.
  if (std::string{GetParam()}.find("population") != std::string::npos)
    return; // forks may meet values again
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    study_run x{make(seed, twelve)};
    x.run(seed, seed % 3 * 10, quality);
    std::set<std::string> seen;
    for (const auto& [trial, values] : x.parameters())
      EXPECT_TRUE(seen.insert(values.shown.dump()).second) << values.shown;
  }
}

INSTANTIATE_TEST_SUITE_P(
  Algorithms, EveryStudy,
  testing::Values("random", "{tpe: {startup: 4}}", "sha",
                  "{sha: {sampler: tpe, startup: 3}}",
                  "{asha: {max_concurrent: 4}}",
                  "{asha: {max_concurrent: 4, mode: stopping}}",
                  "{asha: {sampler: tpe, startup: 4}}",
                  "{hyperband: {min: 3, max: 27}}", "{gp: {startup: 3}}",
                  "{asha: {sampler: gp, startup: 3}}",
                  "{bohb: {min: 3, max: 27, startup: 3}}",
                  "{boss: {min: 3, max: 27, startup: 3}}",
                  "{dehb: {min: 9, max_concurrent: 2}}",
                  "{freeze-thaw: {min: 27, startup: 3, max_concurrent: 2}}",
                  "{dehb: {min: 27, eta: 2, promote: first-round}}", "median",
                  "{median: {sampler: tpe, startup: 3, max_concurrent: 3}}",
                  "{pbt: {population: 8, interval: 9}}",
                  "{pbt: {population: 9, interval: 20, quantile: 0.5}}"));

// -- what may be shared -------------------------------------------------------

/// Schedules that agree for some steps with some others.
constexpr auto shared
  = "{x: {choice: [1, 2, 3, 4, 5, 6, 7, 8]}, y: {choice: ["
    "1, {piecewise: [[0, 1], [3, 2]]}, {piecewise: [[0, 1], [9, 2]]},"
    " {piecewise: [[0, 1], [27, 2]]}]}}";

TEST(PreferShared, NeverChangesWhatASynchronousAlgorithmKeeps) {
  for (const auto* name : {"sha", "hyperband"})
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const std::string begin = std::string{"{"} + name + ": {";
      auto on = study(shared, begin + "prefer_shared: on}}");
      auto off = study(shared, begin + "prefer_shared: off}}");
      on.seed = off.seed = seed;
      study_run x{on}, y{off};
      x.run(seed, 5, quality);
      y.run(seed, 5, quality);
      EXPECT_EQ(x.actions(), y.actions());
    }
}

TEST(PreferShared, IsHeededUnlessItIsOff) {
  /// Has no opinion, but counts how often it is asked.
  class counting_work : public untrained_work {
  public:
    [[nodiscard]] step_t of(trial_no, step_t) const override {
      ++asked;
      return 1;
    }
    [[nodiscard]] step_t of(const trial_parameters&, step_t) const override {
      ++asked;
      return 1;
    }
    mutable int asked = 0;
  };
  for (const bool on : {true, false}) {
    const std::string option
      = std::string{"prefer_shared: "} + (on ? "on" : "off");
    counting_work drawing;
    const auto values = sampler_of(
      study(twelve, "{tpe: {startup: 1, " + option + "}}"), &drawing);
    values->draw(0);
    values->on_result(0, 81, 1);
    values->draw(1);
    EXPECT_EQ(drawing.asked > 0, on);
  }
}

} // namespace
} // namespace hippo
