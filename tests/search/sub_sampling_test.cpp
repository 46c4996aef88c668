#include "hippo/search/algorithm/sub_sampling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "search/trainers.hpp"

namespace hippo {
namespace {

using actions = std::vector<action>;

constexpr auto infinity = std::numeric_limits<double>::infinity();
constexpr auto nan = std::numeric_limits<double>::quiet_NaN();

/// The mean of some observations, one after the other.
double mean_of(const std::vector<double>& xs, std::size_t begin,
               std::size_t count) {
  double sum = 0;
  for (auto i = begin; i < begin + count; ++i) {
    if (!std::isfinite(xs[i]))
      return -infinity;
    sum += xs[i];
  }
  return sum / static_cast<double>(count);
}

TEST(ObservedRewards, MeansAreThoseOfAllRuns) {
  std::mt19937_64 random{1};
  for (int round = 0; round < 100; ++round) {
    observed_rewards x;
    std::vector<double> all;
    for (std::size_t n = 1; n <= 20; ++n) {
      // Whole numbers: sums are exact in any order.
      all.push_back(random() % 9 == 0 ? nan
                                      : static_cast<double>(random() % 50));
      x.add(all.back());
      ASSERT_EQ(x.size(), n);
      ASSERT_EQ(x.mean(), mean_of(all, 0, n));
      for (std::size_t length = 1; length <= n; ++length) {
        auto least = infinity;
        for (std::size_t i = 0; i + length <= n; ++i)
          least = std::min(least, mean_of(all, i, length));
        ASSERT_EQ(x.least_mean(length), least);
      }
    }
  }
}

TEST(SubSampling, TheBestOfTheFirstRungLeads) {
  sub_sampling x{3, {1, 2, 4}, direction::maximize};
  EXPECT_EQ(start(x), (actions{advance{0, 1}, advance{1, 1}, advance{2, 1}}));
  x.on_result(0, 1, 5);
  x.on_result(1, 1, 7);
  // All have one observation, so that nobody has fewer than the leader.
  EXPECT_EQ(x.on_result(2, 1, 6), (actions{advance{1, 2}}));
  // sqrt(ln 4) = 1.18: who has one observation has too few.
  EXPECT_EQ(x.on_result(1, 2, 9), (actions{advance{0, 2}, advance{2, 2}}));
}

TEST(SubSampling, LikeIsComparedWithLike) {
  // Of equal length nobody is better; then the other one is as good as the
  // leader was at its begin, and goes on although the leader is better now.
  sub_sampling x{2, {3, 6}, direction::minimize};
  start(x);
  for (step_t at = 1; at <= 3; ++at) {
    x.on_result(0, at, 10 - static_cast<double>(at));
    if (at < 3) {
      EXPECT_EQ(x.on_result(1, at, 10 - static_cast<double>(at)), actions{});
    }
  }
  EXPECT_EQ(x.on_result(1, 3, 7), (actions{advance{0, 6}}));
  for (step_t at = 4; at < 6; ++at)
    x.on_result(0, at, 1);
  EXPECT_EQ(x.on_result(0, 6, 1), (actions{advance{1, 6}}));
  for (step_t at = 4; at < 6; ++at)
    x.on_result(1, at, 1);
  EXPECT_EQ(x.on_result(1, 6, 1), actions{});
  EXPECT_TRUE(x.done());
}

TEST(SubSampling, WhoIsWorseThanTheLeaderEverWasIsPrunedInTheEnd) {
  sub_sampling x{2, {3, 6}, direction::minimize};
  start(x);
  for (step_t at = 1; at <= 3; ++at)
    x.on_result(0, at, 1);
  x.on_result(1, 1, 2);
  x.on_result(1, 2, 2);
  EXPECT_EQ(x.on_result(1, 3, 2), (actions{advance{0, 6}}));
  x.on_result(0, 4, 1);
  x.on_result(0, 5, 1);
  EXPECT_EQ(x.on_result(0, 6, 1), (actions{prune{1}}));
  EXPECT_TRUE(x.done());
}

TEST(SubSampling, ALeaderThatDivergesIsOvertaken) {
  sub_sampling x{2, {2, 4}, direction::maximize};
  start(x);
  x.on_result(0, 1, 5);
  x.on_result(0, 2, 5);
  x.on_result(1, 1, 1);
  EXPECT_EQ(x.on_result(1, 2, 1), (actions{advance{0, 4}}));
  x.on_result(0, 3, nan);
  EXPECT_EQ(x.on_result(0, 4, nan), (actions{advance{1, 4}}));
}

TEST(SubSampling, ATrialIsTakenBackWhileItsRoundLasts) {
  sub_sampling x{3, {1, 2}, direction::maximize};
  start(x);
  x.on_failure(0);
  EXPECT_TRUE(x.take_back(0));
  x.on_result(1, 1, 1);
  x.on_result(2, 1, 2);
  EXPECT_EQ(x.on_failure(0), (actions{advance{2, 2}}));
  EXPECT_FALSE(x.take_back(0)) << "the round has ended without it";
  EXPECT_EQ(x.on_result(0, 1, 9), actions{});
}

TEST(SubSampling, WhereAllFailItEndsAndMayGoOn) {
  sub_sampling x{2, {1, 2}, direction::maximize};
  start(x);
  x.on_failure(0);
  EXPECT_FALSE(x.done());
  x.on_failure(1);
  EXPECT_TRUE(x.done());
  EXPECT_TRUE(x.take_back(1));
  EXPECT_FALSE(x.done());
  EXPECT_EQ(x.on_result(1, 1, 1), (actions{advance{1, 2}}));
  EXPECT_EQ(x.on_result(1, 2, 1), actions{});
  EXPECT_TRUE(x.done());
}

/// The rule, word for word and without shortcuts.
struct model {
  struct arm {
    std::vector<double> rewards;
    std::size_t rung = 0;
  };
  std::vector<arm> arms;
  std::size_t rungs = 1;
  std::optional<trial_no> leader;

