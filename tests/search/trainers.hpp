#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/base/hash.hpp"
#include "hippo/search/algorithm/algorithm.hpp"
#include "hippo/search/algorithm/hyperband.hpp"
#include "hippo/search/algorithm/sha.hpp"

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

/// Opens all of an algorithm's trials at once.
inline std::vector<action> start(algorithm& algorithm) {
  return algorithm.open(algorithm.trials());
}

/// Brackets of successive halving.
inline hyperband::make_rule halving(std::uint64_t eta, direction better) {
  return [=](std::uint64_t trials, const std::vector<step_t>& rungs,
             trial_no) -> std::unique_ptr<algorithm> {
    return std::make_unique<sha>(trials, rungs, eta, better);
  };
}

/// Trainers that an algorithm keeps busy: they report in random order. Checks
/// what any algorithm must respect.
class trainers {
public:
  trainers(algorithm& tuner, const random_results& results, std::uint64_t order)
    : tuner_(tuner), results_(results), random_(order) {
    take(start(tuner_));
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
    if (next - reached > 1) { // a measurement between rungs
      const auto between = reached + 1;
      reached = between;
      measure(trial, between);
      if (!running_.contains(trial)) // that was the end of it
        return;
    }
    reached = next;
    if (next == to)
      running_.erase(trial);
    measure(trial, next);
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
  [[nodiscard]] const std::map<trial_no, fork>& forks() const {
    return forks_;
  }
  /// What a trial measures: a fork, up to its step, what its parent did.
  [[nodiscard]] double value(trial_no trial, step_t at) const {
    const auto split = forks_.find(trial);
    return split == forks_.end() || at > split->second.at
             ? results_.value(trial, at)
             : value(split->second.from, at);
  }
  [[nodiscard]] bool is_measured(trial_no trial, step_t at) const {
    return heard_.contains({trial, at});
  }
  [[nodiscard]] bool has_ended(trial_no trial) const {
    const auto found = ended_.find(trial);
    return found != ended_.end() && found->second;
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
  void tell(const tuning_event& event) {
    events_.push_back(event);
    take(event.at ? tuner_.on_result(event.trial, *event.at, event.value)
                  : tuner_.on_failure(event.trial));
    // A fork hears again what it has in common with its parent.
    for (const auto& split : std::exchange(new_forks_, {}))
      for (step_t at = 1; at <= split.at; ++at)
        if (heard_.contains({split.from, at})) {
          heard_.insert({split.trial, at});
          tell({split.trial, at, value(split.trial, at)});
        }
  }

  void measure(trial_no trial, step_t at) {
    heard_.insert({trial, at});
    tell({trial, at, value(trial, at)});
  }

  void take(const std::vector<action>& actions) {
    for (const auto& x : actions) {
      actions_.push_back(x);
      if (auto* go = std::get_if<advance>(&x)) {
        EXPECT_LT(go->trial, tuner_.trials());
        EXPECT_FALSE(ended_[go->trial]) << "advances what has ended";
        EXPECT_FALSE(running_.contains(go->trial)) << "is on its way already";
        EXPECT_GT(go->to, reached_[go->trial]);
        running_[go->trial] = go->to;
      } else if (auto* stop = std::get_if<prune>(&x)) {
        EXPECT_FALSE(std::exchange(ended_[stop->trial], true))
          << "pruned twice";
        running_.erase(stop->trial); // it may be pruned on its way
      } else if (auto* split = std::get_if<fork>(&x)) {
        EXPECT_LT(split->trial, tuner_.trials());
        EXPECT_FALSE(reached_.contains(split->trial)) << "is not new";
        EXPECT_GE(reached_[split->from], split->at) << "from what is not there";
        EXPECT_FALSE(ended_[split->from]);
        reached_[split->trial] = split->at;
        forks_[split->trial] = *split;
        new_forks_.push_back(*split);
      } else if (auto* mixed = std::get_if<cross>(&x)) {
        EXPECT_LT(mixed->trial, tuner_.trials());
        EXPECT_FALSE(reached_.contains(mixed->trial)) << "is not new";
        std::set<trial_no> others{mixed->target};
        others.insert(mixed->parents.begin(), mixed->parents.end());
        EXPECT_EQ(others.size(), 4u) << "not three others";
        for (auto trial : others)
          EXPECT_TRUE(reached_.contains(trial)) << "of what is not there";
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
  std::map<trial_no, fork> forks_; ///< by the new trial
  std::vector<fork> new_forks_;
  std::set<std::pair<trial_no, step_t>> heard_;
  std::vector<tuning_event> events_;
  std::vector<action> actions_;
  std::size_t most_running_ = 0;
};

/// Tells a fresh algorithm of `events`.
/// @returns all that it decides
inline std::vector<action> replay(algorithm& tuner,
                                  const std::vector<tuning_event>& events) {
  auto result = start(tuner);
  for (const auto& x : events) {
    const auto more = x.at ? tuner.on_result(x.trial, *x.at, x.value)
                           : tuner.on_failure(x.trial);
    result.insert(result.end(), more.begin(), more.end());
  }
  return result;
}

} // namespace hippo
