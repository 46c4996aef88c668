#include "hippo/search/algorithm/dehb.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "search/trainers.hpp"

namespace hippo {
namespace {

using actions = std::vector<action>;
using brackets = std::vector<dehb_bracket>;
using steps = std::vector<step_t>;

constexpr auto nan = std::numeric_limits<double>::quiet_NaN();

/// On rungs 1, 3, 9: 9-3-1, 3-1, 3.
dehb nine(std::uint64_t trials, bool promotes_always = true,
          std::optional<std::uint64_t> concurrent = 1) {
  return {trials, {1, 3, 9}, 3, promotes_always, direction::minimize,
          concurrent, 7};
}

TEST(DehbBrackets, AreThoseOfTheReference) {
  EXPECT_EQ(dehb_brackets(4, 3), (brackets{{0, {27, 9, 3, 1}},
                                           {1, {9, 3, 1}},
                                           {2, {6, 2}},
                                           {3, {4}}}));
  EXPECT_EQ(dehb_brackets(5, 3), (brackets{{0, {81, 27, 9, 3, 1}},
                                           {1, {27, 9, 3, 1}},
                                           {2, {9, 3, 1}},
                                           {3, {6, 2}},
                                           {4, {5}}}));
  EXPECT_EQ(dehb_brackets(3, 4),
            (brackets{{0, {16, 4, 1}}, {1, {4, 1}}, {2, {3}}}));
  EXPECT_EQ(dehb_brackets(2, 2), (brackets{{0, {2, 1}}, {1, {2}}}));
}

TEST(Dehb, BeginsWithTrialsAtRandomAndLetsTheBestGoOn) {
  auto x = nine(15);
  EXPECT_EQ(start(x), (actions{advance{0, 1}}));
  for (trial_no trial = 0; trial < 8; ++trial)
    EXPECT_EQ(x.on_result(trial, 1, static_cast<double>(trial % 4)),
              (actions{advance{trial + 1, 1}}));
  // Of nine three go on, the best first; equals in the order of their numbers.
  EXPECT_EQ(x.on_result(8, 1, 0),
            (actions{prune{1}, prune{2}, prune{3}, prune{5}, prune{6}, prune{7},
                     advance{0, 3}}));
  EXPECT_EQ(x.on_result(0, 1, 0), actions{});
  EXPECT_EQ(x.on_result(0, 2, 0), actions{}) << "no rung";
  EXPECT_EQ(x.on_result(0, 3, 5), (actions{advance{4, 3}}));
  EXPECT_EQ(x.on_result(4, 3, 4), (actions{advance{8, 3}}));
  EXPECT_EQ(x.on_result(8, 3, 6),
            (actions{prune{0}, prune{8}, advance{4, 9}}));
  EXPECT_FALSE(x.done());
}

TEST(Dehb, BracketsOverlapInsteadOfWaiting) {
  auto x = nine(15, true, 2);
  start(x);
  for (trial_no trial = 0; trial < 7; ++trial)
    x.on_result(trial, 1, 1);
  // Trial 8 is awaited, so the next bracket begins, on its own rung: there is
  // nobody there yet.
  EXPECT_EQ(x.on_result(7, 1, 1), (actions{advance{9, 3}}));
  const auto next = x.on_result(8, 1, 0);
  EXPECT_EQ(next.back(), action{(advance{8, 3})}) << "the first one has work";
  EXPECT_EQ(next.size(), 7u);
}

/// DEHB word for word, for one trial at a time of which none fails.
struct model {
  struct place {
    std::optional<trial_no> holder;
    double loss = 0;
  };
  struct population {
    std::vector<place> places;
    std::size_t next = 0;