  [[nodiscard]] double mean(trial_no x) const {
    return mean_of(arms[x].rewards, 0, arms[x].rewards.size());
  }

  /// Who goes on; nobody: it is the end.
  std::vector<trial_no> decide() {
    trial_no best = 0;
    for (trial_no x = 1; x < arms.size(); ++x) {
      const auto a = arms[x].rewards.size(), b = arms[best].rewards.size();
      if (a > b || (a == b && mean(x) > mean(best))
          || (a == b && mean(x) == mean(best) && leader == x))
        best = x;
    }
    leader = best;
    double n = 0;
    for (const auto& x : arms)
      n += static_cast<double>(x.rewards.size());
    const auto& led = arms[best].rewards;
    std::vector<trial_no> result;
    for (trial_no x = 0; x < arms.size(); ++x) {
      const auto own = arms[x].rewards.size();
      if (own >= led.size() || arms[x].rung + 1 == rungs)
        continue;
      bool is_better = static_cast<double>(own) < std::sqrt(std::log(n));
      for (std::size_t i = 0; i + own <= led.size(); ++i)
        is_better = is_better || mean(x) >= mean_of(led, i, own);
      if (is_better)
        result.push_back(x);
    }
    if (result.empty() && arms[best].rung + 1 < rungs)
      result.push_back(best);
    return result;
  }
};

TEST(SubSampling, FollowsTheRuleOfThePaper) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random{seed};
    const std::uint64_t trials = 1 + random() % 8;
    std::vector<step_t> rungs;
    for (step_t at = 1 + random() % 3; rungs.size() < 1 + seed % 5;
         at += 1 + random() % 4)
      rungs.push_back(at);
    sub_sampling x{trials, rungs, direction::maximize};
    model y;
    y.arms.resize(trials);
    y.rungs = rungs.size();
    auto wanted = start(x);
    const auto reward = [&] {
      return random() % 20 == 0 ? nan : static_cast<double>(random() % 8);
    };
    while (true) {
      actions next;
      for (const auto& todo : wanted)
        if (const auto* go = std::get_if<advance>(&todo)) {
          auto& arm = y.arms[go->trial];
          auto at = arm.rewards.size();
          while (at < go->to) {
            const auto value = reward();
            arm.rewards.push_back(value);
            ASSERT_TRUE(next.empty()) << "decided before all had reported";
            next = x.on_result(go->trial, ++at, value);
          }
        }
      const auto who = y.decide();
      std::vector<trial_no> gone;
      for (const auto& todo : next)
        if (const auto* go = std::get_if<advance>(&todo)) {
          gone.push_back(go->trial);
          ASSERT_EQ(go->to, rungs[++y.arms[go->trial].rung]);
        }
      ASSERT_EQ(gone, who);
      ASSERT_EQ(x.done(), who.empty());
      if (who.empty())
        break;
      wanted = next;
    }
  }
}

/// As a bandit, with a rung for each pull: the arms are told apart, and none is
/// forgotten.
TEST(SubSampling, PullsTheBestArmOfABanditMost) {
  std::uint64_t of_best = 0, of_all = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    std::mt19937_64 random{seed};
    std::vector<step_t> rungs(1500);
    std::iota(rungs.begin(), rungs.end(), step_t{1});
    sub_sampling x{5, rungs, direction::maximize};
    std::vector<std::uint64_t> pulls(5, 0);
    auto wanted = start(x);
    for (std::uint64_t n = 0; n < 1000 && !wanted.empty();) {
      actions next;
      for (const auto& todo : wanted) {
        const auto& go = std::get<advance>(todo);
        // Twelve draws of [0, 1) less six: about a normal one, on any machine.
        double noise = -6;
        for (int i = 0; i < 12; ++i)
          noise += static_cast<double>(random() >> 11) * 0x1p-53;
        next = x.on_result(go.trial, go.to,
                           0.5 * static_cast<double>(go.trial) + noise);
        ++pulls[go.trial];
        ++n;
      }
      wanted = next;
    }
    const auto total = std::accumulate(pulls.begin(), pulls.end(), 0ull);
    for (auto own : pulls)
      EXPECT_GE(static_cast<double>(own) + 1,
                std::sqrt(std::log(static_cast<double>(total))));
    of_best += pulls.back();
    of_all += total;
  }
  EXPECT_GT(of_best, of_all * 3 / 4);
}

} // namespace
} // namespace hippo
