#include "hippo/search/sampler/freeze_thaw_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "search/studies.hpp"

namespace hippo {
namespace {

double number(const trial_parameters& from, const std::string& name) {
  return std::get<double>(from.sequences.at(name).at(0));
}

/// A study with one trainer, which trains so many steps at most.
class played {
public:
  using curve = std::function<double(const trial_parameters& x, step_t at)>;

  played(const study_spec& spec, curve measure)
    : tuner_(tuner_of(spec)), measure_(std::move(measure)) {
    take(tuner_.start());
  }

  /// Restores the choices of another one, as a restart does.
  void restore(const played& from) {
    for (const auto& [trial, choice] : from.choices_)
      tuner_.restore(trial, choice);
  }

  void run(step_t steps) {
    while (trained_ < steps) {
      if (asked_.empty() && tuner_.wants_capacity())
        take(tuner_.widen(1));
      if (asked_.empty())
        return;
      const auto [trial, to] = asked_.front();
      asked_.erase(asked_.begin());
      trained_ += to - reached_[trial];
      reached_[trial] = to;
      const auto value = measure_(tuner_.parameters(trial), to);
      best_ = std::max(best_, value);
      take(tuner_.on_result(trial, to, value));
    }
  }

  [[nodiscard]] double best() const { return best_; }
  [[nodiscard]] const std::vector<advance>& decided() const { return decided_; }
  [[nodiscard]] const std::map<trial_no, step_t>& reached() const {
    return reached_;
  }
  [[nodiscard]] const tuner& decisions() const { return tuner_; }

private:
  void take(const turn& x) {
    for (const auto trial : x.added)
      if (auto choice = tuner_.choice_of(trial))
        choices_.emplace(trial, std::move(*choice));
    asked_.insert(asked_.end(), x.asked.begin(), x.asked.end());
    decided_.insert(decided_.end(), x.asked.begin(), x.asked.end());
  }

  tuner tuner_;
  curve measure_;
  std::vector<advance> asked_, decided_;
  std::map<trial_no, step_t> reached_;
  std::map<trial_no, trial_choice> choices_;
  step_t trained_ = 0;
  double best_ = -INFINITY;
};

constexpr auto cube = "{x: {uniform: [0, 1]}, y: {uniform: [0, 1]},"
                      " z: {uniform: [0, 1]}}";

/// Curves that cross: the greater x, the slower, while the best lies at x = 0.7
/// in the end.
double crossing(const trial_parameters& from, step_t at) {
  const auto x = number(from, "x");
  const auto end = 1 - std::pow(x - 0.7, 2)
                   - std::pow(number(from, "y") - 0.3, 2)
                   - std::pow(number(from, "z") - 0.6, 2);
  return end * (1 - std::exp(-static_cast<double>(at) / (4 + 40 * x)));
}

study_spec of(const std::string& algorithm, std::uint64_t seed,
              const std::string& trials = "1000") {
  auto result = study(cube, algorithm, "budget: {trials: " + trials + "}");
  result.seed = seed;
  return result;
}

TEST(FreezeThawSampler, BeatsHalvingWhereCurvesCross) {
  double found = 0, halved = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    played x{of("{freeze-thaw: {startup: 5}}", seed), crossing};
    played y{of("{asha: {min: 11, sampler: gp, startup: 5}}", seed), crossing};
    x.run(10 * 81);
    y.run(10 * 81);
    found += x.best() / 5;
    halved += y.best() / 5;
  }
  EXPECT_GT(found, halved);
}

TEST(FreezeThawSampler, DecidesAgainAsItDidAfterARestart) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    played x{of("{freeze-thaw: {startup: 4}}", seed), crossing};
    x.run(12 * 81);
    played again{of("{freeze-thaw: {startup: 4}}", seed), crossing};
    again.restore(x);
    again.run(12 * 81);
    EXPECT_EQ(again.decided(), x.decided());
    EXPECT_GT(x.decided().size(), 30u);
  }
}

TEST(FreezeThawSampler, TrialsAreThawedInAnyOrder) {
  played x{of("{freeze-thaw: {startup: 4}}", 1), crossing};
  x.run(20 * 81);
  // Some trial waited while a later one began, and went on.
  trial_no newest = 0;
  bool found = false;
  for (const auto& y : x.decided()) {
    found = found || (y.to > 11 && y.trial < newest);
    newest = std::max(newest, y.trial);
  }
  EXPECT_TRUE(found);
  EXPECT_GT(newest, 8u);
}

TEST(FreezeThawSampler, EndsOnceNothingIsToBeGained) {
  played x{of("{freeze-thaw: {startup: 4}}", 0, "30"), crossing};
  x.run(1'000'000);
  EXPECT_TRUE(x.decisions().done());
  const auto ended = std::ranges::count_if(
    x.reached(), [](const auto& y) { return y.second == 81; });
  EXPECT_EQ(x.reached().size(), 30u);
  EXPECT_GE(ended, 1);
  EXPECT_LT(ended, 30);
  EXPECT_GT(x.best(), 0.75);
}

TEST(FreezeThawSampler, FewTrialsAreTrainedToTheirEnd) {
  played x{of("{freeze-thaw: {startup: 10}}", 0, "5"), crossing};
  x.run(1'000'000);
  EXPECT_TRUE(x.decisions().done());
  for (const auto& [trial, at] : x.reached())
    EXPECT_EQ(at, 81u) << trial;
}

TEST(FreezeThawSampler, AnEndComesWhereAllIsEqualOrNothingIsANumber) {
  for (const auto value : {1.0, std::nan("")}) {
    played x{of("{freeze-thaw: {startup: 3}}", 0, "12"),
             [=](const trial_parameters&, step_t) { return value; }};
    x.run(1'000'000);
    EXPECT_TRUE(x.decisions().done()) << value;
    EXPECT_TRUE(std::ranges::any_of(
      x.reached(), [](const auto& y) { return y.second == 81; }));
  }
}

} // namespace
} // namespace hippo
