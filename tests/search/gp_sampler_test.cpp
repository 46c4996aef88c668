#include "hippo/search/sampler/gp_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/search/sampler/tpe_sampler.hpp"
#include "search/rate_spaces.hpp"
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

gp_options minimizing(std::uint64_t startup) {
  gp_options result;
  result.startup = startup;
  result.better = direction::minimize;
  result.marks = {9};
  result.first = 9;
  result.trials = 100;
  return result;
}

gp_sampler make(const std::string& space, const gp_options& options,
                const untrained_work* work = nullptr) {
  return {study(space, "random", "budget: {trials: 100}").space, {}, options,
          work};
}

/// Counts only where a function says so.
class some_work : public untrained_work {
public:
  explicit some_work(std::function<step_t(const trial_parameters&)> steps)
    : steps_(std::move(steps)) {}
  [[nodiscard]] step_t of(trial_no, step_t to) const override { return to; }
  [[nodiscard]] step_t of(const trial_parameters& x, step_t) const override {
    return steps_(x);
  }

private:
  std::function<step_t(const trial_parameters&)> steps_;
};

TEST(GpSampler, FindsBetterValuesThanRandomSearch) {
  double learned = 0, drawn = 0; // logarithms, over seeds
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    auto options = minimizing(8);
    options.seed = seed;
    auto gp = make(plane, options);
    auto y = study(plane, "random", "budget: {trials: 30}");
    y.seed = seed;
    const auto random = sampler_of(y);
    double a = INFINITY, b = INFINITY;
    for (trial_no trial = 0; trial < 30; ++trial) {
      const auto value = bowl(gp.draw(trial));
      gp.on_result(trial, 9, value);
      a = std::min(a, value);
      b = std::min(b, bowl(random->draw(trial)));
    }
    learned += std::log(a) / 5;
    drawn += std::log(b) / 5;
  }
  EXPECT_LT(learned, drawn - 3); // less by a factor of 20 at least
}

/// The mean x of so many trials after 12 that measured `value`.
double mean_of_next(gp_sampler& gp, trial_no count,
                    const std::function<double(double)>& value) {
  trial_no trial = 0;
  for (; trial < 12; ++trial)
    gp.on_result(trial, 9, value(number(gp.draw(trial), "x")));
  double sum = 0;
  for (; trial < 12 + count; ++trial)
    sum += number(gp.draw(trial), "x") / static_cast<double>(count);
  return sum;
}

TEST(GpSampler, KnowsTheDirection) {
  auto options = minimizing(5);
  auto least = make(endless, options);
  options.better = direction::maximize;
  auto most = make(endless, options);
  const auto same = [](double x) { return x; };
  EXPECT_LT(mean_of_next(least, 3, same), 0.3);
  EXPECT_GT(mean_of_next(most, 3, same), 0.7);
}

// Of each five trials, none has a value of the same fifth of a range as
// another, and none the same of five options.
TEST(GpSampler, SpreadsItsFirstTrials) {
  const auto fifths = [](std::uint64_t seed, trial_no first) {
    auto options = minimizing(100);
    options.seed = seed;
    auto gp = make("{x: {uniform: [0, 1]}, y: {log_uniform: [0.01, 1]},"
                   " z: {choice: [0, 1, 2, 3, 4]}}",
                   options);
    std::map<std::string, std::vector<int>> result;
    for (trial_no trial = 0; trial < first + 5; ++trial) {
      const auto values = gp.draw(trial).shown;
      if (trial < first)
        continue;
      result["x"].push_back(static_cast<int>(values["x"].get<double>() * 5));
      result["y"].push_back(static_cast<int>(
        (std::log10(values["y"].get<double>()) + 2) / 2 * 5));
      result["z"].push_back(values["z"].get<int>());
    }
    return result;
  };
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const trial_no first : {0, 5, 35})
      for (auto [name, found] : fifths(seed, first)) {
        orders.insert(found);
        std::ranges::sort(found);
        EXPECT_EQ(found, (std::vector{0, 1, 2, 3, 4})) << name << seed;
      }
  EXPECT_GT(orders.size(), 60u); // of the 120 that there are
}

