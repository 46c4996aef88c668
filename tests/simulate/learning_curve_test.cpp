#include "hippo/forecast/simulate/learning_curve.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "simulate/profiles.hpp"

namespace hippo {
namespace {

using namespace test;

using sequences = std::map<std::string, sequence>;

class LearningCurveTest : public testing::Test {
public:
  simulation_profile profile = sample();

  /// Returns every state from 0 to `end`.
  std::vector<curve_state> states(const sequences& changed, step_t end) const {
    const learning_curve curve{profile.curve};
    const auto segments = segments_of(profile, changed, end);
    std::vector<curve_state> result(1);
    std::size_t i = 0;
    for (step_t at = 0; at < end; ++at) {
      if (i + 1 < segments.size() && segments[i + 1].begin == at)
        ++i;
      result.push_back(result.back());
      curve.train(result.back(), segments[i].config, at);
    }
    return result;
  }

  /// What a metric is after every step.
  std::vector<double> trained(const sequences& changed, step_t end = 120,
                              const std::string& metric = "accuracy") const {
    const learning_curve curve{profile.curve};
    std::vector<double> result;
    for (const auto& x : states(changed, end))
      result.push_back(curve.evaluate(x).at(metric));
    return result;
  }
};

TEST_F(LearningCurveTest, BeginsAtTheStartOfEveryMetric) {
  profile.curve.evaluation_noise = 0;
  const auto measured = learning_curve{profile.curve}.evaluate({});
  EXPECT_EQ(measured,
            (metrics{{"accuracy", 0.1}, {"loss", 2.3}, {"train_loss", 2.3}}));
}

TEST_F(LearningCurveTest, FollowsTheNoisyQuadraticModelIterationByIteration) {
  auto& c = profile.curve;
  c.early_sharpness = 1;
  c.regularisers.clear();
  c.samples_per_step = 128 * 10;
  const auto x = states({}, 3).back();
  const auto a = 0.1 / (1 - 0.9);
  for (std::size_t k = 0; k < curve_directions; ++k) {
    const auto h = 0.15 * std::pow(1e-4 / 0.15, static_cast<double>(k) / 15);
    double e = 1;
    for (int i = 0; i < 30; ++i)
      e = (1 - a * h) * (1 - a * h) * e + a * a * 25 * h / 128;
    EXPECT_NEAR(x.distance[k], e, 1e-12) << k;
  }
}

TEST_F(LearningCurveTest, LeavesTheNoiseThatTheHeaderSays) {
  const auto x = states({}, 3000).back();
  // Learning rate 1 after momentum, noise 25, batch size 128.
  EXPECT_NEAR(learning_curve::excess(x), 25.0 / (2 * 128), 0.002);
}

TEST_F(LearningCurveTest, DecayedLearningRatesEndBetter) {
  const auto kept = trained({{"lr", constant(0.1)}});
  const auto decayed = trained({{"lr", multistep(0.1, 0.1, {60, 90})}});
  EXPECT_EQ(kept[60], decayed[60]);
  EXPECT_GT(decayed[62], kept[62] + 0.01);
  EXPECT_GT(decayed[120], kept[120] + 0.03);
}

TEST_F(LearningCurveTest, HighLearningRatesAreFasterEarlyAndWorseLate) {
  const auto high = trained({{"lr", constant(0.1)}});
  const auto low = trained({{"lr", constant(0.03)}});
  EXPECT_GT(high[3], low[3] + 0.05);
  EXPECT_LT(high[120], low[120] - 0.01);
}

TEST_F(LearningCurveTest, DecayingTooEarlyIsWorse) {
  const auto early = trained({{"lr", multistep(0.1, 0.1, {8, 12})}});
  const auto late = trained({{"lr", multistep(0.1, 0.1, {60, 90})}});
  EXPECT_GT(early[10], late[10] + 0.01);
  EXPECT_LT(early[120], late[120] - 0.02);
}

TEST_F(LearningCurveTest, WarmUpAvoidsDivergence) {
  EXPECT_TRUE(std::isnan(trained({{"lr", constant(0.5)}})[1]));
  EXPECT_TRUE(std::isfinite(trained({{"lr", warm_up(0.5, 5)}})[120]));
  // Beyond what even the trained model bears: 2 / 0.15 * (1 - 0.9).
  EXPECT_TRUE(std::isnan(trained({{"lr", warm_up(1.4, 40)}})[120]));
}

TEST_F(LearningCurveTest, DivergesFromTwiceTheInverseCurvatureOn) {
  const auto diverges = [this](double lr) {
    return std::isnan(trained({{"lr", constant(lr)}}, 1)[1]);
  };
  // A tenth of 2 / 0.15 after momentum; the first state is 4 times sharper.
  EXPECT_FALSE(diverges(0.333));
  EXPECT_TRUE(diverges(0.334));
  profile.curve.early_sharpness = 1;
  EXPECT_FALSE(diverges(1.333));
  EXPECT_TRUE(diverges(1.334));
}

TEST_F(LearningCurveTest, StaysDivergedInEveryMetric) {
  const auto x = states({{"lr", multistep(2, 0.001, {1})}}, 10).back();
  for (const auto& [name, value] : learning_curve{profile.curve}.evaluate(x))
    EXPECT_TRUE(std::isnan(value)) << name;
}

TEST_F(LearningCurveTest, DivergesWhereAValueMakesNoSense) {
  for (const auto& [name, value] :
       {std::pair{"lr", -0.1}, {"momentum", 1.0}, {"batch_size", 0.0}})
    EXPECT_TRUE(std::isnan(trained({{name, constant(value)}}, 1)[1])) << name;
  EXPECT_EQ(trained({{"lr", constant(0)}}, 5, "train_loss")[0],
            trained({{"lr", constant(0)}}, 5, "train_loss")[5]);
}

TEST_F(LearningCurveTest, LargerBatchesAreLessNoisyAndSlower) {
  const auto small = states({{"batch_size", constant(64)}}, 120);
  const auto large = states({{"batch_size", constant(512)}}, 120);
  EXPECT_LT(learning_curve::excess(small[2]), learning_curve::excess(large[2]));
  EXPECT_GT(learning_curve::excess(small[120]),
            2 * learning_curve::excess(large[120]));
}

TEST_F(LearningCurveTest, GrowingTheBatchDoesWhatDecayingTheRateDoes) {
  const auto kept = trained({});
  const auto grown = trained({{"batch_size", multistep(128, 8, {60})}});
  EXPECT_GT(grown[120], kept[120] + 0.02);
}

TEST_F(LearningCurveTest, TooLittleRegularisationOverfitsLate) {
  const auto decay = multistep(0.1, 0.1, {60, 90});
  const auto none = trained({{"lr", decay}, {"weight_decay", constant(0)}});
  const auto good = trained({{"lr", decay}});
  const auto much = trained({{"lr", decay}, {"weight_decay", constant(0.02)}});
  EXPECT_GT(none[2], good[2] - 0.02);
  EXPECT_LT(none[120], good[120] - 0.03);
  EXPECT_LT(none[60], none[20]); // it gets worse while it trains on
  EXPECT_LT(much[5], good[5] - 0.05);
  EXPECT_LT(much[120], good[120]);
}

TEST_F(LearningCurveTest, TrainingLossDoesNotShowOverfitting) {
  profile.curve.evaluation_noise = 0;
  const auto free = trained({{"weight_decay", constant(0)}}, 120, "train_loss");
  const auto held =
    trained({{"weight_decay", constant(0.002)}}, 120, "train_loss");
  EXPECT_LT(free[30], held[30]);
}

TEST_F(LearningCurveTest, WordsChangeTheLearningRateThatIsRight) {
  const auto words = sequence{form::text("adamw")};
  const auto adamw =
    trained({{"optimizer", words}, {"lr", constant(0.002)}}, 20);
  const auto sgd = trained({{"lr", constant(0.1)}}, 20);
  EXPECT_NEAR(adamw[20], sgd[20], 1e-9);
}

TEST_F(LearningCurveTest, GoesOnFromAStateAsIfItHadNeverStopped) {
  const auto segments = segments_of(profile, {{"lr", warm_up(0.3, 7)}}, 7);
  const auto all = states({{"lr", warm_up(0.3, 7)}}, 7);
  const learning_curve other{profile.curve};
  auto x = all[3];
  for (step_t at = 3; at < 7; ++at)
    other.train(x, segments[0].config, at);
  EXPECT_EQ(x, all[7]);
  EXPECT_EQ(digest_of(x), digest_of(all[7]));
}

TEST_F(LearningCurveTest, MeasuresEqualHistoriesAlikeAndOthersNot) {
  const auto a = trained({{"lr", constant(0.1)}}, 20);
  EXPECT_EQ(a, trained({{"lr", multistep(0.1, 1, {5})}}, 20));
  const auto b = trained({{"lr", constant(0.1 + 1e-9)}}, 20);
  for (step_t at = 1; at <= 20; ++at) {
    EXPECT_NE(a[at], b[at]) << at;
    EXPECT_NEAR(a[at], b[at], 0.03) << at;
  }
  const auto x = states({}, 5).back();
  EXPECT_EQ(learning_curve(profile.curve, 1).evaluate(x),
            learning_curve(profile.curve, 1).evaluate(x));
  EXPECT_NE(learning_curve(profile.curve, 1).evaluate(x),
            learning_curve(profile.curve, 2).evaluate(x));
}

TEST_F(LearningCurveTest, EveryStateHasItsOwnNoise) {
  const auto noisy = trained({}, 20);
  profile.curve.evaluation_noise = 0;
  const auto exact = trained({}, 20);
  std::set<long> seen;
  for (step_t at = 1; at <= 20; ++at)
    seen.insert(std::lround((noisy[at] - exact[at]) * 1e9));
  EXPECT_EQ(seen.size(), 20u);
  curve_state other;
  other.gap = 0.1;
  EXPECT_NE(digest_of(other), digest_of({}));
  other.gap = 0;
  other.distance.back() = 0.5;
  EXPECT_NE(digest_of(other), digest_of({}));
}

TEST_F(LearningCurveTest, OverfittingTakesWhatHasBeenFitted) {
  const auto x = states({{"weight_decay", constant(0)}}, 1).back();
  EXPECT_NEAR(x.gap,
              0.15 * (1 - learning_curve::excess(x)) * (1 - std::exp(-1. / 40)),
              1e-15);
}

TEST_F(LearningCurveTest, NoiseOfMeasurementsHasTheDeviationAsked) {
  const auto x = states({}, 5).back();
  double sum = 0;
  double squares = 0;
  for (std::uint64_t salt = 0; salt < 2000; ++salt) {
    const auto value =
      learning_curve(profile.curve, salt).evaluate(x).at("accuracy");
    sum += value;
    squares += value * value;
  }
  const auto mean = sum / 2000;
  const auto deviation = std::sqrt(squares / 2000 - mean * mean);
  EXPECT_NEAR(deviation, 0.003 * 0.85, 0.0002);
}

TEST_F(LearningCurveTest, NeverFallsBelowTheStartByNoise) {
  profile.curve.gradient_noise = 1000;
  for (const auto value : trained({{"batch_size", constant(1)}}, 10))
    EXPECT_GE(value, 0.1 - 1e-12);
}

/// Spearman's rank correlation of values without ties.
double rank_correlation(const std::vector<double>& x,
                        const std::vector<double>& y) {
  const auto ranks = [](const std::vector<double>& values) {
    std::vector<double> result;
    for (const auto value : values)
      result.push_back(static_cast<double>(
        std::ranges::count_if(values, [&](double v) { return v < value; })));
    return result;
  };
  const auto a = ranks(x);
  const auto b = ranks(y);
  const auto n = static_cast<double>(x.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  return 1 - 6 * sum / (n * (n * n - 1));
}

class LearningCurveRanking : public LearningCurveTest,
                             public testing::WithParamInterface<unsigned> {};

TEST_P(LearningCurveRanking, TellsSomethingEarlyButNotAll) {
  std::mt19937 rng{GetParam()};
  const auto share = [&rng] {
    return static_cast<double>(rng() >> 8) * 0x1p-24;
  };
  std::vector<double> early;
  std::vector<double> last;
  while (last.size() < 150) {
    const auto lr = 0.01 * std::pow(30, share());
    const step_t first = 20 + rng() % 60;
    const auto values = trained(
      {{"lr", multistep(lr, rng() % 4 == 0 ? 1 : 0.1, {first, first + 20})},
       {"weight_decay", constant(1e-5 * std::pow(300, share()))},
       {"batch_size", constant(64 << (rng() % 3))},
       {"momentum", constant(rng() % 2 == 0 ? 0.9 : 0.8)}});
    if (std::isnan(values[120]))
      continue;
    early.push_back(values[15]);
    last.push_back(values[120]);
  }
  const auto r = rank_correlation(early, last);
  EXPECT_GT(r, 0.3);
  EXPECT_LT(r, 0.95);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LearningCurveRanking, testing::Range(1u, 9u));

// -- curves that are drawn ----------------------------------------------------

/// Trains `steps` steps at a learning rate. @returns the accuracy
double drawn(std::uint64_t salt, double lr, step_t steps,
             const std::string& optimizer = "sgd") {
  curve_settings settings;
  settings.is_drawn = true;
  settings.batch_size = {"", 1};
  settings.metrics = {{"accuracy", 0, 1}, {"loss", 1, 0}};
  const learning_curve curve{settings, salt};
  curve_state x;
  const configuration config{{"lr", form::constant(lr)},
                             {"optimizer", form::text(optimizer)}};
  for (step_t at = 0; at < steps; ++at)
    curve.train(x, config, at);
  const auto values = curve.evaluate(x);
  EXPECT_DOUBLE_EQ(values.at("loss"), 1 - values.at("accuracy"));
  return values.at("accuracy");
}

TEST(DrawnCurve, FollowsFromTheValuesAndTheSalt) {
  EXPECT_EQ(drawn(1, 0.1, 10), drawn(1, 0.1, 10));
  EXPECT_NE(drawn(1, 0.1, 10), drawn(2, 0.1, 10));
  EXPECT_NE(drawn(1, 0.1, 10), drawn(1, 0.2, 10));
  EXPECT_NE(drawn(1, 0.1, 10), drawn(1, 0.1, 10, "adamw"));
}

TEST(DrawnCurve, RisesWithTheStepsAndNeverBeyondTheBest) {
  for (std::uint64_t salt = 0; salt < 20; ++salt) {
    EXPECT_EQ(drawn(salt, 0.1, 0), 0);
    double before = 0;
    for (const step_t steps : {1, 4, 16, 64, 256}) {
      const auto now = drawn(salt, 0.1, steps);
      EXPECT_GT(now, before);
      EXPECT_LT(now, 1);
      before = now;
    }
  }
}

} // namespace
} // namespace hippo
