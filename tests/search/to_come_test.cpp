#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/search/tuner.hpp"
#include "search/studies.hpp"

namespace hippo {
namespace {

/// Runs a study in random order, and looks at each moment at what was asked for
/// and what is said to be still to come.
class watched_run {
public:
  explicit watched_run(const study_spec& x) : tuner_(x, read_search(x), {}) {
    take(tuner_.start());
  }

  /// @returns what was asked for and to come, added up, at each moment
  std::vector<std::uint64_t> run(std::uint64_t seed) {
    std::mt19937_64 random{seed};
    std::vector<std::uint64_t> result{total()};
    while (!running_.empty()) {
      auto i = running_.begin();
      std::advance(i, static_cast<std::ptrdiff_t>(random() % running_.size()));
      const auto [trial, to] = *i;
      running_.erase(i);
      take(tuner_.on_result(trial, to, static_cast<double>(random() % 1000)));
      if (tuner_.wants_capacity() && running_.size() < 4)
        take(tuner_.widen(1));
      result.push_back(total());
    }
    EXPECT_TRUE(tuner_.done());
    EXPECT_EQ(tuner_.to_come(), expected_work{});
    return result;
  }

  [[nodiscard]] const tuner& decisions() const { return tuner_; }

private:
  [[nodiscard]] std::uint64_t total() const {
    std::uint64_t result = tuner_.to_come().steps;
    for (const auto& [trial, to] : asked_)
      result += to;
    return result;
  }

  void take(const turn& turn) {
    for (const auto& y : turn.asked) {
      running_[y.trial] = y.to;
      // A fork has what it shares with the trial that it comes from.
      const auto* from = tuner_.origin(y.trial);
      asked_[y.trial] = y.to - (from != nullptr ? from->at : 0);
    }
  }

  tuner tuner_;
  std::map<trial_no, step_t> running_;
  std::map<trial_no, step_t> asked_;
};

constexpr auto endless_budget = "budget: {trials: 40}";

TEST(ToCome, IsExactWhereTheAlgorithmDoesNotDependOnTiming) {
  for (const auto* algorithm :
       {"random", "sha", "{sha: {min: 5, eta: 2}}", "hyperband",
        "{hyperband: {order: in-turn, min: 3}}", "{tpe: {startup: 3}}",
        "{dehb: {min: 9}}", "{dehb: {min: 2, eta: 4, promote: first-round}}",
        "{dehb: {min: 9, promote: first-round}}", "{pbt: {interval: 9}}"})
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      watched_run x{study(endless, algorithm, endless_budget)};
      const auto totals = x.run(seed);
      for (auto total : totals)
        EXPECT_EQ(total, totals.back()) << algorithm;
    }
}

TEST(ToCome, ExpectsThePromotionsOfAsha) {
  watched_run x{study(endless, "{asha: {max_concurrent: 0}}", endless_budget)};
  // 40 trials to step 1, 13 to 3, 4 to 9, one to 27 and to 81
  EXPECT_EQ(x.decisions().to_come(),
            (expected_work{13 * 2 + 4 * 6 + 18 + 54, 80}));
  x.run(1);
}

} // namespace
} // namespace hippo