TEST(GpSampler, BeginsWithoutAModel) {
  for (const auto* space : {twelve, endless}) {
    const auto random =
      sampler_of(study(space, "random", "budget: {trials: 12}"));
    auto gp = make(space, minimizing(5));
    for (trial_no trial = 0; trial < 5; ++trial) {
      const auto drawn = gp.draw(trial).shown;
      if (space == twelve) {
        EXPECT_EQ(drawn, random->draw(trial).shown);
      }
      EXPECT_EQ(gp.choice_of(trial)->why.how, "startup");
      gp.on_result(trial, 9, 1);
      gp.on_result(trial, 9, 1); // told twice, counted once
    }
    gp.draw(5);
    EXPECT_EQ(gp.choice_of(5)->why.how, "model");
  }
}

TEST(GpSampler, NeverRepeatsACombinationUntilAllWereTried) {
  auto gp = make(twelve, minimizing(2));
  std::set<std::string> seen;
  for (trial_no trial = 0; trial < 12; ++trial) {
    const auto x = gp.draw(trial);
    EXPECT_TRUE(seen.insert(x.shown.dump()).second) << trial;
    gp.on_result(trial, 9, number(x, "x"));
  }
  EXPECT_TRUE(seen.contains(gp.draw(12).shown.dump()));
}

/// Tells that a trial has failed, in one of three ways.
void fail(gp_sampler& gp, trial_no trial, int how) {
  if (how == 0)
    gp.on_failure(trial);
  else
    gp.on_result(trial, 9, how == 1 ? NAN : INFINITY);
}

TEST(GpSampler, WhatFailsIsLeftAloneThoughItPromisesMost) {
  for (const int how : {0, 1, 2}) {
    int failed = 0;
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      auto options = minimizing(8);
      options.seed = seed;
      auto gp = make(endless, options);
      for (trial_no trial = 0; trial < 24; ++trial) {
        const auto x = number(gp.draw(trial), "x");
        if (x > 0.5)
          gp.on_result(trial, 9, x);
        else
          fail(gp, trial, how);
        failed += trial >= 8 && x <= 0.5;
      }
    }
    EXPECT_LT(failed, 12) << how; // of 48
  }
}

// Half of the space fails, the same each time: labels without noise would make
// the process sure of what it has not seen.
TEST(GpSampler, OfHalfASpaceThatFailsLittleIsTried) {
  int failed = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    auto options = minimizing(5);
    options.seed = seed;
    auto gp = make("{x: {uniform: [0, 1]}, y: {uniform: [0, 1]},"
                   " z: {uniform: [0, 1]}}",
                   options);
    for (trial_no trial = 0; trial < 50; ++trial) {
      const auto values = gp.draw(trial);
      const auto x = number(values, "x"), y = number(values, "y"),
                 z = number(values, "z");
      if (x + y + z > 1.5) {
        gp.on_failure(trial);
        ++failed;
      } else {
        gp.on_result(trial, 9,
                     std::pow(x - 0.7, 2) + std::pow(y - 0.3, 2)
                       + std::pow(z - 0.4, 2));
      }
    }
  }
  EXPECT_LT(failed, 50); // a third of 300 / 2
}

TEST(GpSampler, FailuresAreNoValues) {
  for (const int how : {0, 1, 2}) {
    auto gp = make(endless, minimizing(8));
    int checked = 0;
    for (trial_no trial = 0; trial < 24; ++trial) {
      const auto x = number(gp.draw(trial), "x");
      if (trial >= 12 && x < 0.8) { // near what was measured
        ++checked;
        EXPECT_NEAR(gp.choice_of(trial)->why.predicted.value(), 100 + 50 * x, 3)
          << how << ' ' << trial;
      }
      if (x > 0.5)
        gp.on_result(trial, 9, 100 + 50 * x);
      else
        fail(gp, trial, how);
    }
    EXPECT_GE(checked, 8);
  }
}

TEST(GpSampler, LearnsOnceATrialHasSucceeded) {
  auto gp = make(endless, minimizing(3)), random = make(endless, minimizing(9));
  for (trial_no trial = 0; trial < 8; ++trial) {
    EXPECT_EQ(gp.draw(trial).shown, random.draw(trial).shown);
    EXPECT_EQ(gp.choice_of(trial)->why.how, "startup");
    if (trial < 7)
      gp.on_failure(trial);
    else
      gp.on_result(trial, 9, 1);
  }
  gp.draw(8);
  EXPECT_EQ(gp.choice_of(8)->why.how, "model");
}

