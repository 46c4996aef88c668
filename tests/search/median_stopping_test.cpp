#include "hippo/search/algorithm/median_stopping.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "search/trainers.hpp"

namespace hippo {
namespace {

using actions = std::vector<action>;

TEST(MedianStopping, PrunesWhoIsWorseThanTheMedianOfTheMeans) {
  median_stopping x{5, 10, 2, 3, direction::maximize, 0};
  EXPECT_EQ(start(x).size(), 5u);
  EXPECT_EQ(x.rungs(), std::vector<step_t>{10});
  for (trial_no trial : {0, 1, 2}) { // means 1, 2 and 3
    EXPECT_EQ(x.on_result(trial, 1, static_cast<double>(trial)), actions{});
    EXPECT_EQ(x.on_result(trial, 2, static_cast<double>(trial) + 2), actions{});
  }
  EXPECT_EQ(x.on_result(3, 1, 0), actions{}); // before the grace period ends
  EXPECT_EQ(x.on_result(3, 2, 1.9), (actions{prune{3}}));
  // Of four means, 0.95, 1, 2 and 3, the median is 1.5.
  EXPECT_EQ(x.on_result(4, 2, 1.5), actions{}); // not worse
  EXPECT_EQ(x.on_result(4, 3, -9), actions{});  // nobody else is there
  for (trial_no trial : {0, 1, 2})
    EXPECT_EQ(x.on_result(trial, 10, 0), actions{});
  EXPECT_FALSE(x.done());
  // Others are past step 4 now; their means up to there are 1, 2 and 3.
  EXPECT_EQ(x.on_result(4, 4, 1.4), (actions{prune{4}}));
  EXPECT_TRUE(x.done());
}

TEST(MedianStopping, TheBestSoFarCounts) {
  median_stopping x{4, 10, 1, 3, direction::minimize, 0};
  start(x);
  for (trial_no trial : {0, 1, 2})
    for (step_t at : {1, 2})
      x.on_result(trial, at, 5);
  EXPECT_EQ(x.on_result(3, 1, 4), actions{});
  EXPECT_EQ(x.on_result(3, 2, 9), actions{}); // it was at 4 once
}

TEST(MedianStopping, ATrialWithoutANumberIsTheWorst) {
  median_stopping x{5, 10, 1, 3, direction::maximize, 0};
  start(x);
  EXPECT_EQ(x.on_result(4, 1, NAN), actions{}); // there is no median yet
  for (trial_no trial : {0, 1, 2})
    x.on_result(trial, 1, -1e300);
  EXPECT_EQ(x.on_result(3, 1, NAN), (actions{prune{3}}));
}

TEST(MedianStopping, KeepsSoManyInFlight) {
  median_stopping x{6, 4, 1, 1, direction::maximize, 2};
  EXPECT_EQ(start(x), (actions{advance{0, 4}, advance{1, 4}}));
  EXPECT_EQ(x.on_failure(2), actions{}); // before its turn
  x.on_result(0, 1, 5);
  EXPECT_EQ(x.on_result(1, 1, 1), (actions{prune{1}, advance{3, 4}}));
  EXPECT_EQ(x.on_result(1, 2, 9), actions{}); // came after it was pruned
  EXPECT_EQ(x.on_failure(3), (actions{advance{4, 4}}));
  EXPECT_EQ(x.on_result(0, 4, 1), (actions{advance{5, 4}}));
  x.on_failure(4);
  EXPECT_EQ(x.on_failure(5), actions{});
  EXPECT_TRUE(x.done());
}

/// The rule as it is written, from all results each time.
class plain_rule {
public:
  plain_rule(step_t grace, std::size_t min_others, bool maximize)
    : grace_(grace), min_others_(min_others), sign_(maximize ? -1 : 1) {}

  /// Returns whether the trial is pruned.
  bool add(trial_no trial, step_t at, double value, step_t max) {
    results_[trial].push_back({at, sign_ * value});
    if (at < grace_ || at >= max)
      return false;
    std::vector<double> means;
    for (const auto& [other, xs] : results_) {
      if (other == trial || xs.back().first < at)
        continue;
      double sum = 0;
      int count = 0;
      for (const auto& [step, loss] : xs)
        if (step <= at) {
          sum += loss;
          ++count;
        }
      if (count > 0 && std::isfinite(sum / count))
        means.push_back(sum / count);
    }
    if (means.size() < min_others_)
      return false;
    std::sort(means.begin(), means.end());
    const auto n = means.size();
    const auto median = n % 2 == 1 ? means[n / 2]
                                   : (means[n / 2 - 1] + means[n / 2]) / 2;
    double best = INFINITY;
    for (const auto& [step, loss] : results_[trial])
      if (loss < best)
        best = loss;
    return best > median;
  }

private:
  step_t grace_;
  std::size_t min_others_;
  double sign_;
  std::map<trial_no, std::vector<std::pair<step_t, double>>> results_;
};

class MedianModel : public testing::TestWithParam<std::uint64_t> {};

TEST_P(MedianModel, PrunesAsThePlainRuleDoes) {
  std::mt19937_64 random{GetParam()};
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t trials = 1 + random() % 40, others = 1 + random() % 5;
    const step_t max = 2 + random() % 15, grace = 1 + random() % max;
    const bool maximize = random() % 2 == 0;
    const bool same_steps = random() % 3 != 0;
    const random_results results{random(), random() % 2 == 0 ? 4u : 100000u,
                                 random() % 2 * 10, 0};
    median_stopping x{trials, max, grace, others,
                      maximize ? direction::maximize : direction::minimize, 0};
    plain_rule model{grace, others, maximize};
    std::map<trial_no, step_t> live; // where it is
    for (const auto& y : start(x))
      live[std::get<advance>(y).trial] = 0;
    std::size_t pruned = 0;
    while (!live.empty()) {
      auto at = live.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(random() % live.size()));
      const auto trial = at->first;
      const auto step = std::min<step_t>(
        max, at->second + 1 + (same_steps ? 0 : random() % 3));
      at->second = step;
      if (random() % 100 == 0) {
        live.erase(at);
        ASSERT_EQ(x.on_failure(trial), actions{});
        continue;
      }
      const auto value = results.value(trial, step);
      const bool stops = model.add(trial, step, value, max);
      ASSERT_EQ(x.on_result(trial, step, value),
                (stops ? actions{prune{trial}} : actions{}))
        << trial << ' ' << step;
      pruned += stops;
      if (stops || step == max)
        live.erase(trial);
    }
    EXPECT_TRUE(x.done());
    if (trials > 20 && max > 5 && grace == 1) {
      EXPECT_GT(pruned, 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, MedianModel,
                         testing::Range<std::uint64_t>(1, 26));

} // namespace
} // namespace hippo
