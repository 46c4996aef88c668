#include "hippo/search/algorithm/asha.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <gtest/gtest.h>

#include "hippo/search/algorithm/rungs.hpp"
#include "search/trainers.hpp"

namespace hippo {
namespace {

using actions = std::vector<action>;

// -- promotion ----------------------------------------------------------------

TEST(AshaPromotion, PromotesAsResultsComeIn) {
  asha_promotion x{6, {1, 3, 9}, 2, direction::maximize, 0};
  EXPECT_EQ(start(x).size(), 6u);
  EXPECT_EQ(x.on_result(0, 1, 10), actions{}); // floor(1 / 2) = 0 go on
  EXPECT_EQ(x.on_result(1, 1, 20), (actions{advance{1, 3}}));
  EXPECT_EQ(x.on_result(2, 1, 5), actions{});
  EXPECT_EQ(x.on_result(3, 1, 30), (actions{advance{3, 3}}));
  EXPECT_EQ(x.on_result(1, 3, 21), actions{});
  EXPECT_EQ(x.on_result(3, 3, 20), (actions{advance{1, 9}}));
  EXPECT_EQ(x.on_result(4, 1, 1), actions{});
  EXPECT_EQ(x.on_result(5, 1, 2), (actions{advance{0, 3}})); // third of six
  EXPECT_EQ(x.on_result(0, 3, 1), actions{});
  EXPECT_FALSE(x.done());
  EXPECT_EQ(x.on_result(1, 9, 50),
            (actions{prune{0}, prune{2}, prune{3}, prune{4}, prune{5}}));
  EXPECT_TRUE(x.done());
}

TEST(AshaPromotion, TheFormerLastRungPromotesOnceTrialsAreLonger) {
  asha_promotion x{4, {1, 3}, 2, direction::maximize, 0};
  start(x);
  for (trial_no trial = 0; trial < 4; ++trial)
    x.on_result(trial, 1, 4 - static_cast<double>(trial)); // 0 and 1 go on
  x.on_result(0, 3, 7);
  x.on_result(1, 3, 8);
  ASSERT_TRUE(x.done());
  EXPECT_EQ(x.lengthen(10), (std::vector<trial_no>{0, 1}));
  EXPECT_EQ(x.rungs(), (std::vector<step_t>{1, 3, 6, 10}));
  EXPECT_FALSE(x.done());
  EXPECT_EQ(x.go_on(), (actions{advance{1, 6}})); // the better half of two
  EXPECT_EQ(x.on_result(1, 6, 8), (actions{advance{1, 10}})); // none else may
  EXPECT_EQ(x.on_result(1, 10, 8), (actions{prune{0}}));
  EXPECT_TRUE(x.done());
}

TEST(AshaPromotion, FailuresOnTheWayToTheLastRungCountThereLater) {
  asha_promotion x{6, {1, 2}, 2, direction::maximize, 0};
  start(x);
  for (trial_no trial = 0; trial < 6; ++trial)
    x.on_result(trial, 1, 6 - static_cast<double>(trial));
  // 0, 1 and 2 were sent on.
  x.on_failure(1);
  x.on_result(0, 2, 5);
  EXPECT_TRUE(x.lengthen(4) == std::vector<trial_no>{0});
  EXPECT_EQ(x.go_on(), (actions{advance{0, 4}})); // 1 of 2, one has failed
  EXPECT_TRUE(x.take_back(1));
  EXPECT_EQ(x.on_result(1, 2, 4), actions{}); // 1 of 2, none has failed
  EXPECT_EQ(x.on_result(2, 2, 1), actions{});
  EXPECT_EQ(x.on_result(0, 4, 5),
            (actions{prune{1}, prune{2}, prune{3}, prune{4}, prune{5}}));
  EXPECT_TRUE(x.done());
}

TEST(AshaStopping, TheFormerLastRungStopsOnceTrialsAreLonger) {
  asha_stopping x{3, {1, 2}, 2, direction::maximize, 1};
  start(x);
  // One after the other: the later ones are better.
  for (trial_no trial = 0; trial < 3; ++trial) {
    x.on_result(trial, 1, static_cast<double>(trial));
    x.on_result(trial, 2, static_cast<double>(trial));
  }
  ASSERT_TRUE(x.done());
  EXPECT_EQ(x.lengthen(4), (std::vector<trial_no>{0, 1, 2}));
  // The worst of three is below the median; one at a time may be in flight.
  EXPECT_EQ(x.go_on(), (actions{advance{1, 4}}));
  EXPECT_EQ(x.on_result(1, 4, 1), (actions{advance{2, 4}}));
  EXPECT_EQ(x.on_result(2, 4, 2), (actions{prune{0}}));
  EXPECT_TRUE(x.done());
}

TEST(AshaPromotion, AFreeSlotGoesToAPromotionBeforeANewTrial) {
  asha_promotion x{9, {1, 2, 4}, 2, direction::minimize, 1};
  EXPECT_EQ(start(x), (actions{advance{0, 1}}));
  EXPECT_EQ(x.on_result(0, 1, 4), (actions{advance{1, 1}}));
  EXPECT_EQ(x.on_result(1, 1, 3), (actions{advance{1, 2}}));
  EXPECT_EQ(x.on_result(1, 2, 3), (actions{advance{2, 1}}));
  EXPECT_EQ(x.on_result(2, 1, 1), (actions{advance{2, 2}})); // best of three
  EXPECT_EQ(x.on_result(2, 2, 1), (actions{advance{2, 4}})); // best of two
  EXPECT_EQ(x.on_result(2, 4, 1), (actions{advance{3, 1}}));
}

TEST(AshaPromotion, RoomIsMadeOneTrialAfterTheOther) {
  asha_promotion x{5, {1, 2}, 2, direction::minimize, std::nullopt};
  EXPECT_EQ(start(x), (actions{advance{0, 1}}));
  EXPECT_TRUE(x.wants_capacity());
  EXPECT_EQ(x.widen(2), (actions{advance{1, 1}, advance{2, 1}}));
  EXPECT_EQ(x.on_result(1, 1, 5), (actions{advance{3, 1}}));
  EXPECT_EQ(x.on_result(0, 1, 4), (actions{advance{0, 2}})); // best of two
  EXPECT_TRUE(x.wants_capacity());
  EXPECT_EQ(x.widen(3), (actions{advance{4, 1}}));
  EXPECT_FALSE(x.wants_capacity()); // there is nothing to start
  EXPECT_EQ(x.on_result(2, 1, 6), actions{});
  EXPECT_EQ(x.on_result(3, 1, 3), (actions{advance{3, 2}}));
  EXPECT_EQ(x.on_result(4, 1, 7), actions{});
  EXPECT_EQ(x.on_failure(0), actions{});
  EXPECT_EQ(x.on_result(3, 2, 1), (actions{prune{1}, prune{2}, prune{4}}));
  EXPECT_TRUE(x.done());
  EXPECT_FALSE(x.wants_capacity());
  EXPECT_EQ(x.widen(1), actions{});
}

TEST(AshaPromotion, AGivenNumberIsNotExceeded) {
  asha_promotion x{5, {1, 2}, 2, direction::minimize, 2};
  EXPECT_EQ(start(x).size(), 2u);
  EXPECT_FALSE(x.wants_capacity());
  EXPECT_EQ(x.widen(2), actions{});
}

TEST(AshaPromotion, FailuresCountAsTheWorst) {
  asha_promotion x{4, {1, 2}, 4, direction::minimize, 0};
  start(x);
  EXPECT_EQ(x.on_failure(0), actions{});
  EXPECT_EQ(x.on_result(1, 1, 1), actions{});
  EXPECT_EQ(x.on_failure(1), actions{}); // cancelled while it rests
  EXPECT_EQ(x.on_result(2, 1, NAN), actions{});
  EXPECT_EQ(x.on_failure(3), (actions{advance{2, 2}}));
  EXPECT_EQ(x.on_failure(2), actions{});
  EXPECT_TRUE(x.done());
}

TEST(AshaPromotion, TrialsCancelledBeforeTheyStartAreSkipped) {
  asha_promotion x{3, {1}, 2, direction::minimize, 1};
  start(x);
  EXPECT_EQ(x.on_failure(1), actions{});
  EXPECT_EQ(x.on_result(0, 1, 1), (actions{advance{2, 1}}));
  EXPECT_EQ(x.on_result(2, 1, 1), actions{});
  EXPECT_TRUE(x.done());
}

TEST(AshaPromotion, WaitsForTrialsThatAreYetToBeOpened) {
  asha_promotion x{3, {1, 2}, 2, direction::minimize, 0};
  EXPECT_EQ(x.open(1), (actions{advance{0, 1}}));
  EXPECT_EQ(x.on_result(0, 1, 5), actions{}); // at rest, not at its end
  EXPECT_FALSE(x.done());
  EXPECT_EQ(x.open(3), (actions{advance{1, 1}, advance{2, 1}}));
  EXPECT_EQ(x.on_failure(1), (actions{advance{0, 2}}));
}

/// States that are told by hand: at step 1 all are one, at step 2 as given.
/// What is expected of trials is told by hand as well.
class told_states : public trial_states {
public:
  explicit told_states(std::vector<std::uint64_t> at_2,
                       std::map<trial_no, double> expected = {})
    : at_2_(std::move(at_2)), expected_(std::move(expected)) {}
  [[nodiscard]] std::uint64_t of(trial_no trial, step_t rung) const override {
    return rung < 2 ? 0 : at_2_[trial];
  }
  [[nodiscard]] std::optional<double>
  predicted(trial_no trial_number) const override {
    const auto i = expected_.find(trial_number);
    return i == expected_.end() ? std::nullopt : std::optional{i->second};
  }

private:
  std::vector<std::uint64_t> at_2_;
  std::map<trial_no, double> expected_;
};

TEST(AshaPromotion, OfEqualTrialsThatWhichDiffersFromThoseGoneGoesOn) {
  const told_states states{{1, 1, 2, 2, 3, 1}};
  asha_promotion x{6, {1, 2}, 2, direction::minimize, 0, &states};
  start(x);
  EXPECT_EQ(x.on_result(5, 1, 9), actions{}); // worse: no equal one
  EXPECT_EQ(x.on_result(0, 1, 7), (actions{advance{0, 2}}));
  EXPECT_EQ(x.on_result(1, 1, 7), actions{});
  EXPECT_EQ(x.on_result(2, 1, 7), (actions{advance{2, 2}}));
  EXPECT_EQ(x.on_result(3, 1, 7), actions{});
  EXPECT_EQ(x.on_result(4, 1, 7), (actions{advance{4, 2}}));
  x.on_result(0, 2, 1);
  x.on_result(2, 2, 1);
  EXPECT_EQ(x.on_result(4, 2, 1), (actions{prune{1}, prune{3}, prune{5}}));
}

TEST(AshaPromotion, OfEqualTrialsThatGoesOnOfWhichMostWasExpected) {
  for (const auto better : {direction::minimize, direction::maximize}) {
    const auto sign = better == direction::minimize ? 1.0 : -1.0;
    // Of 0 nothing was expected, of 1 and 3 as much.
    const told_states states{
      {1, 1, 2, 2, 3, 1},
      {{1, sign * 5}, {2, sign * 4}, {3, sign * 5}, {4, sign * 6}}};
    asha_promotion x{6, {1, 2}, 2, better, 3, &states};
    EXPECT_EQ(start(x),
              (actions{advance{0, 1}, advance{1, 1}, advance{2, 1}}));
    EXPECT_EQ(x.on_result(0, 1, sign * 7), (actions{advance{3, 1}}));
    EXPECT_EQ(x.on_result(1, 1, sign * 7), (actions{advance{1, 2}}));
    EXPECT_EQ(x.on_result(2, 1, sign * 7), (actions{advance{4, 1}}));
    EXPECT_EQ(x.on_result(3, 1, sign * 7), (actions{advance{2, 2}}));
    EXPECT_EQ(x.on_result(4, 1, sign * 7), (actions{advance{5, 1}}));
    // 5 is worse than all; 3 was expected to be better than 4 and 0.
    EXPECT_EQ(x.on_result(5, 1, sign * 9), (actions{advance{3, 2}}));
  }
}

TEST(AshaPromotion, OfAsMuchThatIsExpectedGoesOnWhatDiffers) {
  const told_states states{{1, 1, 2, 3}, {{0, 5}, {1, 5}, {2, 5}}};
  asha_promotion x{4, {1, 2}, 2, direction::minimize, 0, &states};
  start(x);
  EXPECT_EQ(x.on_result(3, 1, 7), actions{});
  EXPECT_EQ(x.on_result(0, 1, 7), (actions{advance{0, 2}}));
  EXPECT_EQ(x.on_result(1, 1, 7), actions{});
  EXPECT_EQ(x.on_result(2, 1, 7), (actions{advance{2, 2}}));
}

TEST(AshaPromotion, ATrialThatHasChangedPlacesCanBeCancelled) {
  const told_states states{{1, 1, 2, 3, 4, 5}};
  asha_promotion x{6, {1, 2}, 2, direction::minimize, 0, &states};
  start(x);
  x.on_result(0, 1, 7);
  EXPECT_EQ(x.on_result(1, 1, 7), (actions{advance{0, 2}}));
  x.on_result(2, 1, 7);
  EXPECT_EQ(x.on_result(3, 1, 7), (actions{advance{2, 2}})); // as 1 is 0
  EXPECT_EQ(x.on_failure(1), actions{}); // it had the place of 2 from then on
  EXPECT_EQ(x.on_result(4, 1, 8), actions{});
  EXPECT_EQ(x.on_result(5, 1, 8), (actions{advance{3, 2}}));
}

TEST(AshaPromotion, InTheEndTheBestGoOnUntilOneIsThere) {
  asha_promotion x{2, {1, 3, 9}, 3, direction::minimize, 0};
  start(x);
  EXPECT_EQ(x.on_result(0, 1, 5), actions{});
  EXPECT_EQ(x.on_result(1, 1, 4), (actions{advance{1, 3}}));
  EXPECT_EQ(x.on_result(1, 3, 4), (actions{advance{1, 9}}));
  EXPECT_EQ(x.on_failure(1), (actions{advance{0, 3}})); // the next best
  EXPECT_EQ(x.on_result(0, 3, 9), (actions{advance{0, 9}}));
  EXPECT_EQ(x.on_result(0, 9, 9), actions{});
  EXPECT_TRUE(x.done());
}

TEST(AshaPromotion, OneTrialIsTrainedToTheEnd) {
  asha_promotion x{1, {1, 3, 5}, 3, direction::maximize, std::nullopt};
  start(x);
  EXPECT_EQ(x.on_result(0, 1, 5), (actions{advance{0, 3}}));
  EXPECT_EQ(x.on_result(0, 3, 5), (actions{advance{0, 5}}));
  EXPECT_EQ(x.on_result(0, 5, 5), actions{});
  EXPECT_TRUE(x.done());
}

TEST(AshaPromotion, NothingGoesOnInTheEndWhereOneWasThere) {
  asha_promotion x{3, {1, 2}, 3, direction::maximize, 0};
  start(x);
  x.on_result(0, 1, 1);
  x.on_result(1, 1, 2);
  EXPECT_EQ(x.on_result(2, 1, 3), (actions{advance{2, 2}}));
  EXPECT_EQ(x.on_result(2, 2, 0), (actions{prune{0}, prune{1}}));
}

/// Trials of one group are equal, whatever happens. Two rungs: who gets to the
/// second one earlier decides there who of equal ones is first.
TEST(AshaPromotion, StatesDecideOnlyWhichOfEqualTrialsGoesOn) {
  std::mt19937_64 random{1};
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t trials = 1 + random() % 40, groups = 1 + random() % 5,
                        slots = random() % 8, salt = random();
    std::vector<std::uint64_t> at_2(trials);
    for (std::uint64_t i = 0; i < trials; ++i)
      at_2[i] = i % groups * 4 + random() % 4;
    std::map<trial_no, double> expected;
    for (trial_no i = 0; i < trials; ++i)
      if (random() % 2 == 0)
        expected[i] = static_cast<double>(random() % 3);
    const told_states states{at_2, expected};
    const auto history = [&](const trial_states* known) {
      asha_promotion x{trials, {1, 2}, 2, direction::minimize, slots, known};
      std::vector<std::pair<std::uint64_t, step_t>> result; // group, rung
      std::deque<advance> running;
      const auto take = [&](const actions& ys) {
        for (const auto& y : ys)
          if (const auto* asked = std::get_if<advance>(&y)) {
            running.push_back(*asked);
            result.emplace_back(asked->trial % groups, asked->to);
          }
      };
      take(start(x));
      for (std::uint64_t i = 0; !running.empty(); ++i) {
        const auto [trial, to] = running.front();
        running.pop_front();
        const std::uint64_t key[]{i, salt};
        take(hash_bytes(key, sizeof key) % 8 == 0
               ? x.on_failure(trial)
               : x.on_result(trial, to, static_cast<double>(trial % groups)));
      }
      EXPECT_TRUE(x.done());
      return result;
    };
    EXPECT_EQ(history(&states), history(nullptr));
  }
}

/// `get_job` of the paper's algorithm 2, as it stands there; the values of
/// failed trials are infinite.
class paper_model {
public:
  paper_model(std::vector<step_t> rungs, std::uint64_t trials,
              std::uint64_t eta, bool maximize)
    : rungs_(rungs), records_(rungs.size()), promoted_(rungs.size()),
      trials_(trials), eta_(eta), sign_(maximize ? -1 : 1) {}