TEST(GpSampler, AFailureCountsHoweverLateItComes) {
  // The less x is, the better it begins; below 0.5 it fails later on.
  auto options = minimizing(8);
  options.marks = {3, 9, 27};
  int failed = 0;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    options.seed = seed;
    auto gp = make(endless, options);
    for (trial_no trial = 0; trial < 24; ++trial) {
      const auto x = number(gp.draw(trial), "x");
      gp.on_result(trial, 3, x);
      if (x > 0.5)
        gp.on_result(trial, 27, x);
      else
        gp.on_failure(trial);
      failed += trial >= 8 && x <= 0.5;
    }
  }
  EXPECT_LT(failed, 12); // of 48
  // What has failed is nothing to be improved on.
  auto gp = make(endless, options);
  for (trial_no trial = 0; trial < 9; ++trial) {
    gp.draw(trial);
    gp.on_result(trial, 3, 1);
    gp.on_failure(trial);
  }
  EXPECT_EQ(gp.choice_of(8)->why.how, "startup");
}

TEST(GpSampler, FailuresAtRandomDoNotHide) {
  double learned = 0; // logarithm, over seeds
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    auto options = minimizing(8);
    options.seed = seed;
    auto gp = make(plane, options);
    double least = INFINITY;
    for (trial_no trial = 0; trial < 40; ++trial) {
      const auto value = bowl(gp.draw(trial));
      if (trial % 3 == 2) {
        gp.on_failure(trial);
        continue;
      }
      gp.on_result(trial, 9, value);
      least = std::min(least, value);
    }
    learned += std::log(least) / 5;
  }
  EXPECT_LT(learned, -5);
}

TEST(GpSampler, WhatIsTriedAgainHasNotFailed) {
  auto x = make(endless, minimizing(8)), y = make(endless, minimizing(8));
  std::vector<double> values;
  for (trial_no trial = 0; trial < 9; ++trial) {
    values.push_back(std::sin(20 * number(x.draw(trial), "x")));
    y.draw(trial);
  }
  for (trial_no trial = 0; trial < 9; ++trial) {
    if (trial == 3)
      x.on_failure(trial);
    if (trial == 5) {
      x.on_retry(3);
      x.on_retry(3); // it has not failed since
    }
    if (trial != 3) {
      x.on_result(trial, 9, values[trial]);
      y.on_result(trial, 9, values[trial]);
    }
  }
  EXPECT_EQ(x.draw(9).shown, y.draw(9).shown);
  EXPECT_EQ(x.choice_of(9)->why.how, "model");
}

TEST(GpSampler, SaysWhatItExpects) {
  for (const auto better : {direction::minimize, direction::maximize}) {
    auto options = minimizing(8);
    options.better = better;
    auto gp = make(endless, options);
    for (trial_no trial = 0; trial < 20; ++trial)
      gp.on_result(trial, 9, 100 + 50 * number(gp.draw(trial), "x"));
    const auto x = number(gp.draw(20), "x");
    ASSERT_TRUE(gp.choice_of(20)->why.predicted);
    EXPECT_NEAR(*gp.choice_of(20)->why.predicted, 100 + 50 * x, 3);
    EXPECT_FALSE(gp.choice_of(20)->why.untrained); // nobody has looked
  }
}

TEST(GpSampler, WhatIsCheapIsTakenForAPrice) {
  // x says nothing of the value; y does, and much is left to be found; x = 3
  // is trained already.
  const some_work work{
    [](const trial_parameters& x) { return number(x, "x") == 3 ? 0u : 1000u; }};
  const auto count = [&](step_price price) {
    int result = 0;
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
      auto options = minimizing(6);
      options.seed = seed;
      options.price = price;
      auto gp = make("{x: {choice: [1, 2, 3, 4]}, y: {uniform: [0, 1]}}",
                     options, &work);
      for (trial_no trial = 0; trial < 12; ++trial) {
        const auto x = gp.draw(trial);
        gp.on_result(trial, 9, std::sin(40 * number(x, "y")));
        const auto why = gp.choice_of(trial)->why;
        EXPECT_EQ(*why.untrained, number(x, "x") == 3 ? 0 : 1000);
        result += trial >= 8 && number(x, "x") == 3;
      }
    }
    return result; // of 8
  };
  EXPECT_GE(count(step_price::full), 7);
  EXPECT_GE(count(step_price::falling), 7); // 12 of 100 trials: about as much
  EXPECT_LE(count(step_price::none), 5);
}

