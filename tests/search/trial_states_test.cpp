#include "hippo/search/trial_states.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "search/studies.hpp"
#include "search/tuner_runs.hpp"

namespace hippo {
namespace {

const std::vector<step_t> rungs{1, 3, 9};

/// A tree of trials: those of one state at a rung were so at the one before.
class random_states : public trial_states {
public:
  random_states(std::mt19937_64& random, std::uint64_t trials) {
    for (std::uint64_t i = 0; i < trials; ++i) {
      std::uint64_t state = 0;
      for (auto rung : rungs) {
        state = state * 4 + random() % 3;
        states_[{i, rung}] = state;
      }
    }
  }

  [[nodiscard]] std::uint64_t of(trial_no trial, step_t rung) const override {
    return states_.at({trial, rung});
  }

private:
  std::map<std::pair<trial_no, step_t>, std::uint64_t> states_;
};

TEST(Spread, TakesOneOfEachStateBeforeASecondOfAny) {
  std::mt19937_64 random{1};
  for (int round = 0; round < 200; ++round) {
    const auto count = 1 + random() % 30;
    const random_states states{random, count};
    std::vector<trial_no> all(count);
    for (trial_no i = 0; i < count; ++i)
      all[i] = i;
    auto given = all;
    std::shuffle(given.begin(), given.end(), random);
    const auto order = spread(given, rungs, &states);
    EXPECT_TRUE(std::is_permutation(order.begin(), order.end(), all.begin(),
                                    all.end()));
    // Below each state, the numbers of those taken differ by one at most,
    // unless there are no more: for every state, and any number taken.
    for (std::size_t taken = 1; taken <= count; ++taken)
      for (std::size_t r = 0; r < rungs.size(); ++r) {
        std::map<std::uint64_t, std::map<std::uint64_t, std::uint64_t>> counts;
        std::map<std::uint64_t, std::uint64_t> sizes;
        for (auto trial : all) {
          const auto above = r == 0 ? 0 : states.of(trial, rungs[r - 1]);
          counts[above][states.of(trial, rungs[r])] += 0;
          ++sizes[states.of(trial, rungs[r])];
        }
        for (std::size_t i = 0; i < taken; ++i) {
          const auto above = r == 0 ? 0 : states.of(order[i], rungs[r - 1]);
          ++counts[above][states.of(order[i], rungs[r])];
        }
        for (const auto& [above, by_state] : counts) {
          std::uint64_t most = 0;
          for (const auto& [state, n] : by_state)
            most = std::max(most, n);
          for (const auto& [state, n] : by_state)
            EXPECT_TRUE(n + 1 >= most || n == sizes[state]);
        }
      }
  }
}

TEST(Spread, GoesByNumbersWhereNothingDiffers) {
  EXPECT_EQ(spread({4, 2, 3}, rungs, nullptr),
            (std::vector<trial_no>{2, 3, 4}));
}

/// Two values of x from the start; y branches behind the first rung, z behind
/// the second one.
constexpr auto late
  = "{x: {choice: [1, 2]}, y: {choice: [{piecewise: [[0, 0], [5, 1]]},"
    " {piecewise: [[0, 0], [5, 2]]}, {piecewise: [[0, 0], [5, 3]]}]},"
    " z: {choice: [{piecewise: [[0, 0], [20, 1]]},"
    " {piecewise: [[0, 0], [20, 2]]}]}}";

/// What goes beyond step 1 of twelve trials that are two states there.
std::vector<trial_parameters> kept_of(const std::string& algorithm,
                                      std::uint64_t seed) {
  auto spec = study(late, algorithm);
  spec.seed = seed;
  tuner x{spec, read_search(spec), {}};
  std::vector<trial_parameters> result;
  std::vector<advance> todo;
  const auto take = [&](const turn& y) {
    for (const auto& z : y.asked) {
      todo.push_back(z);
      if (z.to == 3)
        result.push_back(x.parameters(z.trial));
    }
  };
  take(x.start());
  for (std::size_t i = 0; i < todo.size(); ++i)
    take(x.on_result(todo[i].trial, todo[i].to,
                     x.parameters(todo[i].trial).sequences.at("x").at(0)
                         == scalar{2.0}
                       ? 1
                       : 0));
  return result;
}

TEST(RungTies, WhatGoesOnDiffersAsMuchAsMayBe) {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const auto* algorithm : {"sha", "{hyperband: {max: 27}}"}) {
      const auto kept = kept_of(algorithm, seed);
      ASSERT_EQ(kept.size(), 4u);
      std::set<std::string> ys;
      for (const auto& x : kept) {
        EXPECT_EQ(x.shown.at("x"), 2); // the better state alone
        ys.insert(x.shown.at("y").dump());
      }
      EXPECT_EQ(ys.size(), 3u) << algorithm; // that come at step 5
    }
}

} // namespace
} // namespace hippo
