#include "hippo/search/pareto/dominance.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "points.hpp"

namespace hippo {
namespace {

constexpr auto infinity = std::numeric_limits<double>::infinity();

/// Peels fronts off, one by one, by the definition.
std::vector<std::size_t> ranks_by_peeling(const std::vector<losses>& x) {
  std::vector<std::size_t> result(x.size(), SIZE_MAX);
  for (std::size_t rank = 0;
       std::count(result.begin(), result.end(), SIZE_MAX) > 0; ++rank) {
    const auto before = result;
    for (std::size_t i = 0; i < x.size(); ++i) {
      bool is_dominated = before[i] != SIZE_MAX;
      for (std::size_t j = 0; j < x.size(); ++j)
        is_dominated = is_dominated
                       || (before[j] == SIZE_MAX && dominates(x[j], x[i]));
      if (!is_dominated)
        result[i] = rank;
    }
  }
  return result;
}

TEST(Dominance, IsBeingNowhereWorseAndBetterSomewhere) {
  EXPECT_TRUE(dominates(losses{1, 2}, losses{1, 3}));
  EXPECT_TRUE(dominates(losses{0, 0}, losses{1, 3}));
  EXPECT_FALSE(dominates(losses{1, 2}, losses{1, 2}));
  EXPECT_FALSE(dominates(losses{1, 3}, losses{2, 2}));
}

TEST(Dominance, ConstraintsComeFirst) {
  const outcome good{{9, 9}}, bad{{0, 0}, 1}, worse{{0, 0}, 2},
    none{{0, 0}, 0, true};
  EXPECT_TRUE(dominates(good, bad));
  EXPECT_TRUE(dominates(bad, worse));
  EXPECT_TRUE(dominates(worse, none));
  EXPECT_FALSE(dominates(bad, good));
  EXPECT_FALSE(dominates(none, none));
  EXPECT_FALSE(dominates(bad, outcome{{1, 1}, 1})); // as bad
}

TEST(NonDominationRanks, AreThoseOfPeeling) {
  std::mt19937_64 draw{1};
  for (int i = 0; i < 300; ++i) {
    const auto x = random_points(draw, draw() % 40, 1 + draw() % 4,
                                 1 + static_cast<int>(draw() % 12));
    ASSERT_EQ(non_domination_ranks(x), ranks_by_peeling(x)) << i;
  }
}

TEST(NonDominationRanks, EqualPointsHaveOne) {
  EXPECT_EQ(non_domination_ranks({{1, 1}, {0, 1}, {1, 1}, {0, 1}}),
            (std::vector<std::size_t>{1, 0, 1, 0}));
}

TEST(EpsilonNet, TakesTheFarthest) {
  // From 0 the far end, then the middle, then what lies between.
  EXPECT_EQ(epsilon_net({{0, 4}, {1, 3}, {2, 2}, {4, 0}}),
            (std::vector<std::size_t>{0, 3, 2, 1}));
}

TEST(EpsilonNet, UnitsDoNotMatter) {
  EXPECT_EQ(epsilon_net({{0, 4000}, {1, 3000}, {2, 2000}, {4, 0}}),
            (std::vector<std::size_t>{0, 3, 2, 1}));
}

TEST(EpsilonNet, EqualsComeLast) {
  EXPECT_EQ(epsilon_net({{0, 1}, {0, 1}, {1, 0}, {0, 1}}),
            (std::vector<std::size_t>{0, 2, 1, 3}));
  EXPECT_EQ(epsilon_net({{5}, {5}}), (std::vector<std::size_t>{0, 1}));
}

/// Each next one is farthest from all before it.
TEST(EpsilonNet, IsGreedy) {
  std::mt19937_64 draw{2};
  for (int i = 0; i < 100; ++i) {
    auto x = random_points(draw, 1 + draw() % 20, 2, 16);
    x.push_back({0, 0});
    x.push_back({16, 16}); // the ranges are known
    const auto far = [&](std::size_t a, std::size_t b) {
      const auto p = (x[a][0] - x[b][0]) / 16, q = (x[a][1] - x[b][1]) / 16;
      return p * p + q * q;
    };
    const auto net = epsilon_net(x);
    ASSERT_EQ(net.front(), 0u);
    for (std::size_t next = 1; next < net.size(); ++next) {
      const auto nearest = [&](std::size_t a) {
        double result = infinity;
        for (std::size_t k = 0; k < next; ++k)
          result = std::min(result, far(a, net[k]));
        return result;
      };
      for (auto other = next + 1; other < net.size(); ++other) {
        const auto here = nearest(net[next]), there = nearest(net[other]);
        ASSERT_TRUE(here > there
                    || (here == there && net[next] < net[other]));
      }
    }
  }
}

TEST(BestFirst, FeasibleThenViolationThenRankThenNet) {
  const std::vector<outcome> x{
    {{0, 0}, 3},        // breaks a constraint by much
    {{5, 5}},           // rank 1
    {{0, 4}},           // rank 0, the first of the net
    {{1, 3}},           // nearest to it
    {{4, 0}},           // farthest from it
    {{0, 0}, 0, true},  // NaN
    {{9, 9}, 1},        // breaks it by less
    {{0, 0}, infinity},
  };
  EXPECT_EQ(best_first(x),
            (std::vector<std::size_t>{2, 4, 3, 1, 6, 0, 7, 5}));
}

TEST(BestFirst, RankTellsThoseApartThatBreakConstraintsEqually) {
  EXPECT_EQ(best_first({{{2, 2}, 1}, {{1, 1}, 1}, {{0, 0}, 2}}),
            (std::vector<std::size_t>{1, 0, 2}));
}

/// With one goal it is the order of values, equals by their place.
TEST(BestFirst, OfOneGoalIsTheOrderOfValues) {
  std::mt19937_64 draw{3};
  for (int i = 0; i < 50; ++i) {
    std::vector<outcome> x;
    for (auto& point : random_points(draw, 20, 1, 8))
      x.push_back({point});
    std::vector<std::size_t> by_value(x.size());
    for (std::size_t k = 0; k < x.size(); ++k)
      by_value[k] = k;
    std::stable_sort(by_value.begin(), by_value.end(),
                     [&](auto a, auto b) { return x[a].values < x[b].values; });
    ASSERT_EQ(best_first(x), by_value);
  }
}

/// Nobody comes before one that dominates it.
TEST(BestFirst, KeepsToDominance) {
  std::mt19937_64 draw{4};
  for (int i = 0; i < 100; ++i) {
    std::vector<outcome> x;
    for (auto& point : random_points(draw, 20, 3, 6))
      x.push_back({point, static_cast<double>(draw() % 3), draw() % 8 == 0});
    const auto order = best_first(x);
    ASSERT_EQ(std::set(order.begin(), order.end()).size(), x.size());
    for (std::size_t a = 0; a < order.size(); ++a)
      for (auto b = a + 1; b < order.size(); ++b)
        ASSERT_FALSE(dominates(x[order[b]], x[order[a]]));
  }
}

TEST(CrowdingDistances, AreTheSidesOfTheBoxBetweenNeighbours) {
  const auto x = crowding_distances({{0, 4}, {1, 2}, {3, 1}, {4, 0}});
  EXPECT_EQ(x[0], infinity);
  EXPECT_DOUBLE_EQ(x[1], 3. / 4 + 3. / 4);
  EXPECT_DOUBLE_EQ(x[2], 3. / 4 + 2. / 4);
  EXPECT_EQ(x[3], infinity);
}

} // namespace
} // namespace hippo
