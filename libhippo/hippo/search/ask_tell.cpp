#include "hippo/search/ask_tell.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "hippo/base/nearest.hpp"
#include "hippo/sequence/configuration.hpp"

namespace hippo {

std::vector<diagnostic> ask_tell::refusals_of(const study_spec& study) {
  std::vector<diagnostic> result;
  const auto refuse = [&](const std::string& path, const std::string& why) {
    if (study.marks.contains(path))
      result.push_back(locate(study, path, why));
  };
  for (const auto* path :
       {"budget.seconds", "budget.device_hours", "budget.cost",
        "budget.deadline", "budget.failed", "stop_when"})
    refuse(path, "ask and tell ends by trials or steps alone: give"
                 " budget.steps, or stop asking");
  refuse("repeats", "ask and tell trains each trial once: tell the mean of"
                    " several seeds, or make the seed a hyper-parameter");
  refuse("objective.average", "ask and tell takes the values that it is told:"
                              " measure the mean of weights yourself");
  refuse("notify", "ask and tell posts nothing: leave it out");
  return result;
}

ask_tell::ask_tell(const accepted_study& study, trial_defaults defaults)
  : goals_(study.spec().objective.all()),
    tuner_(study.spec(), study.search(), std::move(defaults)) {
  assert(refusals_of(study.spec()).empty());
  take(tuner_.start());
}

// -- asking -------------------------------------------------------------------

std::optional<trial_work> ask_tell::ask() {
  if (!again_.empty()) {
    const auto work = again_.front();
    again_.pop_front();
    return work;
  }
  for (bool may_widen = true;; may_widen = false) {
    while (end().empty()) {
      const auto trial = next_trial();
      if (!trial)
        break;
      if (auto work = begin(*trial))
        return work;
    }
    if (!may_widen || !end().empty() || !tuner_.wants_capacity())
      return std::nullopt;
    take(tuner_.widen(1));
  }
}

std::optional<trial_no> ask_tell::next_trial() {
  auto& list = going_.empty() ? todo_ : going_;
  if (list.empty())
    return std::nullopt;
  const auto trial = list.front();
  list.pop_front();
  trials_[trial].is_queued = false;
  return trial;
}

ask_tell::state ask_tell::next_state(trial_no trial) const {
  const auto at = tuner_.when().next(trials_.at(trial).reached());
  return {at, states_at(tuner_.segments(trial), {at}).front()};
}

std::optional<trial_work> ask_tell::begin(trial_no trial) {
  auto& x = trials_[trial];
  // Requests that are made on the way wait in the queue, like all others.
  for (const auto goal = x.goal;
       x.goes_on() && x.reached() < goal && end().empty();) {
    const auto next = next_state(trial);
    if (const auto known = known_.find(next); known != known_.end()) {
      hear(trial, next.first, trials_.at(known->second).results.at(next.first));
      continue;
    }
    const auto is_it = [&](const auto& y) { return y.second.to == next; };
    if (std::ranges::any_of(out_, is_it)) {
      x.is_queued = true;
      waiting_[next].push_back(trial);
      return std::nullopt;
    }
    trial_work work{trial, x.reached(), next.first, std::nullopt};
    if (work.from > 0)
      work.start = known_.at(
        {work.from, states_at(tuner_.segments(trial), {work.from}).front()});
    if (std::exchange(x.is_queued, false))
      std::erase(todo_, trial);
    out_.emplace(trial, errand{work, next});
    check_invariants();
    return work;
  }
  return std::nullopt;
}

void ask_tell::give_again() {
  again_.clear();
  for (const auto& kvp : out_)
    again_.push_back(kvp.second.work);
}

// -- telling ------------------------------------------------------------------

std::optional<error> ask_tell::refusal_of(trial_no trial, step_t to) const {
  const auto refused = [&](const std::string& why) {
    return error{errc::invalid_argument,
                 "trial " + std::to_string(trial) + ' ' + why};
  };
  const auto known = trials_.find(trial);
  if (known == trials_.end())
    return refused("is none that was asked for");
  const auto out = out_.find(trial);
  if (out != out_.end() && out->second.work.to == to)
    return std::nullopt;
  if (known->second.results.contains(to))
    return refused("has its value at step " + std::to_string(to) + " already");
  if (known->second.has_failed)
    return refused("has failed, and takes no further value");
  if (out != out_.end())
    return refused("is out up to step " + std::to_string(out->second.work.to)
                   + ", not " + std::to_string(to));
  return refused("is not out: ask for its work first");
}

std::optional<error> ask_tell::tell(trial_no trial, step_t to,
                                    const metrics& values) {
  if (auto why = refusal_of(trial, to))
    return why;
  std::set<std::string> wanted;
  for (const auto& x : goals_.metrics)
    wanted.insert(x.metric);
  for (const auto& x : goals_.constraints)
    wanted.insert(x.metric);
  std::vector<std::string> told;
  for (const auto& x : values)
    told.push_back(x.first);
  for (const auto& name : wanted) {
    const auto found = values.find(name);
    if (found == values.end())
      return error{errc::invalid_argument, "the value of '" + name
                                             + "' is missing"
                                             + did_you_mean(name, told)};
    if (!std::isfinite(found->second))
      return error{errc::invalid_argument,
                   "the value of '" + name
                     + "' must be a finite number: tell a trial that has"
                       " diverged as failed"};
  }
  const bool goes_on = to < trials_[trial].goal;
  known_.emplace(out_.at(trial).to, trial);
  take_back(trial);
  if (end().empty() && !trials_[trial].has_ended) {
    hear(trial, to, values);
  } else {
    trials_[trial].results.emplace(to, values);
    add_to_front(trial, to);
  }
  // New requests of the algorithm wait in the queue, like all others.
  if (goes_on && trials_[trial].goes_on())
    queue(trial, going_);
  check_invariants();
  return std::nullopt;
}

std::optional<error> ask_tell::fail(trial_no trial, step_t to) {
  if (auto why = refusal_of(trial, to))
    return why;
  take_back(trial);
  auto& x = trials_[trial];
  x.has_failed = true;
  if (!x.results.empty()) { // they may be on the front
    front_.clear();
    for (const auto& [no, y] : trials_)
      for (const auto& kvp : y.results)
        add_to_front(no, kvp.first);
  }
  if (!std::exchange(x.has_ended, true) && end().empty())
    take(tuner_.on_failure(trial));
  check_invariants();
  return std::nullopt;
}

void ask_tell::take_back(trial_no trial) {
  const auto what = out_.extract(trial);
  std::erase(again_, what.mapped().work);
  const auto freed = waiting_.extract(what.mapped().to);
  if (!freed)
    return;
  auto& trials = freed.mapped();
  for (const auto x : trials)
    going_.push_back(x);
}

void ask_tell::hear(trial_no trial, step_t at, const metrics& values) {
  trials_[trial].results.emplace(at, values);
  add_to_front(trial, at);
  take(tuner_.on_result(trial, at, values));
}

void ask_tell::add_to_front(trial_no trial, step_t at) {
  const auto& x = trials_.at(trial);
  if (!x.has_failed)
    front_.add(trial, at, outcome_of(x.results.at(at), goals_),
               x.results.begin()->first == at);
}

void ask_tell::take(const turn& turn) {
  for (const auto& [trial, to] : turn.asked) {
    auto& x = trials_[trial];
    x.goal = std::max(x.goal, to);
    if (!out_.contains(trial))
      queue(trial, todo_);
  }
  for (const auto trial : turn.pruned)
    trials_[trial].has_ended = true;
}

void ask_tell::queue(trial_no trial, std::deque<trial_no>& list) {
  if (!std::exchange(trials_[trial].is_queued, true))
    list.push_back(trial);
}

// -- looking ------------------------------------------------------------------

std::string ask_tell::end() const {
  if (const auto why = tuner_.spent())
    return *why;
  return tuner_.done() ? "its algorithm has nothing left to train" : "";
}

std::vector<ask_tell::measurement> ask_tell::best() const {
  std::vector<measurement> all;
  for (const auto& x : front_.points())
    all.push_back({x.trial, x.step, trials_.at(x.trial).results.at(x.step)});
  return all;
}

void ask_tell::check_invariants() const {
  for ([[maybe_unused]] const auto& [trial, x] : out_) {
    assert(!trials_.at(trial).is_queued);
    assert(x.work.from < x.work.to && x.work.to == x.to.first);
    assert(!known_.contains(x.to));
    assert(x.work.start.has_value() == (x.work.from > 0));
  }
  for ([[maybe_unused]] const auto& kvp : waiting_)
    assert(std::ranges::any_of(
      out_, [&](const auto& y) { return y.second.to == kvp.first; }));
}

} // namespace hippo
