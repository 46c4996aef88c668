#include "hippo/tune/population.hpp"

#include <algorithm>
#include <utility>

#include "hippo/tune/addressed_draws.hpp"

namespace hippo {

std::vector<step_t> interval_steps(step_t interval, step_t max) {
  std::vector<step_t> result;
  for (auto at = interval; at < max; at += interval)
    result.push_back(at);
  result.push_back(max);
  return result;
}

population::population(std::uint64_t size, step_t max, step_t interval,
                       std::uint64_t replaced, direction better,
                       std::uint64_t seed)
  : size_(size),
    max_(max),
    interval_(interval),
    replaced_(replaced),
    better_(better),
    seed_(seed),
    states_(size, trial_state::training),
    end_(std::min(interval, max)),
    awaited_(size) {}

std::vector<step_t> population::rungs() const {
  return interval_steps(interval_, max_);
}

std::vector<action> population::start() {
  started_ = true;
  std::vector<action> actions;
  for (trial_no trial = 0; trial < states_.size(); ++trial)
    if (states_[trial] == trial_state::training)
      actions.emplace_back(advance{trial, end_});
  if (actions.empty()) // all were cancelled before
    done_ = true;
  return actions;
}

std::vector<action> population::on_result(trial_no trial, step_t at,
                                          double value) {
  // What a fork has in common with its parent lies before `end_`.
  if (done_ || at != end_ || states_[trial] != trial_state::training)
    return {};
  states_[trial] = trial_state::reported;
  reported_.push_back(standing_of(trial, value, better_));
  --awaited_;
  return proceed();
}

std::vector<action> population::on_failure(trial_no trial) {
  const auto before = std::exchange(states_[trial], trial_state::out);
  if (done_ || before == trial_state::out)
    return {};
  if (before == trial_state::training)
    --awaited_;
  else
    std::erase_if(reported_,
                  [trial](const standing& x) { return x.trial == trial; });
  return started_ ? proceed() : std::vector<action>{};
}

std::vector<action> population::proceed() {
  std::vector<action> actions;
  if (awaited_ > 0)
    return actions;
  if (end_ == max_ || reported_.empty()) {
    done_ = true;
    return actions;
  }
  std::sort(reported_.begin(), reported_.end());
  std::vector<trial_no> parents; // the best
  for (const auto& x : reported_)
    if (parents.size() < replaced_ && !x.is_nan)
      parents.push_back(x.trial);
  const auto missing = size_ - reported_.size();
  const auto worst = parents.empty() || missing >= replaced_
                       ? 0
                       : replaced_ - missing;
  const auto kept = reported_.size() - worst;
  begin_ = end_;
  end_ = max_ - begin_ > interval_ ? begin_ + interval_ : max_;
  for (std::size_t i = 0; i < kept; ++i) {
    states_[reported_[i].trial] = trial_state::training;
    actions.emplace_back(advance{reported_[i].trial, end_});
  }
  awaited_ = kept;
  for (std::size_t i = kept; i < reported_.size(); ++i) {
    states_[reported_[i].trial] = trial_state::out;
    actions.emplace_back(prune{reported_[i].trial});
    fork_from(parents, actions);
  }
  if (!parents.empty())
    for (std::uint64_t i = 0; i < missing; ++i)
      fork_from(parents, actions);
  reported_.clear();
  return actions;
}

void population::fork_from(const std::vector<trial_no>& parents,
                           std::vector<action>& out) {
  const trial_no trial = states_.size();
  addressed_draws draws{{seed_, trial}, "parent"};
  states_.push_back(trial_state::training);
  ++awaited_;
  out.emplace_back(
    fork{trial, parents[draws.below(parents.size())], begin_});
  out.emplace_back(advance{trial, end_});
}

} // namespace hippo
