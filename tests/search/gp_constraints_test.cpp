// The process with constraints on metrics.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/search/sampler/gp_sampler.hpp"
#include "hippo/search/sampler/tpe_sampler.hpp"
#include "search/studies.hpp"

namespace hippo {
namespace {

constexpr auto infinity = std::numeric_limits<double>::infinity();
constexpr auto square = "{x: {uniform: [0, 6]}, y: {uniform: [0, 6]}}";

double number(const trial_parameters& x, const std::string& name) {
  return std::get<double>(x.sequences.at(name).at(0));
}

goals least_of(std::size_t constraints) {
  goals result{{{"loss", direction::minimize}}, {}};
  for (std::size_t i = 0; i < constraints; ++i)
    result.constraints.push_back({"slack" + std::to_string(i), false, 0});
  return result;
}

gp_options options_of(std::uint64_t startup, std::uint64_t seed) {
  gp_options result;
  result.seed = seed;
  result.startup = startup;
  result.better = direction::minimize;
  result.marks = {9};
  result.first = 9;
  result.trials = 100;
  return result;
}

/// A trial's loss and its slacks.
struct measured_trial {
  double loss = 0;
  std::vector<double> slacks;
  [[nodiscard]] bool is_feasible() const {
    return std::ranges::all_of(slacks, [](double x) { return x >= 0; });
  }
};

using limited_function =
  std::function<measured_trial(const trial_parameters& x)>;

/// A sampler that is told what trials measure. It shows what it knows.
class told_gp : public gp_sampler {
public:
  told_gp(const std::string& space, const gp_options& options,
          trial_outcomes& outcomes)
    : gp_sampler(study(space, "random", "budget: {trials: 100}").space, {},
                 options, nullptr, &outcomes),
      outcomes_(outcomes) {}

  void tell(trial_no trial, const measured_trial& x, step_t at = 9) {
    metrics all{{"loss", x.loss}};
    for (std::size_t i = 0; i < x.slacks.size(); ++i)
      all["slack" + std::to_string(i)] = x.slacks[i];
    outcomes_.add(trial, at, all);
    on_result(trial, at, x.loss);
  }

  /// A trial's response at the end as expected, its variance, and the logarithm
  /// of the probability that it keeps all limits.
  struct expectation {
    double mean = 0, variance = 0, log_kept = 0;
  };

  std::vector<expectation> expect(const std::vector<trial_parameters>& trials) {
    const auto known = know();
    auto points = empty_points(trials.size());
    for (std::size_t i = 0; i < trials.size(); ++i)
      set_point(points, i, gp_sampler::features_of(trials[i]), 9);
    const auto values = known->values.predict(points);
    const auto kept = known->limits.log_of(points);
    std::vector<expectation> result;
    for (Eigen::Index i = 0; i < points.size(); ++i)
      result.push_back({values.means[i], values.variances[i], kept[i]});
    return result;
  }

private:
  trial_outcomes& outcomes_;
};

/// Draws trials and tells what they measure.
std::vector<measured_trial> play(told_gp& gp, trial_no count,
                                 const limited_function& function) {
  std::vector<measured_trial> result;
  for (trial_no trial = 0; trial < count; ++trial) {
    result.push_back(function(gp.draw(trial)));
    gp.tell(trial, result.back());
  }
  return result;
}

/// The least loss of those that keep all limits; infinite: none does.
double least_feasible(const std::vector<measured_trial>& all) {
  double result = infinity;
  for (const auto& x : all)
    if (x.is_feasible())
      result = std::min(result, x.loss);
  return result;
}

// -- what is taken ------------------------------------------------------------

double expected_improvement(double mean, double deviation, double best) {
  const auto z = (mean - best) / deviation;
  return deviation
         * (z * std::erfc(-z / std::sqrt(2.0)) / 2
            + std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0)));
}