  void record(trial_no trial, std::size_t rung, double value) {
    records_[rung].push_back(
      {std::isnan(value) ? 1e300 : sign_ * value, trial});
  }

  void fail(trial_no trial, std::size_t rung) {
    std::erase_if(records_[rung],
                  [trial](const auto& x) { return x.second == trial; });
    records_[rung].push_back({INFINITY, trial});
  }

  /// What the paper has not: the best one on the highest rung goes on if in the
  /// end none would be trained to the last one.
  std::optional<action> last_job() {
    for (auto k = rungs_.size() - 1; k-- > 0;) {
      auto sorted = records_[k];
      std::sort(sorted.begin(), sorted.end());
      for (const auto& [loss, trial] : sorted)
        if (loss != INFINITY && promoted_[k].insert(trial).second)
          return advance{trial, rungs_[k + 1]};
    }
    return std::nullopt;
  }

  std::optional<action> get_job() {
    for (auto k = rungs_.size() - 1; k-- > 0;) {
      auto sorted = records_[k];
      std::sort(sorted.begin(), sorted.end());
      const auto top = sorted.size() / eta_;
      for (std::size_t i = 0; i < top; ++i)
        if (sorted[i].first != INFINITY
            && promoted_[k].insert(sorted[i].second).second)
          return advance{sorted[i].second, rungs_[k + 1]};
    }
    if (next_ < trials_)
      return advance{next_++, rungs_[0]};
    return std::nullopt;
  }

private:
  std::vector<step_t> rungs_;
  std::vector<std::vector<std::pair<double, trial_no>>> records_;
  std::vector<std::set<trial_no>> promoted_;
  std::uint64_t trials_, eta_;
  double sign_;
  trial_no next_ = 0;
};

class AshaModel : public testing::TestWithParam<std::uint64_t> {};

TEST_P(AshaModel, PromotesAsThePaperDoes) {
  std::mt19937_64 random{GetParam()};
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t trials = 1 + random() % 60, eta = 2 + random() % 3,
                        slots = random() % 12;
    const auto rungs = rung_steps(1 + random() % 3, 3 + random() % 90, eta);
    const bool maximize = random() % 2 == 0;
    asha_promotion x{trials, rungs, eta,
                     maximize ? direction::maximize : direction::minimize,
                     slots};
    paper_model model{rungs, trials, eta, maximize};
    const random_results results{random(), random() % 2 == 0 ? 4u : 100000u,
                                 random() % 2 * 20, random() % 3 * 15};
    std::map<trial_no, std::size_t> running;  // and to which rung
    std::map<trial_no, std::size_t> resting;
    std::vector<trial_no> known;
    bool finished = false;
    const auto expected = [&] {
      actions result;
      const auto begin = [&](const action& job) {
        const auto [trial, to] = std::get<advance>(job);
        running[trial] = static_cast<std::size_t>(
          std::find(rungs.begin(), rungs.end(), to) - rungs.begin());
        resting.erase(trial);
        result.push_back(job);
      };
      while (slots == 0 || running.size() < slots) {
        const auto job = model.get_job();
        if (!job)
          break;
        begin(*job);
      }
      // One result lets at most one trial go on.
      EXPECT_LE(std::count_if(result.begin(), result.end(),
                              [&](const action& y) {
                                return std::get<advance>(y).to != rungs[0];
                              }),
                1);
      if (running.empty() && !finished)
        if (const auto job = model.last_job())
          begin(*job);
      if (running.empty())
        for (const auto& [trial, rung] : resting)
          result.emplace_back(prune{trial});
      return result;
    };
    ASSERT_EQ(start(x), expected());
    while (!running.empty()) {
      if (!resting.empty() && random() % 30 == 0) { // one is cancelled
        const auto [trial, rung] = *resting.begin();
        resting.erase(trial);
        model.fail(trial, rung);
        ASSERT_EQ(x.on_failure(trial), expected());
        continue;
      }
      auto at = running.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(random() % running.size()));
      const auto [trial, rung] = *at;
      running.erase(at);
      if (results.fails(trial, rungs[rung])) {
        model.fail(trial, rung);
        ASSERT_EQ(x.on_failure(trial), expected());
        continue;
      }
      const auto value = results.value(trial, rungs[rung]);
      model.record(trial, rung, value);
      if (rung + 1 < rungs.size())
        resting[trial] = rung;
      else
        finished = true;
      ASSERT_EQ(x.on_result(trial, rungs[rung], value), expected());
    }
    EXPECT_TRUE(x.done());
  }
}