TEST(GpSampler, AFallingPriceIsNothingInTheEnd) {
  const some_work work{
    [](const trial_parameters& x) { return number(x, "x") < 0.5 ? 0u : 99u; }};
  auto options = minimizing(4);
  options.price = step_price::falling;
  options.trials = 8;
  auto with = make(endless, options, &work);
  options.price = step_price::none;
  auto without = make(endless, options, &work);
  for (trial_no trial = 0; trial < 8; ++trial) {
    // What the priced one takes is told to both.
    const auto x = with.draw(trial);
    without.restore(trial, *with.choice_of(trial));
    EXPECT_EQ(without.draw(trial).shown, x.shown);
    for (auto* gp : {&with, &without})
      gp->on_result(trial, 9, 1 - number(x, "x"));
  }
  EXPECT_EQ(number(with.draw(8), "x"), number(without.draw(8), "x"));
}

TEST(GpSampler, OfEqualCandidatesTheLeastWorkIsTaken) {
  // Nothing of z comes before the last step that is looked at, so that all of
  // its values are one point.
  constexpr auto space = "{x: {choice: [1, 2]}, z: {piecewise: [[0, 1],"
                         " [{choice: [20, 30, 40, 50]}, 2]]}}";
  const auto is_cheap = [](const trial_parameters& x) {
    return std::get<double>(x.sequences.at("z").at(29)) == 1
           && std::get<double>(x.sequences.at("z").at(30)) == 2;
  };
  const some_work work{
    [&](const trial_parameters& x) { return is_cheap(x) ? 0u : 9u; }};
  int with = 0, without = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    for (const auto* heeded : {&work, static_cast<const some_work*>(nullptr)}) {
      auto options = minimizing(2);
      options.seed = seed;
      auto gp = make(space, options, heeded);
      bool was_tried = false;
      for (trial_no trial = 0; trial < 2; ++trial) {
        const auto x = gp.draw(trial);
        was_tried = was_tried || is_cheap(x);
        gp.on_result(trial, 9, number(x, "x"));
      }
      if (!was_tried)
        (heeded != nullptr ? with : without) += is_cheap(gp.draw(2));
    }
  EXPECT_GT(with, 2 * without);
}

TEST(GpSampler, AResultIsThatOfTheMarkBeforeIt) {
  auto options = minimizing(3);
  options.marks = {3, 9, 27};
  options.first = 3;
  auto gp = make(endless, options);
  gp.draw(0);
  gp.on_result(0, 2, 5); // before the first
  gp.on_result(0, 4, 5);
  gp.draw(1);
  gp.on_result(1, 27, 4); // passes all of them
  gp.on_result(1, 28, 4);
  gp.draw(2);
  EXPECT_EQ(gp.choice_of(2)->why.how, "startup");
  gp.on_result(2, 3, 3);
  gp.draw(3);
  EXPECT_EQ(gp.choice_of(3)->why.how, "model");
}

/// Draws trials of twenty values, of which those above 12 go on to the last
/// mark, where they gain `gain`.
struct promoted_trials {
  std::vector<double> values;
  double error = 0; ///< of what is predicted of those that do not go on
};

promoted_trials promote(double gain, std::uint64_t seed) {
  auto options = minimizing(8);
  options.seed = seed;
  options.better = direction::maximize;
  options.marks = {3, 9};
  options.first = 3;
  std::string choices = "0";
  for (int i = 1; i < 20; ++i)
    choices += ", " + std::to_string(i);
  auto gp = make("{x: {choice: [" + choices + "]}}", options);
  promoted_trials result;
  int count = 0;
  for (trial_no trial = 0; trial < 20; ++trial) {
    const auto value = number(gp.draw(trial), "x");
    result.values.push_back(value);
    const auto predicted = gp.choice_of(trial)->why.predicted;
    if (predicted && value <= 12) {
      result.error += std::abs(*predicted - value - gain);
      ++count;
    }
    gp.on_result(trial, 3, value);
    if (value > 12)
      gp.on_result(trial, 9, value + gain);
  }
  result.error /= count;
  return result;
}

// Among those that go on, because they are good, they are like any. That makes
// none of the others good.
TEST(GpSampler, WhatDoesNotGoOnIsKnownToBeWorse) {
  double error = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    error += promote(8, seed).error / 4;
  EXPECT_LT(error, 0.5);
}

TEST(GpSampler, AGainThatAllHaveTellsNothing) {
  EXPECT_EQ(promote(64, 0).values, promote(0, 0).values);
}

