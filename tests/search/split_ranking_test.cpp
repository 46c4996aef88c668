#include "hippo/search/split_ranking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace hippo {
namespace {

TEST(Standing, RanksByDirectionThenByTrial) {
  const auto inf = std::numeric_limits<double>::infinity();
  for (const auto better : {direction::minimize, direction::maximize}) {
    const double sign = better == direction::minimize ? 1 : -1;
    const std::vector<standing> order{
      standing_of(9, -inf * sign, better), standing_of(4, 1 * sign, better),
      standing_of(5, 1 * sign, better),    standing_of(0, 2 * sign, better),
      standing_of(1, inf * sign, better),  standing_of(2, NAN, better),
      standing_of(3, NAN, better)};
    for (std::size_t i = 0; i < order.size(); ++i)
      for (std::size_t j = 0; j < order.size(); ++j)
        EXPECT_EQ(order[i] < order[j], i < j) << i << ' ' << j;
  }
}

TEST(SplitRanking, AgreesWithSorting) {
  std::mt19937_64 random{1};
  for (int round = 0; round < 300; ++round) {
    split_ranking x;
    std::vector<standing> model;
    for (std::uint64_t trial = 0; trial < 60; ++trial) {
      if (!model.empty() && random() % 4 == 0) {
        const auto at = model.begin()
                        + static_cast<std::ptrdiff_t>(random() % model.size());
        x.erase(*at);
        model.erase(at);
      } else {
        const auto value = random() % 8 == 0 ? NAN : double(random() % 10);
        model.push_back(standing_of(trial, value, direction::minimize));
        x.insert(model.back());
      }
      std::sort(model.begin(), model.end());
      const auto split = random() % (model.size() + 3);
      x.split(split);
      const auto middle
        = model.begin()
          + static_cast<std::ptrdiff_t>(std::min(split, model.size()));
      ASSERT_EQ(x.size(), model.size());
      ASSERT_EQ(std::vector(x.best().begin(), x.best().end()),
                std::vector(model.begin(), middle));
      ASSERT_EQ(std::vector(x.rest().begin(), x.rest().end()),
                std::vector(middle, model.end()));
    }
  }
}

} // namespace
} // namespace hippo