// -- stopping -----------------------------------------------------------------

TEST(AshaStopping, ComparesWithWhatWasRecordedBefore) {
  asha_stopping x{9, {1, 2}, 4, direction::maximize, 0};
  EXPECT_EQ(start(x).size(), 9u);
  EXPECT_EQ(x.on_result(0, 1, 1), (actions{advance{0, 2}})); // never stopped
  EXPECT_EQ(x.on_result(1, 1, 2), (actions{advance{1, 2}}));
  EXPECT_EQ(x.on_result(2, 1, 3), (actions{advance{2, 2}}));
  EXPECT_EQ(x.on_result(3, 1, 4), (actions{advance{3, 2}}));
  // numpy.percentile([1, 2, 3, 4], 75) = 3.25
  EXPECT_EQ(x.on_result(4, 1, 3.2), (actions{prune{4}}));
  // numpy.percentile([1, 2, 3, 3.2, 4], 75) = 3.2, which is not below itself
  EXPECT_EQ(x.on_result(5, 1, 3.2), (actions{advance{5, 2}}));
  EXPECT_EQ(x.on_result(6, 1, NAN), (actions{prune{6}}));
  EXPECT_EQ(x.on_failure(7), actions{});
  // Neither was recorded: numpy.percentile([1, 2, 3, 3.2, 3.2, 4], 75) = 3.2
  EXPECT_EQ(x.on_result(8, 1, 3.1999), (actions{prune{8}}));
  for (trial_no trial : {0, 1, 2, 3})
    EXPECT_EQ(x.on_result(trial, 2, 0), actions{});
  EXPECT_FALSE(x.done());
  EXPECT_EQ(x.on_result(5, 2, 0), actions{});
  EXPECT_TRUE(x.done());
}