// Of all combinations of a small space that are left, the one with the greatest
// product of the improvement on the best feasible trial and the probability.
TEST(GpConstraints, TakeTheGreatestProductOfImprovementAndProbability) {
  std::string numbers = "0";
  for (int i = 1; i < 30; ++i)
    numbers += ", " + std::to_string(i);
  const auto space = "{x: {choice: [" + numbers + "]}}";
  const auto combinations =
    study(space, "random", "budget: {trials: 30}").space;
  const limited_function function = [](const trial_parameters& trial) {
    const auto x = number(trial, "x");
    return measured_trial{std::sin(x / 3), {std::cos(x / 4), x - 4}};
  };
  int checked = 0, exact = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    trial_outcomes outcomes{least_of(2)};
    told_gp gp{space, options_of(6, seed), outcomes};
    std::set<std::string> tried;
    std::vector<trial_parameters> feasible;
    for (trial_no trial = 0; trial < 14; ++trial) {
      std::vector<trial_parameters> left;
      for (std::uint64_t i = 0; i < 30; ++i)
        if (auto x = combinations.at(i); !tried.contains(x.shown.dump()))
          left.push_back(std::move(x));
      std::string best;
      double most = -1;
      if (trial >= 6 && !feasible.empty()) {
        double incumbent = -infinity;
        for (const auto& x : gp.expect(feasible))
          incumbent = std::max(incumbent, x.mean);
        const auto expected = gp.expect(left);
        for (std::size_t i = 0; i < left.size(); ++i) {
          const auto& x = expected[i];
          const auto worth =
            expected_improvement(x.mean, std::sqrt(x.variance), incumbent)
            * std::exp(x.log_kept);
          if (worth > most) {
            most = worth;
            best = left[i].shown.dump();
          }
        }
      }
      const auto drawn = gp.draw(trial);
      if (most >= 0) {
        ++checked;
        exact += drawn.shown.dump() == best;
      }
      tried.insert(drawn.shown.dump());
      const auto x = function(drawn);
      gp.tell(trial, x);
      if (x.is_feasible())
        feasible.push_back(drawn);
    }
  }
  EXPECT_GT(checked, 30);
  EXPECT_EQ(exact, checked);
}

// Values do not matter before one is feasible.
TEST(GpConstraints, WithNothingFeasibleTheProbabilityAloneCounts) {
  const auto draw = [](double sign) {
    trial_outcomes outcomes{least_of(1)};
    told_gp gp{"{x: {uniform: [0, 1]}, y: {uniform: [0, 1]}}", options_of(5, 3),
               outcomes};
    std::vector<std::string> result;
    for (trial_no trial = 0; trial < 40; ++trial) {
      const auto drawn = gp.draw(trial);
      result.push_back(drawn.shown.dump());
      const auto x = number(drawn, "x"), y = number(drawn, "y");
      const measured_trial made{
        sign * (x + y), {0.01 - std::pow(x - 0.9, 2) - std::pow(y - 0.2, 2)}};
      if (made.is_feasible())
        return result;
      gp.tell(trial, made);
    }
    ADD_FAILURE() << "nothing feasible was found";
    return result;
  };
  const auto one = draw(1);
  EXPECT_EQ(one, draw(-1));
  EXPECT_GT(one.size(), 6u);  // the model had its part
  EXPECT_LT(one.size(), 20u); // 1 of 32 is feasible
}

/// The function of Gardner et al., 2014, whose best value lies at the border of
/// what 1 of 60 trials keeps.
measured_trial sloping(const trial_parameters& trial) {
  const auto x = number(trial, "x"), y = number(trial, "y");
  return {std::sin(x) + y, {-0.95 - std::sin(x) * std::sin(y)}};
}

/// The least feasible loss of 40 trials of TPE, or of random ones.
double least_by(const std::string& sampler, std::uint64_t seed) {
  trial_outcomes outcomes{least_of(1)};
  tpe_sampler tpe{study(square, "random", "budget: {trials: 100}").space,
                  seed,
                  sampler == "tpe" ? 10u : 1000u,
                  24,
                  direction::minimize,
                  9,
                  {9},
                  nullptr,
                  &outcomes};
  std::vector<measured_trial> all;
  for (trial_no trial = 0; trial < 40; ++trial) {
    all.push_back(sloping(tpe.draw(trial)));
    outcomes.add(trial, 9,
                 {{"loss", all.back().loss}, {"slack0", all.back().slacks[0]}});
    tpe.on_result(trial, 9, all.back().loss);
  }
  return least_feasible(all);
}