TEST(GpSampler, DoesNotLearnFromTrialsOfOthers) {
  auto gp = make(endless, minimizing(1));
  gp.on_result(7, 9, 1); // not drawn here
  gp.on_failure(8);
  gp.on_retry(8);
  gp.draw(0);
  EXPECT_EQ(gp.choice_of(0)->why.how, "startup");
}

// -- choices that are stored --------------------------------------------------

/// Results, failures and further tries, so that everything comes.
template <class Sampler>
void tell(Sampler& x, trial_no trial, const trial_parameters& values) {
  if (trial % 5 == 3)
    x.on_failure(trial);
  else
    x.on_result(trial, 9, bowl(values));
  if (trial % 10 == 6)
    x.on_retry(trial - 3);
}

TEST(StoredChoices, ARestartGoesOnAsIfThereHadBeenNone) {
  for (const bool is_gp : {true, false})
    for (const trial_no stored : {0, 3, 11, 20}) {
      const auto make_one = [&]() -> std::unique_ptr<learning_sampler> {
        const auto space = study(plane, "random", "budget: {trials: 9}").space;
        const std::vector<step_t> marks{9};
        if (is_gp)
          return std::make_unique<gp_sampler>(
            space, std::map<std::string, sequence>{}, minimizing(4), nullptr);
        return std::make_unique<tpe_sampler>(
          space, 0, 4, 24, direction::minimize, 9, marks, nullptr);
      };
      const auto first = make_one(), again = make_one();
      for (trial_no trial = 0; trial < 24; ++trial)
        tell(*first, trial, first->draw(trial));
      for (trial_no trial = 0; trial < stored; ++trial)
        again->restore(trial, *first->choice_of(trial));
      for (trial_no trial = 0; trial < 24; ++trial) {
        const auto values = again->draw(trial);
        ASSERT_EQ(values.shown, first->recall(trial)->shown)
          << is_gp << ' ' << stored << ' ' << trial;
        EXPECT_EQ(again->choice_of(trial), first->choice_of(trial));
        tell(*again, trial, values);
      }
    }
}

TEST(StoredChoices, AnotherStartupChangesNoneOfThem) {
  auto first = make(plane, minimizing(10)), again = make(plane, minimizing(5));
  for (trial_no trial = 0; trial < 16; ++trial)
    tell(first, trial, first.draw(trial));
  for (trial_no trial = 0; trial < 16; ++trial)
    again.restore(trial, *first.choice_of(trial));
  for (trial_no trial = 0; trial < 16; ++trial) {
    const auto values = again.draw(trial);
    EXPECT_EQ(values.shown, first.recall(trial)->shown);
    EXPECT_EQ(again.choice_of(trial), first.choice_of(trial));
    tell(again, trial, values);
  }
}

TEST(StoredChoices, OneThatIsStoredWinsOverComputation) {
  auto gp = make(endless, minimizing(2));
  tpe_sampler tpe{study(endless, "random", "budget: {trials: 9}").space,
                  0,
                  2,
                  24,
                  direction::minimize,
                  9,
                  {9},
                  nullptr};
  for (learning_sampler* x : {static_cast<learning_sampler*>(&gp),
                              static_cast<learning_sampler*>(&tpe)}) {
    const trial_choice middle{{"model", 0.25, 7},
                              {space_leaf::high_end / 2}};
    x->restore(1, middle);
    x->draw(0);
    EXPECT_EQ(number(x->draw(1), "x"), 0.5);
    EXPECT_EQ(*x->choice_of(1), middle);
    EXPECT_EQ(number(*x->recall(1), "x"), 0.5);
  }
}

TEST(StoredChoices, OneThatIsNoneOfTheSpaceIsPassedOver) {
  auto plain = make(twelve, minimizing(2));
  const auto expected = plain.draw(0).shown;
  const std::vector<std::vector<std::uint64_t>> none{
    {}, {1}, {1, 1, 1}, {4, 1}, {1, UINT64_MAX}};
  for (const auto& wrong : none) {
    auto x = make(twelve, minimizing(2));
    x.restore(0, {{"model", {}, {}}, wrong});
    EXPECT_EQ(x.draw(0).shown, expected);
    EXPECT_EQ(x.choice_of(0)->why.how, "startup");
  }
}

// -- schedules ----------------------------------------------------------------

