#include "hippo/search/pareto/selection.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "hippo/search/pareto/dominance.hpp"
#include "points.hpp"

namespace hippo {
namespace {

using places = std::vector<std::size_t>;

std::vector<outcome> random_outcomes(std::mt19937_64& draw) {
  std::vector<outcome> result;
  for (auto& point : random_points(draw, draw() % 20, 2, 8))
    result.push_back({point, draw() % 3 == 0 ? double(1 + draw() % 2) : 0.0,
                      draw() % 10 == 0});
  return result;
}

TEST(Levels, AreRanksThenViolationsThenNaN) {
  EXPECT_EQ(levels_of({{{1, 1}}, {{2, 2}}, {{0, 0}, 2}, {{0, 0}, 1},
                       {{0, 0}, 0, true}, {{9, 9}, 2}}),
            (places{0, 1, 3, 2, 4, 3}));
}

/// Whoever is taken is on no later level than whoever is not.
TEST(SelectBest, TakesWholeLevelsFirst) {
  std::mt19937_64 draw{1};
  for (int i = 0; i < 200; ++i) {
    const auto x = random_outcomes(draw);
    const auto count = draw() % 22;
    const auto levels = levels_of(x);
    std::vector<std::size_t> survivors;
    for (const auto& y : select_survivors(x, count))
      survivors.push_back(y.place);
    for (const auto& taken : {select_best(x, count), survivors}) {
      ASSERT_EQ(taken.size(), std::min<std::size_t>(count, x.size()));
      const std::set<std::size_t> in(taken.begin(), taken.end());
      ASSERT_EQ(in.size(), taken.size());
      for (std::size_t a = 0; a < x.size(); ++a)
        for (const auto b : taken)
          if (!in.contains(a)) {
            ASSERT_LE(levels[b], levels[a]);
          }
    }
  }
}

TEST(SelectBest, OfTheLastLevelByHypervolume) {
  // Up to (5.5, 4.4) the middle one adds most; then the last: 0.75 against 0.6.
  EXPECT_EQ(select_best({{{0, 4}}, {{1, 3.9}}, {{1.5, 1.5}}, {{5, 0}}}, 2),
            (places{2, 3}));
}

TEST(SelectSurvivors, OfTheLastLevelByCrowding) {
  const auto x
    = select_survivors({{{0, 4}}, {{1, 3}}, {{1.2, 2.9}}, {{4, 0}}}, 3);
  ASSERT_EQ(x.size(), 3u);
  EXPECT_EQ(x[0].place, 0u);
  EXPECT_EQ(x[1].place, 3u);
  EXPECT_EQ(x[2].place, 2u); // the farther from its neighbours
  EXPECT_EQ(x[0].distance, std::numeric_limits<double>::infinity());
}

} // namespace
} // namespace hippo
