#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/search/tuner.hpp"
#include "plan/workload_model.hpp"
#include "search/trainers.hpp"

namespace hippo {

/// A tuner and trainers that report in random order what the hash model
/// measures. Checks what every study must respect, above all that nothing which
/// was asked for is decided otherwise later.
class tuner_run {
public:
  explicit tuner_run(const study_spec& spec,
                     std::uint64_t ahead = trials_ahead_max)
    : tuner_(spec, read_search(spec), {}, ahead), ahead_(ahead) {
    take(tuner_.start());
  }

  /// Trains until nothing is asked for. Before each measurement some trial
  /// fails with the probability `failure_percent`, wherever it is.
  void run(std::uint64_t order, std::uint64_t failure_percent = 0) {
    std::mt19937_64 random{order};
    while (!running_.empty()) {
      if (random() % 100 < failure_percent)
        fail(random() % tuner_.trials());
      if (running_.empty())
        break;
      auto i = running_.begin();
      std::advance(i, static_cast<std::ptrdiff_t>(random() % running_.size()));
      measure(*i);
    }
    EXPECT_TRUE(tuner_.done()) << "waits for ever";
    for (const auto& [trial, x] : trials_) {
      expect_the_same(trial, x.known_to);
      if (const auto* from = tuner_.origin(trial)) {
        EXPECT_EQ(up_to(from->at, tuner_.segments(trial)),
                  up_to(from->at, tuner_.segments(from->from)))
          << trial << " is not " << from->from << " up to " << from->at;
      }
    }
  }

  /// The next measurement of a trial that is on its way.
  void measure(trial_no trial) {
    auto& x = trials_.at(trial);
    const auto at = tuner_.when().next(x.heard);
    model_.segments = tuner_.segments(trial);
    for (; x.heard < at; ++x.heard)
      x.state.train(model_.at(x.heard), x.heard, x.heard + 1);
    if (at == x.asked)
      running_.erase(trial);
    tell({trial, at, x.state.evaluate().at("value")});
  }

  /// Fails a trial, if it is there and has not ended.
  void fail(trial_no trial) {
    if (!trials_.contains(trial) || !ended_.insert(trial).second)
      return;
    if (running_.erase(trial) > 0)
      failed_.insert(trial);
    unsettled_.erase(trial);
    tell({trial, std::nullopt, 0});
  }

  /// Tries again whatever has failed on its way.
  /// @returns how many
  std::size_t retry() {
    const auto failed = std::exchange(failed_, {});
    for (auto trial : failed) {
      ended_.erase(trial);
      running_.insert(trial);
      tuner_.retry(trial, trials_.at(trial).asked);
    }
    return failed.size();
  }

  /// Tells it what another one was told.
  void replay(const std::vector<tuning_event>& events) {
    for (const auto& x : events) {
      if (!x.at) {
        ended_.insert(x.trial);
        running_.erase(x.trial);
      } else if (*x.at == trials_.at(x.trial).asked) {
        running_.erase(x.trial);
      }
      tell(x);
    }
  }

  [[nodiscard]] const tuner& decisions() const { return tuner_; }
  [[nodiscard]] const std::set<trial_no>& running() const { return running_; }
  [[nodiscard]] const std::vector<turn>& turns() const { return turns_; }
  [[nodiscard]] const std::vector<tuning_event>& events() const {
    return events_;
  }
  /// Trials that have not come to the first rung, nor ended.
  [[nodiscard]] std::size_t unsettled() const { return unsettled_.size(); }
  [[nodiscard]] std::uint64_t own_trials() const { return own_trials_; }
  [[nodiscard]] bool was_added(trial_no trial) const {
    return trials_.contains(trial);
  }
  [[nodiscard]] step_t asked(trial_no trial) const {
    return trials_.at(trial).asked;
  }

  /// The steps that are left when equal beginnings count once.
  [[nodiscard]] std::uint64_t unique_steps() const {
    std::vector<test::model_trial> all;
    for (const auto& [trial, x] : trials_) {
      all.push_back({{}, {}, tuner_.segments(trial), x.asked, {}});
    }
    std::vector<const test::model_trial*> each;
    for (const auto& x : all)
      each.push_back(&x);
    return test::distinct_steps(each);
  }

private:
  struct trial_entry {
    trial_parameters first; ///< when it was added
    std::vector<segment> segments;
    step_t asked = 0;
    step_t heard = 0;
    step_t known_to = 0; ///< its values may not change before that
    test::model_state state;
  };

  static std::vector<segment> up_to(step_t end, std::vector<segment> segments) {
    std::erase_if(segments, [end](const segment& y) { return y.begin >= end; });
    return segments;
  }

  void tell(const tuning_event& event) {
    events_.push_back(event);
    if (!event.at || *event.at >= tuner_.when().rungs.front())
      unsettled_.erase(event.trial);
    take(event.at ? tuner_.on_result(event.trial, *event.at, event.value)
                  : tuner_.on_failure(event.trial));
  }

  void take(const turn& turn) {
    turns_.push_back(turn);
    for (auto trial : turn.added) {
      EXPECT_LT(trial, tuner_.trials());
      EXPECT_FALSE(trials_.contains(trial)) << trial << " was added already";
      if (const auto* from = tuner_.origin(trial)) {
        EXPECT_TRUE(trials_.contains(from->from)) << "from what is not there";
      }
      if (tuner_.origin(trial) == nullptr) {
        unsettled_.insert(trial);
        ++own_trials_;
      }
      trials_[trial].first = tuner_.parameters(trial);
      trials_[trial].segments = tuner_.segments(trial);
    }
    for (auto trial : turn.rerouted) {
      auto& known = trials_.at(trial);
      EXPECT_TRUE(known.first.responsive);
      expect_the_same(trial, known.known_to);
      known.segments = tuner_.segments(trial);
    }
    for (auto trial : turn.pruned) {
      EXPECT_TRUE(ended_.insert(trial).second) << trial << " ended already";
      running_.erase(trial);
      unsettled_.erase(trial);
    }
    for (const auto& [trial, to] : turn.asked) {
      auto& known = trials_.at(trial);
      EXPECT_FALSE(ended_.contains(trial)) << trial << " has ended";
      EXPECT_GT(to, known.asked) << trial;
      EXPECT_TRUE(tuner_.when().covers(to)) << to;
      known.known_to = known.asked = to;
      running_.insert(trial);
    }
    EXPECT_LE(unsettled_.size(), ahead_);
    if (tuner_.done()) {
      EXPECT_TRUE(running_.empty()) << "done, but asks for more";
    }
  }

  /// Whether a trial's values up to `to` are those that were last told of, and
  /// what is shown of it is what it was.
  void expect_the_same(trial_no trial, step_t to) const {
    const auto& known = trials_.at(trial);
    EXPECT_EQ(up_to(to, tuner_.segments(trial)), up_to(to, known.segments))
      << trial << " has changed before " << to;
    EXPECT_EQ(tuner_.parameters(trial).shown, known.first.shown);
    if (!known.first.responsive) {
      EXPECT_EQ(tuner_.parameters(trial).sequences, known.first.sequences);
    }
  }

  tuner tuner_;
  std::uint64_t ahead_;
  std::set<trial_no> unsettled_; ///< trials that have got nowhere yet
  std::uint64_t own_trials_ = 0; ///< without forks
  test::model_trial model_;
  std::map<trial_no, trial_entry> trials_;
  std::set<trial_no> running_;
  std::set<trial_no> ended_;
  std::set<trial_no> failed_; ///< on their way, and not tried again
  std::vector<turn> turns_;
  std::vector<tuning_event> events_;
};

} // namespace hippo
