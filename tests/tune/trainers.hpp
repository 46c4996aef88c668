#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/core/hash.hpp"
#include "hippo/tune/algorithm.hpp"

namespace hippo {

/// Results drawn at random, but the same for a trial and step whenever it gets
/// there.
struct random_results {
  std::uint64_t seed = 0;
  std::uint64_t levels = 1000;  ///< of values; few: many are equal
  std::uint64_t nan_percent = 0;
  std::uint64_t failure_percent = 0; ///< of rungs

  [[nodiscard]] std::uint64_t draw(trial_no trial, step_t at,
                                   std::uint64_t what) const {
    const std::uint64_t address[] = {trial, at, what};
    return hash_bytes(address, sizeof address, seed);
  }

  [[nodiscard]] double value(trial_no trial, step_t at) const {
    if (draw(trial, at, 0) % 100 < nan_percent)
      return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(draw(trial, at, 1) % levels);
  }

  /// Whether the trial fails on its way to a rung.
  [[nodiscard]] bool fails(trial_no trial, step_t rung) const {
    return draw(trial, rung, 2) % 100 < failure_percent;
  }
};

/// A result or a failure, as an algorithm hears of it.
struct tuning_event {
  trial_no trial = 0;
  std::optional<step_t> at; ///< nothing: a failure
  double value = 0;
};

/// Trainers that an algorithm keeps busy: they report in random order. Checks
/// what any algorithm must respect.
class trainers {
public:
  trainers(algorithm& tuner, const random_results& results, std::uint64_t order)
    : tuner_(tuner), results_(results), random_(order) {
    take(tuner_.start());
  }

  /// Trains until nothing is asked for.
  void run() {
    while (!running_.empty())
      step();
    EXPECT_TRUE(tuner_.done()) << "waits for ever";
  }

  /// One trainer goes on to the next rung, and reports.
  void step() {
    auto at = running_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random_() % running_.size()));
    const auto trial = at->first;
    const auto to = at->second;
    auto& reached = reached_[trial];
    step_t next = to;
    for (auto rung : tuner_.rungs())
      if (rung > reached && rung < next)
        next = rung;
    if (results_.fails(trial, next)) {
      running_.erase(at);
      ended_[trial] = true;
      tell({trial, std::nullopt, 0});
      return;
    }
    if (next - reached > 1) // a measurement between rungs
      tell({trial, reached + 1, results_.value(trial, reached + 1)});
    reached = next;
    if (next == to)
      running_.erase(trial);
    tell({trial, next, results_.value(trial, next)});
  }

  /// Fails a trial, wherever it is.
  void fail(trial_no trial) {
    if (std::exchange(ended_[trial], true))
      return;
    running_.erase(trial);
    tell({trial, std::nullopt, 0});
  }

  [[nodiscard]] const std::map<trial_no, step_t>& running() const {
    return running_;
  }
  /// How far each trial came.
  [[nodiscard]] const std::map<trial_no, step_t>& reached() const {
    return reached_;
  }
  [[nodiscard]] const std::vector<tuning_event>& events() const {
    return events_;
  }
  [[nodiscard]] const std::vector<action>& actions() const { return actions_; }
  [[nodiscard]] std::size_t most_running() const { return most_running_; }

private:
  void tell(const tuning_event& x) {
    events_.push_back(x);
    take(x.at ? tuner_.on_result(x.trial, *x.at, x.value)
              : tuner_.on_failure(x.trial));
  }

  void take(const std::vector<action>& actions) {
    for (const auto& x : actions) {
      actions_.push_back(x);
      if (auto* y = std::get_if<advance>(&x)) {
        EXPECT_LT(y->trial, tuner_.trials());
        EXPECT_FALSE(ended_[y->trial]) << "advances what has ended";
        EXPECT_FALSE(running_.contains(y->trial)) << "is on its way already";
        EXPECT_GT(y->to, reached_[y->trial]);
        running_[y->trial] = y->to;
      } else if (auto* y = std::get_if<prune>(&x)) {
        const auto trial = y->trial;
        EXPECT_FALSE(std::exchange(ended_[trial], true)) << "pruned twice";
        EXPECT_FALSE(running_.contains(trial));
      }
    }
    most_running_ = std::max(most_running_, running_.size());
    if (tuner_.done()) {
      EXPECT_TRUE(running_.empty()) << "done, but asks for more";
    }
  }

  algorithm& tuner_;
  random_results results_;
  std::mt19937_64 random_;
  std::map<trial_no, step_t> running_; ///< and how far
  std::map<trial_no, step_t> reached_;
  std::map<trial_no, bool> ended_;
  std::vector<tuning_event> events_;
  std::vector<action> actions_;
  std::size_t most_running_ = 0;
};

/// Tells a fresh algorithm of `events`.
/// @returns all that it decides
inline std::vector<action> replay(algorithm& tuner,
                                  const std::vector<tuning_event>& events) {
  auto result = tuner.start();
  for (const auto& x : events) {
    const auto more = x.at ? tuner.on_result(x.trial, *x.at, x.value)
                           : tuner.on_failure(x.trial);
    result.insert(result.end(), more.begin(), more.end());
  }
  return result;
}

} // namespace hippo
