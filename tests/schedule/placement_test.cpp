#include "hippo/plan/schedule/placement.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace hippo {
namespace {

using places = std::set<std::size_t>;
using assignment = std::vector<places>;

TEST(PlacementRule, HasAWord) {
  for (const auto* word : {"advantage", "complexity", "fair"}) {
    const auto rule = placement_rule_from(word);
    ASSERT_TRUE(rule) << word;
    EXPECT_EQ(to_word(*rule), word);
  }
  EXPECT_FALSE(placement_rule_from("best"));
}

// -- advantage ----------------------------------------------------------------

TEST(Advantage, IsSpeedBesideTheMean) {
  const kind_speeds speeds{{"cpu", 1}, {"gpu", 3}};
  EXPECT_EQ(advantage(speeds, "cpu", {"cpu", "gpu"}), 0.5);
  EXPECT_EQ(advantage(speeds, "gpu", {"cpu", "gpu"}), 1.5);
}

TEST(Advantage, CountsOnlyKindsThatAreThere) {
  const kind_speeds speeds{{"cpu", 1}, {"gpu", 3}, {"tpu", 99}};
  EXPECT_EQ(advantage(speeds, "gpu", {"cpu", "gpu"}), 1.5);
}

TEST(Advantage, OfAKindThatNobodyMeasuredIsNone) {
  EXPECT_EQ(advantage({{"cpu", 5}}, "gpu", {"cpu", "gpu"}), 1);
  EXPECT_EQ(advantage({}, "gpu", {"gpu"}), 1);
}

TEST(Advantage, OfAKindWithoutTheMemoryIsNothing) {
  EXPECT_EQ(advantage({{"small", 0}, {"large", 2}}, "small",
                      {"small", "large"}),
            0);
  EXPECT_EQ(advantage({{"small", 0}}, "small", {"small"}), 1);
}

double ratio(const std::vector<measured_steps>& xs) {
  const auto speeds = compare_speeds(xs);
  return speeds.at("gpu") / speeds.at("cpu");
}

TEST(CompareSpeeds, SaysHowFastKindsAre) {
  EXPECT_NEAR(ratio({{"cpu", "64", 10, 7}, {"gpu", "64", 2, 99}}), 5, 1e-9);
  EXPECT_TRUE(compare_speeds({}).empty());
}

TEST(CompareSpeeds, ComparesKindsByWhatBothHaveTrained) {
  EXPECT_NEAR(ratio({{"gpu", "128", 4, 10}, // of 64 it has none
                     {"cpu", "64", 10, 10},
                     {"cpu", "128", 20, 10}}),
              5, 0.05);
}

TEST(CompareSpeeds, DoesNotCompareWhatHasNothingInCommon) {
  EXPECT_NEAR(ratio({{"cpu", "64", 10, 10}, {"gpu", "128", 0.1, 10}}), 1, 1e-9);
}

TEST(CompareSpeeds, LeavesOutWhatTookNoTime) {
  EXPECT_EQ(compare_speeds({{"cpu", "64", 0, 10}, {"gpu", "64", 1, 10}}).size(),
            1u);
}

TEST(KindSpeeds, DifferByATenth) {
  EXPECT_FALSE(differ({{"cpu", 1}}, {{"cpu", 1.05}}));
  EXPECT_TRUE(differ({{"cpu", 1}}, {{"cpu", 1.2}}));
  EXPECT_TRUE(differ({{"cpu", 1.2}}, {{"cpu", 1}}));
  EXPECT_TRUE(differ({{"cpu", 1}}, {{"cpu", 1}, {"gpu", 1}}));
  EXPECT_TRUE(differ({{"cpu", 1}}, {{"gpu", 1}}));
}

// Whatever was measured of a world in which a kind's factor is the same for all
// keys, the factors come out.
TEST(CompareSpeeds, FindsTheFactorsOfAnyWorld) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random{seed};
    const auto below = [&](unsigned n) { return random() % n; };
    const std::size_t kinds = 2 + below(3);
    const std::size_t keys = 1 + below(4);
    std::vector<double> factor(kinds);
    for (auto& x : factor)
      x = std::exp2(static_cast<double>(below(7)) - 3);
    std::vector<measured_steps> measured;
    for (std::size_t k = 0; k < kinds; ++k)
      for (std::size_t y = 0; y < keys; ++y)
        if (y == 0 || below(2) == 0)
          measured.push_back({std::to_string(k), std::to_string(y),
                              factor[k] * static_cast<double>(1 + y),
                              static_cast<double>(1 + below(50))});
    const auto speeds = compare_speeds(measured);
    for (std::size_t k = 1; k < kinds; ++k)
      EXPECT_NEAR(speeds.at("0") / speeds.at(std::to_string(k)),
                  factor[k] / factor[0], factor[k] / factor[0] * 0.05)
        << "seed " << seed << " kind " << k;
  }
}

// -- complexity ---------------------------------------------------------------

TEST(ProductsOfRanks, BeginAtOneAndLeaveNobodyWithNothing) {
  EXPECT_EQ(products_of_ranks({10, 30, 20}, {1, 1, 1}),
            (std::vector<double>{1, 3, 2}));
  EXPECT_EQ(products_of_ranks({10, 30, 20}, {3, 1, 2}),
            (std::vector<double>{3, 3, 4}));
}

TEST(InOrder, KeepsEqualOnesAsTheyCame) {
  EXPECT_EQ(in_order({2, 1, 2, 1}), (std::vector<std::size_t>{1, 3, 0, 2}));
}

// The largest space is the last one, and so is the strongest kind.
TEST(AssignInOrder, IsAsInTheReference) {
  EXPECT_EQ(assign_in_order(4, 3),
            (assignment{{0, 1}, {0, 1}, {0, 1}, {1, 2}}));
  EXPECT_EQ(assign_in_order(3, 4),
            (assignment{{0, 1, 2}, {0, 1, 2, 3}, {2, 3}}));
  EXPECT_EQ(assign_in_order(4, 4),
            (assignment{{0, 1}, {1, 2}, {2, 3}, {2, 3}}));
  EXPECT_EQ(assign_in_order(1, 3), (assignment{{0, 1, 2}}));
  EXPECT_EQ(assign_in_order(4, 1), (assignment{{0}, {0}, {0}, {0}}));
}

TEST(AssignInOrder, GivesEachSpaceNeighboursAndEachKindASpace) {
  for (std::size_t spaces = 1; spaces <= 12; ++spaces)
    for (std::size_t kinds = 1; kinds <= 12; ++kinds) {
      const auto found = assign_in_order(spaces, kinds);
      ASSERT_EQ(found.size(), spaces);
      places used;
      for (const auto& x : found) {
        const bool has_neighbours = std::any_of(
          x.begin(), x.end(), [&](auto y) { return x.count(y + 1) > 0; });
        EXPECT_EQ(has_neighbours, kinds > 1) << spaces << " on " << kinds;
        EXPECT_LT(*x.rbegin(), kinds);
        used.insert(x.begin(), x.end());
      }
      EXPECT_EQ(used.size(), kinds) << spaces << " spaces";
      EXPECT_TRUE(found.back().count(kinds - 1)); // the largest, the strongest
    }
}

} // namespace
} // namespace hippo
