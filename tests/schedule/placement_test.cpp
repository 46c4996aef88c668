#include "hippo/schedule/placement.hpp"

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

TEST(StepTimes, SayHowFastKindsAre) {
  step_times x;
  x.learn("cpu", "64", 10, 100);
  x.learn("gpu", "64", 10, 20);
  const auto speeds = x.speeds();
  EXPECT_NEAR(speeds.at("gpu") / speeds.at("cpu"), 5, 1e-9);
}

TEST(StepTimes, CompareKindsByWhatBothHaveTrained) {
  step_times x;
  x.learn("cpu", "64", 10, 100);
  x.learn("cpu", "128", 10, 200);
  x.learn("gpu", "128", 10, 40); // 5 times as fast; of 64 it has none
  const auto speeds = x.speeds();
  EXPECT_NEAR(speeds.at("gpu") / speeds.at("cpu"), 5, 0.05);
}

TEST(StepTimes, DoNotCompareWhatHasNothingInCommon) {
  step_times x;
  x.learn("cpu", "64", 10, 100);
  x.learn("gpu", "128", 10, 1);
  const auto speeds = x.speeds();
  EXPECT_NEAR(speeds.at("gpu") / speeds.at("cpu"), 1, 1e-9);
}

TEST(StepTimes, ForgetWhatWasLongAgo) {
  step_times x;
  x.learn("cpu", "", 100'000, 100'000);
  x.learn("gpu", "", 1000, 1000);
  x.learn("gpu", "", 10'000, 20'000);
  EXPECT_NEAR(x.speeds().at("cpu") / x.speeds().at("gpu"), 2, 0.2);
}

TEST(StepTimes, GrowAVersionWhereThatIsWorthwhile) {
  step_times x;
  x.learn("cpu", "", 10, 10);
  EXPECT_EQ(x.version(), 0u); // one kind has nothing to be compared with
  x.learn("gpu", "", 10, 5);
  EXPECT_EQ(x.version(), 1u);
  x.learn("gpu", "", 10, 5.2);
  EXPECT_EQ(x.version(), 1u);
  x.learn("gpu", "", 100, 500);
  EXPECT_EQ(x.version(), 2u);
}

// Whatever was measured of a world in which a kind's factor is the same for all
// keys, the factors come out.
TEST(StepTimes, FindTheFactorsOfAnyWorld) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random{seed};
    const auto below = [&](unsigned n) { return random() % n; };
    const std::size_t kinds = 2 + below(3);
    const std::size_t keys = 1 + below(4);
    std::vector<double> factor(kinds);
    for (auto& x : factor)
      x = std::exp2(static_cast<double>(below(7)) - 3);
    step_times measured;
    for (std::size_t k = 0; k < kinds; ++k)
      for (std::size_t y = 0; y < keys; ++y)
        if (y == 0 || below(2) == 0) {
          const auto steps = 1 + below(50);
          measured.learn(std::to_string(k), std::to_string(y), steps,
                         static_cast<double>(steps) * factor[k]
                           * static_cast<double>(1 + y));
        }
    const auto speeds = measured.speeds();
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
      EXPECT_TRUE(found.back().count(kinds - 1)) << "the largest, the strongest";
    }
}

} // namespace
} // namespace hippo