    /// The best `n`, the best first.
    [[nodiscard]] std::vector<trial_no> best(std::uint64_t n) const {
      std::vector<std::pair<double, trial_no>> known;
      for (const auto& x : places)
        if (x.holder)
          known.emplace_back(x.loss, *x.holder);
      std::sort(known.begin(), known.end());
      std::vector<trial_no> result;
      for (std::size_t i = 0; i < std::min<std::size_t>(n, known.size()); ++i)
        result.push_back(known[i].second);
      return result;
    }
  };

  explicit model(dehb& x) : tuner(x), wanted(start(x)) {}

  dehb& tuner;
  actions wanted;
  std::vector<population> populations;
  std::function<double(trial_no, step_t)> value;

  /// The ten best, of those that have come farthest first.
  [[nodiscard]] std::vector<trial_no> farthest() const {
    std::vector<trial_no> result;
    for (std::size_t rung = populations.size(); rung-- > 0;)
      for (const auto x : populations[rung].best(UINT64_MAX))
        if (std::count(result.begin(), result.end(), x) == 0)
          result.push_back(x);
    result.resize(std::min<std::size_t>(result.size(), 10));
    return result;
  }

  /// The action that is not about who ends.
  /// @param parents_from nothing: those that have come farthest
  void expect_one(std::size_t rung, std::optional<trial_no> goes_on,
                  trial_no fresh, std::optional<std::size_t> parents_from,
                  const steps& rungs) {
    auto& own = populations[rung];
    const auto at = own.next++ % own.places.size();
    auto& target = own.places[at];
    std::erase_if(wanted, [](const action& x) {
      return std::holds_alternative<prune>(x);
    });
    ASSERT_FALSE(wanted.empty());
    const auto trial = goes_on.value_or(fresh);
    ASSERT_EQ(wanted.back(), action{(advance{trial, rungs[rung]})});
    const bool is_cross = !goes_on && target.holder && others(target) >= 3;
    ASSERT_EQ(wanted.size(), is_cross ? 2u : 1u);
    if (is_cross) {
      const auto& x = std::get<cross>(wanted.front());
      EXPECT_EQ(x.trial, trial);
      EXPECT_EQ(x.target, *target.holder);
      expect_parents(x, parents_from ? populations[*parents_from].best(size)
                                     : farthest());
    }
    const auto loss = value(trial, rungs[rung]);
    if (!target.holder || loss <= target.loss)
      target = {trial, loss};
    reported.emplace_back(loss, trial);
    wanted = tuner.on_result(trial, rungs[rung], loss);
  }

  /// How many trials have places, but for the target.
  [[nodiscard]] std::size_t others(const place& target) const {
    std::set<trial_no> result;
    for (const auto& x : populations)
      for (const auto& y : x.places)
        if (y.holder && y.holder != target.holder)
          result.insert(*y.holder);
    return result.size();
  }

  /// Three others, of the best first.
  void expect_parents(const cross& x, std::vector<trial_no> best) {
    const std::set<trial_no> found{x.parents.begin(), x.parents.end()};
    EXPECT_EQ(x.parents.size(), 3u);
    EXPECT_EQ(found.size(), 3u);
    EXPECT_FALSE(found.contains(x.target));
    std::erase(best, x.target);
    std::size_t of_best = 0;
    for (auto y : best)
      of_best += found.contains(y);
    EXPECT_EQ(of_best, std::min<std::size_t>(3, best.size()));
    parents.insert(found.begin(), found.end());
    base.insert(x.parents.front());
  }

