#include "hippo/search/pareto/hypervolume.hpp"

#include <gtest/gtest.h>

#include "points.hpp"

namespace hippo {
namespace {

/// Counts the unit cubes below the reference that a point dominates.
double by_counting(const std::vector<losses>& x, int reference,
                   std::size_t values) {
  std::uint64_t cubes = 1, result = 0;
  for (std::size_t k = 0; k < values; ++k)
    cubes *= static_cast<unsigned>(reference);
  for (std::uint64_t cube = 0; cube < cubes; ++cube)
    result += std::any_of(x.begin(), x.end(), [&](const losses& point) {
      const auto side = static_cast<unsigned>(reference);
      auto rest = cube;
      for (auto value : point) {
        if (value > static_cast<double>(rest % side))
          return false;
        rest /= side;
      }
      return true;
    });
  return static_cast<double>(result);
}

TEST(Hypervolume, IsWhatCountingGives) {
  std::mt19937_64 draw{1};
  for (int i = 0; i < 600; ++i) {
    const auto values = 1 + draw() % 5;
    const int reference = values > 3 ? 5 : 9;
    // Some lie at or beyond the reference.
    const auto x = random_points(draw, draw() % 14, values, reference + 1);
    ASSERT_EQ(hypervolume(x, losses(values, reference)),
              by_counting(x, reference, values))
      << i;
  }
}

TEST(Hypervolume, OfNothingIsNone) {
  EXPECT_EQ(hypervolume({}, {1, 1}), 0);
  EXPECT_EQ(hypervolume({{1, 0}, {2, 2}}, {1, 1}), 0);
}

/// Against the sum over all subsets, of real numbers.
TEST(Hypervolume, IsWhatInclusionAndExclusionGive) {
  std::mt19937_64 draw{2};
  std::uniform_real_distribution<double> unit{0, 1};
  for (int i = 0; i < 100; ++i) {
    const auto values = 2 + draw() % 4;
    std::vector<losses> x(1 + draw() % 8, losses(values));
    for (auto& point : x)
      for (auto& value : point)
        value = unit(draw);
    double sum = 0;
    for (unsigned subset = 1; subset < 1u << x.size(); ++subset) {
      double box = std::popcount(subset) % 2 == 1 ? 1 : -1;
      for (std::size_t k = 0; k < values; ++k) {
        double low = 0;
        for (std::size_t j = 0; j < x.size(); ++j)
          if ((subset >> j & 1) != 0)
            low = std::max(low, x[j][k]);
        box *= 1 - low;
      }
      sum += box;
    }
    ASSERT_NEAR(hypervolume(x, losses(values, 1)), sum, 1e-12) << i;
  }
}

TEST(HypervolumeContributions, AreWhatIsLostWithoutAPoint) {
  std::mt19937_64 draw{3};
  for (int i = 0; i < 200; ++i) {
    const auto values = 1 + draw() % 4;
    const auto x = random_points(draw, 1 + draw() % 10, values, 6);
    const auto found = hypervolume_contributions(x, losses(values, 6));
    for (std::size_t k = 0; k < x.size(); ++k) {
      auto others = x;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
      ASSERT_EQ(found[k], by_counting(x, 6, values)
                            - by_counting(others, 6, values));
    }
  }
}

TEST(MostHypervolume, TakesAlwaysTheOneThatAddsMost) {
  std::mt19937_64 draw{4};
  for (int i = 0; i < 200; ++i) {
    const auto values = 1 + draw() % 4;
    const auto x = random_points(draw, 1 + draw() % 12, values, 7);
    const losses reference(values, 7);
    const auto count = draw() % 14;
    const auto found = most_hypervolume(x, count, reference);
    ASSERT_EQ(found.size(), std::min(count, x.size()));
    std::vector<std::size_t> naive;
    std::vector<losses> chosen;
    while (naive.size() < found.size()) {
      std::size_t best = x.size();
      double most = -1;
      for (std::size_t k = 0; k < x.size(); ++k) {
        if (std::count(naive.begin(), naive.end(), k) > 0)
          continue;
        auto with = chosen;
        with.push_back(x[k]);
        if (const auto volume = hypervolume(with, reference); volume > most) {
          most = volume;
          best = k;
        }
      }
      naive.push_back(best);
      chosen.push_back(x[best]);
    }
    ASSERT_EQ(found, naive) << i;
  }
}

TEST(ReferenceBeyond, IsATenthBeyondTheWorst) {
  const auto x = reference_beyond({{1, -2, 0}, {2, -4, -1}});
  EXPECT_DOUBLE_EQ(x[0], 2.2);
  EXPECT_DOUBLE_EQ(x[1], -1.8);
  EXPECT_EQ(x[2], 1e-12);
}

} // namespace
} // namespace hippo