TEST(GpConstraints, FindBetterFeasibleValuesThanTpeAndRandom) {
  std::vector<double> found, tpe, random;
  for (std::uint64_t seed = 0; seed < 7; ++seed) {
    trial_outcomes outcomes{least_of(1)};
    told_gp gp{square, options_of(5, seed), outcomes};
    found.push_back(least_feasible(play(gp, 40, sloping)));
    tpe.push_back(least_by("tpe", seed));
    random.push_back(least_by("random", seed));
  }
  for (auto* all : {&found, &tpe, &random})
    std::ranges::sort(*all);
  const auto least = std::asin(0.95) - 1;
  EXPECT_LT(found[3] - least, 0.05);
  EXPECT_GT(tpe[3] - least, 0.2);
  EXPECT_GT(random[3] - least, 0.2);
}

// -- what is told -------------------------------------------------------------

TEST(GpConstraints, ALimitThatAllKeepAlikeChangesNothing) {
  const limited_function function = [](const trial_parameters& x) {
    return measured_trial{std::sin(number(x, "x")) + number(x, "y"), {3.5}};
  };
  trial_outcomes outcomes{least_of(1)};
  told_gp with{square, options_of(5, 2), outcomes};
  gp_sampler without{study(square, "random", "budget: {trials: 100}").space,
                     {},
                     options_of(5, 2),
                     nullptr};
  for (trial_no trial = 0; trial < 20; ++trial) {
    const auto values = with.draw(trial);
    EXPECT_EQ(values.shown, without.draw(trial).shown);
    const auto x = function(values);
    with.tell(trial, x);
    without.on_result(trial, 9, x.loss);
  }
}

// The best value lies where the limit begins to be a number.
TEST(GpConstraints, WhatIsNoNumberBreaksALimit) {
  for (const auto broken : {std::nan(""), -infinity}) {
    trial_outcomes outcomes{least_of(2)};
    told_gp gp{"{x: {uniform: [0, 1]}}", options_of(5, 1), outcomes};
    const auto all = play(gp, 25, [&](const trial_parameters& trial) {
      const auto x = number(trial, "x");
      return measured_trial{x, {x < 0.5 ? broken : x, 1}};
    });
    EXPECT_LT(least_feasible(all), 0.52) << broken;
  }
}

// A trial that has broken a limit at its last result is nothing to be improved
// on, though it kept it before.
TEST(GpConstraints, TheLastResultOfATrialCounts) {
  auto options = options_of(6, 4);
  options.marks = {3, 9};
  options.first = 3;
  trial_outcomes outcomes{least_of(1)};
  told_gp gp{"{x: {uniform: [0, 1]}}", options, outcomes};
  std::vector<double> late;
  for (trial_no trial = 0; trial < 30; ++trial) {
    const auto x = number(gp.draw(trial), "x");
    gp.tell(trial, {x, {0.5}}, 3);
    gp.tell(trial, {x, {x - 0.6}});
    if (trial >= 20)
      late.push_back(x);
  }
  std::ranges::sort(late);
  EXPECT_NEAR(late[5], 0.6, 0.05);
}

TEST(GpConstraints, GoWithFailures) {
  // Fails below 0.3, breaks its limit above 0.7, and the more the better.
  int failed = 0, broken = 0;
  double most = 0;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    trial_outcomes outcomes{least_of(1)};
    told_gp gp{"{x: {uniform: [0, 1]}}", options_of(6, seed), outcomes};
    for (trial_no trial = 0; trial < 26; ++trial) {
      const auto x = number(gp.draw(trial), "x");
      if (x < 0.3)
        gp.on_failure(trial);
      else
        gp.tell(trial, {-x, {0.7 - x}});
      if (trial >= 6) {
        failed += x < 0.3;
        broken += x > 0.7;
      }
      if (x <= 0.7 && seed == 0)
        most = std::max(most, x);
    }
  }
  EXPECT_LT(failed, 10); // of 60
  EXPECT_LT(broken, 40);
  EXPECT_GT(most, 0.68);
}

TEST(GpConstraints, AFitDoesNotDependOnWhenItIsAskedFor) {
  trial_outcomes outcomes{least_of(1)};
  told_gp asked{square, options_of(5, 6), outcomes};
  told_gp other{square, options_of(5, 6), outcomes};
  for (trial_no trial = 0; trial < 25; ++trial) {
    const auto values = asked.draw(trial);
    if (trial < 24) {
      other.restore(trial, *asked.choice_of(trial));
      other.draw(trial);
    } else {
      EXPECT_EQ(values.shown, other.draw(trial).shown);
    }
    asked.tell(trial, sloping(values));
    other.tell(trial, sloping(values));
  }
}

} // namespace
} // namespace hippo