  std::uint64_t size = 0; ///< of the present rung
  std::vector<std::pair<double, trial_no>> reported;
  std::set<trial_no> parents, base; ///< whoever was one
};

TEST(Dehb, FollowsItsRule) {
  const std::vector<std::pair<steps, std::uint64_t>> cases{
    {{1, 3, 9}, 3}, {{1, 3, 9, 27}, 3}, {{2, 4}, 2}, {{1, 4, 16}, 4}};
  for (const auto& [rungs, eta] : cases)
    for (const bool always : {true, false})
      for (std::uint64_t seed = 0; seed < 10; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const auto round = dehb_brackets(rungs.size(), eta);
        std::uint64_t trials = 0;
        for (std::size_t i = 0; i < 3 * round.size(); ++i)
          for (std::size_t k = 0; k < round[i % round.size()].sizes.size(); ++k)
            if (k == 0 || (!always && i >= round.size()))
              trials += round[i % round.size()].sizes[k];
        dehb x{trials, rungs, eta, always, direction::minimize, 1, seed};
        model y{x};
        y.value = [&](trial_no trial, step_t at) {
          return random_results{seed, seed % 2 == 0 ? 5u : 1000u}.value(trial,
                                                                        at);
        };
        y.populations.resize(rungs.size());
        for (const auto& z : round)
          for (std::size_t k = 0; k < z.sizes.size(); ++k) {
            auto& places = y.populations[z.first_rung + k].places;
            places.resize(std::max<std::size_t>(places.size(), z.sizes[k]));
          }
        trial_no fresh = 0;
        for (std::size_t i = 0; i < 3 * round.size(); ++i) {
          const auto& z = round[i % round.size()];
          for (std::size_t k = 0; k < z.sizes.size(); ++k) {
            const bool promotes = k > 0 && (always || i < round.size());
            auto before = std::exchange(y.reported, {});
            std::sort(before.begin(), before.end());
            y.size = z.sizes[k];
            const auto rung = z.first_rung + k;
            for (std::size_t n = 0; n < y.size; ++n) {
              y.expect_one(
                rung, promotes ? std::optional{before[n].second} : std::nullopt,
                fresh,
                always ? std::nullopt : std::optional{k == 0 ? rung : rung - 1},
                rungs);
              if (HasFatalFailure())
                return;
              fresh += !promotes;
            }
          }
          y.reported.clear();
        }
        EXPECT_EQ(fresh, trials);
        EXPECT_TRUE(x.done());
        if (rungs.size() == 2)
          continue; // there are hardly three others
        EXPECT_GT(y.parents.size(), 3u);
        EXPECT_GT(y.base.size(), 2u) << "who is the base is left to chance";
      }
}

TEST(Dehb, ATargetGivesItsPlaceToWhoIsNoWorse) {
  // Places by their holders: the target of the next cross shows one.
  const auto holder_after = [](double first, double second) {
    dehb x{60, {1, 2}, 4, true, direction::minimize, 1, 0}; // 4-1, 2
    auto wanted = start(x);
    trial_no target = UINT64_MAX;
    for (int round = 0; round < 3; ++round) {
      for (trial_no i = 0; i < 4; ++i) { // rung 1
        const auto trial = std::get<advance>(wanted.back()).trial;
        if (round == 2 && i == 0)
          target = std::get<cross>(wanted[wanted.size() - 2]).target;
        const auto value = i > 0 ? 5 : round == 0 ? first : second;
        wanted = x.on_result(trial, 1, value);
      }
      for (trial_no i = 0; i < 3; ++i) // who goes on, and the second bracket
        wanted = x.on_result(std::get<advance>(wanted.back()).trial, 2, 1);
    }
    return target;
  };
  EXPECT_EQ(holder_after(3, 3), 6u);
  EXPECT_EQ(holder_after(3, 2), 6u);
  EXPECT_EQ(holder_after(3, 4), 0u);
  EXPECT_EQ(holder_after(3, nan), 0u);
  EXPECT_EQ(holder_after(nan, nan), 6u);
  EXPECT_EQ(holder_after(nan, 9), 6u);
}

TEST(Dehb, WhatFailsTakesNoPlaceAndDoesNotGoOn) {
  auto x = nine(12);
  start(x);
  for (trial_no trial = 0; trial < 7; ++trial)
    x.on_failure(trial);
  EXPECT_EQ(x.on_result(7, 1, 2), (actions{advance{8, 1}}));
  EXPECT_EQ(x.on_result(8, 1, 1), (actions{advance{8, 3}})) << "two of three";
  EXPECT_EQ(x.on_result(8, 3, 1), (actions{advance{7, 3}}));
  x.on_failure(7); // on its way
  // The place of trial 7 on this rung is empty, so the third is drawn.
  EXPECT_EQ(x.on_result(8, 9, 1), (actions{advance{9, 3}}));
  EXPECT_EQ(x.on_result(9, 3, 1), (actions{advance{10, 3}}));
}

TEST(Dehb, WhoIsCancelledAtRestDoesNotGoOn) {
  auto x = nine(15);
  start(x);
  for (trial_no trial = 0; trial < 8; ++trial)
    x.on_result(trial, 1, static_cast<double>(trial));
  EXPECT_EQ(x.on_failure(1), actions{}); // on a rung that has not ended
  x.on_result(8, 1, 8); // 0, 2 and 3 go on
  EXPECT_EQ(x.on_failure(3), actions{});
  EXPECT_EQ(x.on_result(0, 3, 0), (actions{advance{2, 3}}));
  EXPECT_EQ(x.on_result(2, 3, 1), (actions{prune{2}, advance{0, 9}}));
}

TEST(Dehb, SmallBudgetsMakeTheLastBracketSmaller) {
  auto few = nine(4); // 4-1-1
  start(few);
  for (trial_no trial = 0; trial < 3; ++trial)
    few.on_result(trial, 1, 1);
  EXPECT_EQ(few.on_result(3, 1, 0),
            (actions{prune{0}, prune{1}, prune{2}, advance{3, 3}}));
  EXPECT_EQ(few.on_result(3, 3, 0), (actions{advance{3, 9}}));
  EXPECT_EQ(few.on_result(3, 9, 0), actions{});
  EXPECT_TRUE(few.done());
}

TEST(Dehb, ATrialIsTakenBackWhileItsRungLasts) {
  auto x = nine(15);
  start(x);
  x.on_failure(0);
  EXPECT_TRUE(x.take_back(0));
  EXPECT_EQ(x.on_result(0, 1, -1), actions{}) << "trial 1 is in flight";
  for (trial_no trial = 1; trial < 8; ++trial)
    x.on_result(trial, 1, static_cast<double>(trial));
  const auto next = x.on_failure(8);
  EXPECT_EQ(next.back(), action{(advance{0, 3})});
  EXPECT_FALSE(x.take_back(8)) << "the rung has ended without it";
  EXPECT_EQ(x.on_result(8, 1, -9), actions{});
  x.on_failure(0);
  EXPECT_TRUE(x.take_back(0));
}

TEST(Dehb, WhereAllFailItEndsAndMayGoOn) {
  dehb x{2, {1, 2}, 2, true, direction::minimize, 1, 0};
  start(x);
  x.on_failure(0);
  EXPECT_FALSE(x.done());
  x.on_failure(1);
  EXPECT_TRUE(x.done());
  EXPECT_TRUE(x.take_back(1));
  EXPECT_FALSE(x.done());
  EXPECT_EQ(x.on_result(1, 1, 1), (actions{advance{1, 2}}));
  EXPECT_EQ(x.on_result(1, 2, 1), actions{});
  EXPECT_TRUE(x.done());
}

TEST(Dehb, StartsAsManyAsKeepTrainersBusy) {
  auto x = nine(15, true, std::nullopt);
  EXPECT_EQ(start(x).size(), 1u);
  EXPECT_TRUE(x.wants_capacity());
  EXPECT_EQ(x.widen(3).size(), 3u);
  EXPECT_EQ(x.on_result(2, 1, 0).size(), 1u);
  auto fixed = nine(15);
  start(fixed);
  EXPECT_FALSE(fixed.wants_capacity());
  EXPECT_EQ(fixed.widen(3), actions{});
  auto all = nine(40, true, 0);
  EXPECT_EQ(start(all).size(), 40u);
}

} // namespace
} // namespace hippo
