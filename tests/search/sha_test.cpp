#include "hippo/search/algorithm/sha.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "hippo/search/algorithm/rungs.hpp"
#include "search/trainers.hpp"

namespace hippo {
namespace {

using actions = std::vector<action>;

TEST(Sha, HalvesRungByRung) {
  sha x{9, {1, 3, 9}, 3, direction::maximize};
  EXPECT_EQ(start(x).size(), 9u);
  EXPECT_EQ(x.on_result(0, 2, 99), actions{}); // beyond the rung
  for (trial_no trial = 0; trial < 8; ++trial)
    EXPECT_EQ(x.on_result(trial, 1, static_cast<double>(trial)), actions{});
  EXPECT_EQ(x.on_result(8, 1, 8),
            (actions{advance{8, 3}, advance{7, 3}, advance{6, 3}, prune{0},
                     prune{1}, prune{2}, prune{3}, prune{4}, prune{5}}));
  EXPECT_EQ(x.on_result(8, 2, 99), actions{}); // no rung
  EXPECT_EQ(x.on_result(8, 3, 1), actions{});
  EXPECT_EQ(x.on_result(6, 3, 2), actions{});
  EXPECT_EQ(x.on_result(7, 3, 1.5),
            (actions{advance{6, 9}, prune{7}, prune{8}}));
  EXPECT_FALSE(x.done());
  EXPECT_EQ(x.on_result(6, 9, 3), actions{});
  EXPECT_TRUE(x.done());
}

TEST(Sha, TiesGoToTheLowerNumberAndNanComesLast) {
  sha x{4, {1, 2}, 2, direction::minimize};
  start(x);
  x.on_result(3, 1, 5);
  x.on_result(2, 1, 5);
  x.on_result(0, 1, NAN);
  EXPECT_EQ(x.on_result(1, 1, 5),
            (actions{advance{1, 2}, advance{2, 2}, prune{0}, prune{3}}));
}

TEST(Sha, FailedTrialsCountButNeverGoOn) {
  sha x{6, {1, 2}, 2, direction::minimize};
  start(x);
  x.on_failure(0);
  x.on_result(1, 1, 1); // the best, but it is cancelled while it waits
  x.on_failure(1);
  x.on_failure(2);
  x.on_failure(3);
  x.on_result(4, 1, 4);
  EXPECT_EQ(x.on_result(5, 1, 5), (actions{advance{4, 2}, advance{5, 2}}));
}

TEST(Sha, EndsWhenAllFail) {
  sha x{2, {1, 2, 4}, 2, direction::minimize};
  start(x);
  EXPECT_EQ(x.on_failure(1), actions{});
  EXPECT_FALSE(x.done());
  EXPECT_EQ(x.on_failure(0), actions{});
  EXPECT_TRUE(x.done());
}

TEST(Sha, AWaitingTrialThatFailsIsNotAwaitedTwice) {
  sha x{3, {1, 2}, 3, direction::minimize};
  start(x);
  x.on_result(0, 1, 1);
  x.on_failure(0);
  x.on_failure(0);
  x.on_result(1, 1, 2);
  EXPECT_FALSE(x.done());
  EXPECT_EQ(x.on_result(2, 1, 3), (actions{advance{1, 2}, prune{2}}));
}

TEST(Sha, FewTrialsStillGoToTheEnd) {
  sha x{2, {1, 3, 9, 27}, 3, direction::minimize};
  trainers all{x, {1}, 1};
  all.run();
  EXPECT_EQ(std::max(all.reached().at(0), all.reached().at(1)), 27u);
}

/// How far each trial gets, worked out rung by rung with nothing but sorting.
std::vector<step_t> brute_force(const random_results& results,
                                const std::vector<step_t>& rungs,
                                std::uint64_t trials, std::uint64_t eta,
                                bool maximize) {
  std::vector<step_t> reached(trials, 0);
  std::vector<trial_no> live(trials);
  std::iota(live.begin(), live.end(), trial_no{0});
  for (auto rung : rungs) {
    const auto keep = std::max<std::size_t>(1, live.size() / eta);
    std::erase_if(live, [&](auto x) { return results.fails(x, rung); });
    for (auto trial : live)
      reached[trial] = rung;
    std::stable_sort(live.begin(), live.end(), [&](auto x, auto y) {
      const auto a = results.value(x, rung), b = results.value(y, rung);
      if (std::isnan(a) || std::isnan(b))
        return !std::isnan(a) && std::isnan(b);
      return maximize ? a > b : a < b;
    });
    if (live.size() > keep)
      live.resize(keep);
    std::sort(live.begin(), live.end()); // the next rung's ties: by number
  }
  return reached;
}

class ShaModel : public testing::TestWithParam<std::uint64_t> {};

TEST_P(ShaModel, SurvivorsAreThoseOfBruteForceInAnyOrder) {
  std::mt19937_64 random{GetParam()};
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t trials = 1 + random() % 60, eta = 2 + random() % 4;
    const auto rungs
      = rung_steps(1 + random() % 4, 4 + random() % 90, eta);
    const bool maximize = random() % 2 == 0;
    const random_results results{random(), random() % 3 == 0 ? 4u : 100000u,
                                 random() % 2 * 20, random() % 3 * 15};
    const auto expected = brute_force(results, rungs, trials, eta, maximize);
    for (std::uint64_t order = 0; order < 5; ++order) {
      sha x{trials, rungs, eta,
            maximize ? direction::maximize : direction::minimize};
      trainers all{x, results, order};
      all.run();
      std::vector<step_t> reached(trials, 0);
      for (const auto& [trial, step] : all.reached())
        for (auto rung : rungs) // steps between rungs do not matter
          if (rung <= step)
            reached[trial] = rung;
      ASSERT_EQ(reached, expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ShaModel, testing::Range<std::uint64_t>(1, 26));

} // namespace
} // namespace hippo
