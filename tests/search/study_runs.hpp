#pragma once

#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/base/number.hpp"
#include "hippo/search/algorithm/algorithm.hpp"
#include "hippo/search/sampler/sampler.hpp"
#include "hippo/search/trial_states.hpp"
#include "search/trainers.hpp"

namespace hippo {

/// What a trial of these values measures at a step.
using measured
  = std::function<double(const trial_parameters& values, step_t at)>;

/// The steps beyond the longest common prefix of what was asked for before:
/// values are the same up to a step if they are the same at each step.
class prefix_work : public untrained_work {
public:
  void add(trial_no trial, const trial_parameters& values) {
    values_[trial] = values;
  }
  void ask(trial_no trial, step_t to) {
    asked_[trial] = std::max(asked_[trial], to);
  }

  [[nodiscard]] step_t of(trial_no trial, step_t to) const override {
    return of(values_.at(trial), to);
  }
  [[nodiscard]] step_t of(const trial_parameters& values,
                          step_t to) const override {
    step_t covered = 0;
    for (const auto& [trial, until] : asked_) {
      step_t at = 0;
      while (at < std::min(to, until)
             && same(values, values_.at(trial), at))
        ++at;
      covered = std::max(covered, at);
    }
    return to - covered;
  }

private:
  static bool same(const trial_parameters& left, const trial_parameters& right,
                   step_t at) {
    if (left.sequences.size() != right.sequences.size())
      return false;
    for (const auto& [name, values] : left.sequences) {
      const auto other = right.sequences.find(name);
      if (other == right.sequences.end()
          || values.at(at) != other->second.at(at))
        return false;
    }
    return true;
  }

  std::map<trial_no, trial_parameters> values_;
  std::map<trial_no, step_t> asked_;
};

/// Which trials are one, by their values at each step.
class value_states : public trial_states {
public:
  void add(trial_no trial, const trial_parameters& values) {
    values_[trial] = values;
  }

  [[nodiscard]] std::uint64_t of(trial_no trial, step_t rung) const override {
    std::string text;
    for (const auto& [name, x] : values_.at(trial).sequences)
      for (step_t t = 0; t < rung; ++t)
        text += name + '=' + to_text(x.at(t)) + ';';
    return known_.emplace(text, known_.size()).first->second;
  }

  /// Whose predictions they are, and whose model.
  void ask(sampler& sampler) { sampler_ = &sampler; }
  [[nodiscard]] std::optional<double>
  predicted(trial_no trial_number) const override {
    const auto choice = sampler_->choice_of(trial_number);
    return choice ? choice->why.predicted : std::nullopt;
  }
  [[nodiscard]] std::optional<trial_no>
  next(const std::vector<placed_trial>& resting,
       const std::vector<placed_trial>& going,
       std::optional<trial_no> fresh) const override {
    return sampler_->next(resting, going, fresh);
  }

private:
  sampler* sampler_ = nullptr;
  std::map<trial_no, trial_parameters> values_;
  mutable std::map<std::string, std::uint64_t> known_;
};

/// A study that is run: its algorithm and its sampler together, with trainers
/// that report in random order.
class study_run {
public:
  explicit study_run(const study_spec& spec)
    : tuner_(algorithm_of(spec, &states_)), values_(sampler_of(spec, &work_)) {
    states_.ask(*values_);
    if (values_->is_static())
      for (trial_no trial = 0; trial < tuner_->trials(); ++trial)
        decide(trial, values_->draw(trial));
  }

  /// Runs it. A trial fails before a rung with the probability
  /// `failure_percent`.
  void run(std::uint64_t order, std::uint64_t failure_percent,
           const measured& measure) {
    std::mt19937_64 random{order};
    take(start(*tuner_));
    while (!running_.empty()) {
      auto at = running_.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(random() % running_.size()));
      const auto trial = at->first;
      auto next = at->second;
      for (auto rung : tuner_->rungs())
        if (rung > reached_[trial] && rung < next)
          next = rung;
      if (random() % 100 < failure_percent) {
        running_.erase(at);
        tell({trial, std::nullopt, 0});
        continue;
      }
      // A measurement half-way, then that of the rung.
      for (auto step : {(reached_[trial] + next) / 2, next})
        if (step > reached_[trial] && running_.contains(trial)) {
          reached_[trial] = step;
          if (step == running_[trial])
            running_.erase(trial);
          tell({trial, step, measure(parameters_.at(trial), step)});
        }
    }
    EXPECT_TRUE(tuner_->done()) << "waits for ever";
  }

  /// Tells it what another one was told.
  void replay(const std::vector<tuning_event>& events) {
    take(start(*tuner_));
    for (const auto& x : events)
      tell(x);
  }

  [[nodiscard]] algorithm& tuner() { return *tuner_; }
  [[nodiscard]] const std::vector<tuning_event>& events() const {
    return events_;
  }
  [[nodiscard]] const std::vector<action>& actions() const { return actions_; }
  [[nodiscard]] const std::map<trial_no, trial_parameters>& parameters() const {
    return parameters_;
  }
  [[nodiscard]] const std::vector<fork>& forks() const { return forks_; }
  [[nodiscard]] const std::map<trial_no, step_t>& reached() const {
    return reached_;
  }

private:
  void tell(const tuning_event& event) {
    events_.push_back(event);
    if (event.at) {
      values_->on_result(event.trial, *event.at, event.value);
      take(tuner_->on_result(event.trial, *event.at, event.value));
    } else {
      values_->on_failure(event.trial);
      take(tuner_->on_failure(event.trial));
    }
  }

  void decide(trial_no trial, const trial_parameters& values) {
    parameters_[trial] = values;
    work_.add(trial, values);
    states_.add(trial, values);
  }

  void take(const std::vector<action>& actions) {
    for (const auto& x : actions) {
      actions_.push_back(x);
      if (const auto* go = std::get_if<advance>(&x)) {
        if (!parameters_.contains(go->trial))
          decide(go->trial, values_->draw(go->trial));
        work_.ask(go->trial, go->to);
        running_[go->trial] = go->to;
      } else if (const auto* split = std::get_if<fork>(&x)) {
        decide(split->trial, values_->branch(*split));
        reached_[split->trial] = split->at;
        forks_.push_back(*split);
      } else if (const auto* mixed = std::get_if<cross>(&x)) {
        decide(mixed->trial, values_->cross(*mixed));
      } else {
        running_.erase(std::get<prune>(x).trial);
      }
    }
  }

  prefix_work work_;
  value_states states_;
  std::unique_ptr<algorithm> tuner_;
  std::unique_ptr<sampler> values_;
  std::map<trial_no, trial_parameters> parameters_;
  std::map<trial_no, step_t> running_;
  std::map<trial_no, step_t> reached_;
  std::vector<fork> forks_;
  std::vector<tuning_event> events_;
  std::vector<action> actions_;
};

} // namespace hippo
