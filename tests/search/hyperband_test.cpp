#include "hippo/search/algorithm/hyperband.hpp"

#include <gtest/gtest.h>

#include "search/trainers.hpp"

namespace hippo {
namespace {

using actions = std::vector<action>;
using brackets = std::vector<hyperband_bracket>;

TEST(HyperbandBrackets, AreThoseOfThePaper) {
  EXPECT_EQ(hyperband_brackets(1, 81, 3), (brackets{{81, {1, 3, 9, 27, 81}},
                                                    {34, {3, 9, 27, 81}},
                                                    {15, {9, 27, 81}},
                                                    {8, {27, 81}},
                                                    {5, {81}}}));
  EXPECT_EQ(hyperband_brackets(1, 243, 3),
            (brackets{{243, {1, 3, 9, 27, 81, 243}},
                      {98, {3, 9, 27, 81, 243}},
                      {41, {9, 27, 81, 243}},
                      {18, {27, 81, 243}},
                      {9, {81, 243}},
                      {6, {243}}}));
  EXPECT_EQ(hyperband_brackets(3, 27, 3),
            (brackets{{9, {3, 9, 27}}, {5, {9, 27}}, {3, {27}}}));
  EXPECT_EQ(hyperband_brackets(1, 16, 4),
            (brackets{{16, {1, 4, 16}}, {6, {4, 16}}, {3, {16}}}));
}

TEST(HyperbandBrackets, EndWithAShorterHopWhereMaxIsNoPower) {
  EXPECT_EQ(hyperband_brackets(15, 120, 4),
            (brackets{{4, {15, 60, 120}}, {2, {60, 120}}}));
  EXPECT_EQ(hyperband_brackets(1, 10, 3), (brackets{{9, {1, 3, 9, 10}},
                                                    {5, {3, 9, 10}},
                                                    {3, {9, 10}}}));
  EXPECT_EQ(hyperband_brackets(5, 6, 2), (brackets{{1, {5, 6}}}));
  EXPECT_EQ(hyperband_brackets(7, 7, 2), (brackets{{1, {7}}}));
}

TEST(HyperbandBrackets, NoRoundingLosesOne) {
  for (std::uint64_t eta = 2; eta <= 12; ++eta) {
    step_t max = 1;
    for (std::size_t s = 0; max <= 1'000'000'000 / eta; ++s, max *= eta) {
      const auto found = hyperband_brackets(1, max, eta);
      ASSERT_EQ(found.size(), s + 1) << max << ' ' << eta;
      EXPECT_EQ(found.front().trials, max);
      EXPECT_EQ(found.back(), (hyperband_bracket{s + 1, {max}}));
      if (max > eta) {
        ASSERT_EQ(hyperband_brackets(1, max - 1, eta).size(), s);
      }
    }
  }
}

TEST(Hyperband, BracketsHalveOnTheirOwn) {
  hyperband x{14, hyperband_brackets(1, 9, 3), false,
              halving(3, direction::maximize)};
  EXPECT_EQ(x.rungs(), (std::vector<step_t>{1, 3, 9}));
  const auto first = start(x);
  ASSERT_EQ(first.size(), 14u);
  EXPECT_EQ(first[8], action{(advance{8, 1})});
  EXPECT_EQ(first[9], action{(advance{9, 3})});
  EXPECT_EQ(first[13], action{(advance{13, 3})});
  EXPECT_EQ(x.on_result(9, 1, 100), actions{}); // no rung of its bracket
  for (trial_no trial = 9; trial < 13; ++trial)
    EXPECT_EQ(x.on_result(trial, 3, static_cast<double>(trial)), actions{});
  EXPECT_EQ(x.on_result(13, 3, 0),
            (actions{advance{12, 9}, prune{9}, prune{10}, prune{11},
                     prune{13}}));
}

TEST(Hyperband, BracketsInTurnWaitForEachOther) {
  const auto round = hyperband_brackets(1, 3, 3); // 3 and 2 trials
  hyperband x{5, round, true, halving(3, direction::minimize)};
  EXPECT_EQ(start(x), (actions{advance{0, 1}, advance{1, 1}, advance{2, 1}}));
  EXPECT_EQ(x.on_result(3, 3, 1), actions{}); // its turn has not come
  x.on_result(0, 1, 3);
  x.on_result(1, 1, 2);
  EXPECT_EQ(x.on_result(2, 1, 4),
            (actions{advance{1, 3}, prune{0}, prune{2}}));
  EXPECT_EQ(x.on_failure(3), actions{}); // cancelled before its turn
  EXPECT_EQ(x.on_result(1, 3, 1), (actions{advance{4, 3}}));
  EXPECT_FALSE(x.done());
  EXPECT_EQ(x.on_result(4, 3, 1), actions{});
  EXPECT_TRUE(x.done());
}

TEST(Hyperband, ABracketHearsNothingBeforeItsTurn) {
  hyperband x{5, hyperband_brackets(1, 3, 3), true,
              halving(3, direction::minimize)};
  start(x);
  EXPECT_EQ(x.on_result(3, 3, 1), actions{});
  for (trial_no trial : {0, 1, 2})
    x.on_failure(trial);
  EXPECT_FALSE(x.done());
  EXPECT_EQ(x.on_result(3, 3, 1), actions{}); // trial 4 is awaited
  EXPECT_FALSE(x.done());
  x.on_result(4, 3, 1);
  EXPECT_TRUE(x.done());
  hyperband y{5, hyperband_brackets(1, 3, 3), true,
              halving(3, direction::minimize)};
  start(y);
  y.on_result(3, 3, 1);
  y.on_failure(0);
  y.on_failure(1);
  EXPECT_EQ(y.on_failure(2), (actions{advance{3, 3}, advance{4, 3}}));
}

TEST(Hyperband, RoundsRepeatUntilTheTrialsAreUsed) {
  const auto round = hyperband_brackets(1, 3, 3);
  hyperband x{9, round, false, // 3 + 2 + 3 + 1
              halving(3, direction::minimize)};
  const auto first = start(x);
  ASSERT_EQ(first.size(), 9u);
  EXPECT_EQ(first[3], action{(advance{3, 3})});
  EXPECT_EQ(first[5], action{(advance{5, 1})});
  EXPECT_EQ(first[8], action{(advance{8, 3})});
}

/// Hyperband is the brackets' halving side by side, and nothing else.
TEST(Hyperband, KeepsWhatTheHalvingOfEachBracketKeeps) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const auto round = hyperband_brackets(1 + seed % 2, 27, 3);
    const random_results results{seed, seed % 3 == 0 ? 5u : 100000u, seed % 7,
                                 seed % 4 * 5};
    std::uint64_t trials = 0;
    for (const auto& x : round)
      trials += x.trials;
    for (const bool in_turn : {false, true}) {
      hyperband x{trials, round, in_turn, halving(3, direction::maximize)};
      trainers all{x, results, seed};
      all.run();
      trial_no first = 0;
      for (const auto& [size, rungs] : round) {
        sha own{size, rungs, 3, direction::maximize};
        start(own);
        std::vector<step_t> expected(size, 0);
        std::vector<trial_no> live(size);
        for (trial_no i = 0; i < size; ++i)
          live[i] = i;
        for (std::size_t k = 0; k < rungs.size(); ++k) {
          std::vector<trial_no> next;
          const auto fails = [&](trial_no trial) {
            for (auto rung : x.rungs()) // those of other brackets too
              if (rung <= rungs[k] && (k == 0 || rung > rungs[k - 1])
                  && results.fails(trial, rung))
                return true;
            return false;
          };
          for (auto i : live) {
            std::vector<action> decided;
            if (fails(first + i)) {
              decided = own.on_failure(i);
            } else {
              expected[i] = rungs[k];
              decided = own.on_result(i, rungs[k],
                                      results.value(first + i, rungs[k]));
            }
            for (const auto& y : decided)
              if (const auto* go = std::get_if<advance>(&y))
                next.push_back(go->trial);
          }
          live = next;
        }
        for (trial_no i = 0; i < size; ++i) {
          step_t reached = 0; // the last rung: others do not matter
          if (const auto found = all.reached().find(first + i);
              found != all.reached().end())
            for (auto rung : rungs)
              reached = rung <= found->second ? rung : reached;
          ASSERT_EQ(reached, expected[i]) << seed << ' ' << first + i;
        }
        first += size;
      }
    }
  }
}

} // namespace
} // namespace hippo
