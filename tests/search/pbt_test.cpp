#include "hippo/search/algorithm/pbt.hpp"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "search/trainers.hpp"

namespace hippo {
namespace {

using actions = std::vector<action>;

TEST(Population, TheWorstGoOnFromTheBest) {
  pbt x{5, 7, 3, 1, direction::maximize, 0};
  EXPECT_EQ(x.rungs(), (std::vector<step_t>{3, 6, 7}));
  EXPECT_EQ(start(x).size(), 5u);
  EXPECT_EQ(x.on_result(2, 2, 99), actions{}); // no end of a generation
  for (trial_no trial : {0, 1, 2, 3})
    EXPECT_EQ(x.on_result(trial, 3, static_cast<double>(trial)), actions{});
  EXPECT_EQ(x.on_result(4, 3, 1.5),
            (actions{advance{3, 6}, advance{2, 6}, advance{4, 6}, advance{1, 6},
                     prune{0}, fork{5, 3, 3}, advance{5, 6}}));
  EXPECT_EQ(x.trials(), 6u);
  EXPECT_EQ(x.on_result(5, 3, 3), actions{}); // what it has in common
  for (trial_no trial : {1, 2, 3, 4})
    EXPECT_EQ(x.on_result(trial, 6, static_cast<double>(trial)), actions{});
  EXPECT_EQ(x.on_result(5, 6, 9),
            (actions{advance{5, 7}, advance{4, 7}, advance{3, 7}, advance{2, 7},
                     prune{1}, fork{6, 5, 6}, advance{6, 7}}));
  for (trial_no trial : {2, 3, 4, 5})
    EXPECT_EQ(x.on_result(trial, 7, 0), actions{});
  EXPECT_FALSE(x.done());
  EXPECT_EQ(x.on_result(6, 7, 0), actions{});
  EXPECT_TRUE(x.done());
}

TEST(Population, FailedMembersCountAmongTheWorstAndAreReplaced) {
  pbt x{6, 4, 2, 2, direction::minimize, 0};
  start(x);
  x.on_failure(0);
  x.on_result(1, 2, 1);
  x.on_failure(1); // cancelled while it waits
  x.on_failure(2);
  x.on_result(3, 2, 3);
  x.on_result(4, 2, 4);
  const auto found = x.on_result(5, 2, 5);
  ASSERT_EQ(found.size(), 9u); // three go on, three are new, nobody is pruned
  EXPECT_EQ(found[0], action{(advance{3, 4})});
  EXPECT_EQ(found[2], action{(advance{5, 4})});
  for (std::size_t i : {3, 5, 7}) {
    const auto& split = std::get<fork>(found[i]);
    EXPECT_EQ(split.trial, 6 + (i - 3) / 2);
    EXPECT_TRUE(split.from == 3 || split.from == 4) << split.from;
    EXPECT_EQ(split.at, 2u);
  }
}

TEST(Population, NothingIsForkedFromNan) {
  pbt x{4, 4, 2, 2, direction::minimize, 0};
  start(x);
  x.on_result(0, 2, NAN);
  x.on_result(1, 2, 7);
  x.on_result(2, 2, NAN);
  EXPECT_EQ(x.on_result(3, 2, NAN),
            (actions{advance{1, 4}, advance{0, 4}, prune{2}, fork{4, 1, 2},
                     advance{4, 4}, prune{3}, fork{5, 1, 2}, advance{5, 4}}));
  pbt all{2, 4, 2, 1, direction::minimize, 0};
  start(all);
  all.on_result(0, 2, NAN);
  EXPECT_EQ(all.on_result(1, 2, NAN), (actions{advance{0, 4}, advance{1, 4}}));
}

TEST(Population, DiesOnlyWhenAllHaveFailed) {
  pbt x{3, 9, 3, 1, direction::minimize, 0};
  start(x);
  x.on_failure(0);
  x.on_failure(1);
  EXPECT_FALSE(x.done());
  EXPECT_EQ(x.on_failure(2), actions{});
  EXPECT_TRUE(x.done());
}

TEST(Population, AGenerationEndsOnceAllOfItWereOpened) {
  pbt x{2, 9, 3, 1, direction::minimize, 0};
  EXPECT_EQ(x.open(1), (actions{advance{0, 3}}));
  EXPECT_EQ(x.on_result(0, 3, 1), actions{});
  EXPECT_EQ(x.open(2), (actions{advance{1, 3}}));
  EXPECT_EQ(x.on_result(1, 3, 2),
            (actions{advance{0, 6}, prune{1}, fork{2, 0, 3}, advance{2, 6}}));
}

TEST(Population, EndsAfterOneGenerationWithoutForks) {
  pbt x{2, 3, 3, 1, direction::minimize, 0};
  start(x);
  x.on_result(0, 3, 1);
  EXPECT_EQ(x.on_result(1, 3, 2), actions{});
  EXPECT_TRUE(x.done());
  EXPECT_EQ(x.trials(), 2u);
}

class PopulationProperty : public testing::TestWithParam<std::uint64_t> {};

TEST_P(PopulationProperty, KeepsItsSizeAndItsLineage) {
  std::mt19937_64 random{GetParam()};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t size = 2 + random() % 20,
                        replaced = 1 + random() % (size / 2);
    const step_t max = 1 + random() % 30, interval = 1 + random() % 10;
    const auto seed = random();
    const random_results results{random(), 100000, 0, random() % 2 * 10};
    std::vector<action> first;
    for (std::uint64_t order = 0; order < 3; ++order) {
      pbt x{size, max, interval, replaced, direction::maximize, seed};
      trainers all{x, results, order};
      std::size_t alive = 0;
      while (!all.running().empty())
        all.step();
      ASSERT_TRUE(x.done());
      // Nothing depends on who was faster.
      if (order == 0)
        first = all.actions();
      ASSERT_EQ(all.actions(), first);
      // Between two ends of generations the population has its size again.
      std::map<step_t, std::size_t> goals;
      for (const auto& y : all.actions())
        if (const auto* go = std::get_if<advance>(&y))
          ++goals[go->to];
      bool all_failed = false;
      for (const auto rung : x.rungs()) {
        if (goals[rung] == 0)
          all_failed = true;
        EXPECT_EQ(goals[rung], all_failed ? 0 : size) << rung;
      }
      for (const auto& [trial, split] : all.forks()) {
        EXPECT_LT(split.from, split.trial);
        EXPECT_EQ(split.at % interval, 0u);
        // It comes from one of the best of those that got there.
        std::size_t better = 0;
        for (const auto& [other, reached] : all.reached())
          if (reached >= split.at && all.is_measured(other, split.at)
              && !(all.forks().contains(other)
                   && all.forks().at(other).at >= split.at))
            better +=
              all.value(other, split.at) > all.value(split.from, split.at);
        EXPECT_LT(better, replaced + 1);
        ++alive;
      }
      EXPECT_EQ(x.trials(), size + alive);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PopulationProperty,
                         testing::Range<std::uint64_t>(1, 26));

} // namespace
} // namespace hippo