gp_options learning_rates(std::uint64_t seed, bool has_mean) {
  auto result = minimizing(6);
  result.seed = seed;
  result.marks = {240};
  result.first = 240;
  result.has_schedule_mean = has_mean;
  return result;
}

/// Draws trials and tells their losses along the way, until one is the best of
/// all decays.
/// @return the number of trials
trial_no trials_to_best(std::uint64_t seed, bool has_mean) {
  const auto space = rate_study(decays).space;
  const auto loss = [](const trial_parameters& x, step_t at) {
    return loss_of(some_law(), x.sequences.at("lr"), at);
  };
  double best = INFINITY;
  for (std::uint64_t i = 0; i < 200; ++i)
    best = std::min(best, loss(space.at(i), 240));
  gp_sampler gp{space, {}, learning_rates(seed, has_mean), nullptr};
  for (trial_no trial = 0; trial < 200; ++trial) {
    const auto values = gp.draw(trial);
    for (step_t at = 20; at <= 240; at += 20)
      gp.on_result(trial, at, loss(values, at));
    const auto predicted = gp.choice_of(trial)->why.predicted;
    if (has_mean && predicted) {
      EXPECT_NEAR(*predicted, loss(values, 240), 0.01);
    }
    if (loss(values, 240) == best)
      return trial + 1;
  }
  return 200;
}

TEST(GpSampler, KnowsDecaysBeforeTheyAreTrained) {
  trial_no with = 0, without = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    with += trials_to_best(seed, true);
    without += trials_to_best(seed, false);
  }
  EXPECT_LT(with, without * 3 / 4);
}

TEST(GpSampler, LossesOfRemovedTrialsTeachNoLaw) {
  const auto space = rate_study(decays).space;
  const auto drawn = [&](double factor) {
    auto options = learning_rates(3, true);
    options.startup = 12;
    gp_sampler gp{space, {}, options, nullptr};
    std::vector<std::string> result;
    for (trial_no trial = 0; trial < 24; ++trial) {
      const auto values = gp.draw(trial);
      result.push_back(values.shown.dump());
      const bool is_removed = trial < 4;
      for (step_t at = 20; at <= 240; at += 20)
        gp.on_result(trial, at,
                     loss_of(some_law(), values.sequences.at("lr"), at)
                       * (is_removed ? factor : 1));
      if (is_removed)
        gp.on_removal(trial);
    }
    return result;
  };
  EXPECT_EQ(drawn(1), drawn(1.03));
}

TEST(GpSampler, NoLawWithoutAScheduleOrOfWhatIsMaximised) {
  const auto drawn = [](const std::string& space, direction better,
                        bool has_mean) {
    auto options = learning_rates(1, has_mean);
    options.better = better;
    gp_sampler gp{rate_study(space).space, {}, options, nullptr};
    std::vector<std::string> result;
    for (trial_no trial = 0; trial < 20; ++trial) {
      const auto values = gp.draw(trial);
      result.push_back(values.shown.dump());
      const auto rate = std::get<double>(values.sequences.at("lr").at(239));
      gp.on_result(trial, 240, 1 + std::abs(rate - 0.01));
    }
    return result;
  };
  constexpr auto constant = "{lr: {log_uniform: [0.0001, 1]}}";
  for (const auto& [space, better] : {std::pair{constant, direction::minimize},
                                      std::pair{decays, direction::maximize}})
    EXPECT_EQ(drawn(space, better, true), drawn(space, better, false));
}

// The law is a function of the first findings, as the kernel is: a sampler that
// was asked for every trial and one that was asked for the last alone agree.
TEST(GpSampler, ALawDoesNotDependOnWhenItIsAskedFor) {
  const auto space = rate_study(decays).space;
  gp_sampler asked{space, {}, learning_rates(2, true), nullptr};
  gp_sampler other{space, {}, learning_rates(2, true), nullptr};
  for (trial_no trial = 0; trial < 20; ++trial) {
    const auto values = asked.draw(trial);
    if (trial < 19) {
      other.restore(trial, *asked.choice_of(trial));
      other.draw(trial);
    } else {
      EXPECT_EQ(values.shown, other.draw(trial).shown);
    }
    for (step_t at = 20; at <= 240; at += 20)
      for (auto* gp : {&asked, &other})
        gp->on_result(trial, at,
                      loss_of(some_law(), values.sequences.at("lr"), at));
  }
}

} // namespace
} // namespace hippo