TEST(AshaStopping, KnowsTheDirection) {
  asha_stopping x{4, {1, 2}, 3, direction::minimize, 0};
  start(x);
  EXPECT_EQ(x.on_result(0, 1, 1), (actions{advance{0, 2}}));
  EXPECT_EQ(x.on_result(1, 1, 2), (actions{prune{1}}));
  // -numpy.percentile([-1, -2], 200 / 3) = 1.3333
  EXPECT_EQ(x.on_result(2, 1, 1.34), (actions{prune{2}}));
  EXPECT_EQ(x.on_result(3, 1, 1.1), (actions{advance{3, 2}}));
}

TEST(AshaStopping, ANanThatComesFirstGoesOn) {
  asha_stopping x{3, {1, 2}, 2, direction::minimize, 0};
  start(x);
  EXPECT_EQ(x.on_result(0, 1, NAN), (actions{advance{0, 2}}));
  EXPECT_EQ(x.on_result(1, 1, 5), (actions{advance{1, 2}}));
  EXPECT_EQ(x.on_result(2, 1, NAN), (actions{prune{2}}));
}

/// numpy.percentile(xs, 100 * (1 - 1 / eta)) in plain words.
double percentile(std::vector<double> xs, double eta) {
  std::sort(xs.begin(), xs.end());
  const auto place = (1 - 1 / eta) * static_cast<double>(xs.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  if (low + 1 == xs.size())
    return xs[low];
  return xs[low]
         + (xs[low + 1] - xs[low]) * (place - static_cast<double>(low));
}

TEST_P(AshaModel, StopsAsRayTuneDoes) {
  std::mt19937_64 random{GetParam()};
  for (std::uint64_t eta = 2; eta <= 6; ++eta) {
    const bool maximize = random() % 2 == 0;
    asha_stopping x{300, {1, 2}, eta,
                    maximize ? direction::maximize : direction::minimize, 0};
    start(x);
    std::vector<double> recorded;
    for (trial_no trial = 0; trial < 300; ++trial) {
      const auto value = static_cast<double>(random() >> 11);
      const auto reward = maximize ? value : -value;
      const bool stops
        = !recorded.empty()
          && reward < percentile(recorded, static_cast<double>(eta));
      recorded.push_back(reward);
      ASSERT_EQ(x.on_result(trial, 1, value),
                (actions{stops ? action{prune{trial}}
                               : action{advance{trial, 2}}}));
    }
  }
}

TEST(AshaStopping, KeepsSlotsFilled) {
  asha_stopping x{40, {1, 3, 9}, 3, direction::maximize, 4};
  trainers all{x, {3}, 4};
  all.run();
  EXPECT_EQ(all.most_running(), 4u);
  EXPECT_EQ(all.reached().size(), 40u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AshaModel,
                         testing::Range<std::uint64_t>(1, 26));

} // namespace
} // namespace hippo
