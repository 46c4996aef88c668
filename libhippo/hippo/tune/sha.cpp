#include "hippo/tune/sha.hpp"

#include <algorithm>
#include <utility>

namespace hippo {

sha::sha(std::uint64_t trials, std::vector<step_t> rungs, std::uint64_t eta,
         direction better)
  : rungs_(std::move(rungs)),
    eta_(eta),
    better_(better),
    states_(trials, trial_state::training),
    entered_(trials),
    awaited_(trials) {}

std::vector<action> sha::start() {
  std::vector<action> actions;
  for (trial_no trial = 0; trial < trials(); ++trial)
    if (states_[trial] == trial_state::training)
      actions.emplace_back(advance{trial, rungs_[0]});
  return actions;
}

std::vector<action> sha::on_result(trial_no trial, step_t at, double value) {
  if (done() || at != rungs_[rung_]
      || states_[trial] != trial_state::training)
    return {};
  states_[trial] = trial_state::reported;
  reported_.push_back(standing_of(trial, value, better_));
  --awaited_;
  return proceed();
}

std::vector<action> sha::on_failure(trial_no trial) {
  const auto before = std::exchange(states_[trial], trial_state::out);
  if (done() || before == trial_state::out)
    return {};
  if (before == trial_state::training)
    --awaited_;
  else
    std::erase_if(reported_,
                  [trial](const standing& x) { return x.trial == trial; });
  return proceed();
}

std::vector<action> sha::proceed() {
  std::vector<action> actions;
  if (awaited_ > 0)
    return actions;
  if (++rung_ == rungs_.size())
    return actions;
  std::sort(reported_.begin(), reported_.end());
  const auto kept = std::min<std::uint64_t>(
    std::max<std::uint64_t>(1, entered_ / eta_), reported_.size());
  std::vector<trial_no> survivors, others;
  for (std::size_t i = 0; i < reported_.size(); ++i)
    (i < kept ? survivors : others).push_back(reported_[i].trial);
  std::sort(others.begin(), others.end());
  for (auto trial : survivors) { // best first: it is the likeliest to go far
    states_[trial] = trial_state::training;
    actions.emplace_back(advance{trial, rungs_[rung_]});
  }
  for (auto trial : others) {
    states_[trial] = trial_state::out;
    actions.emplace_back(prune{trial});
  }
  reported_.clear();
  entered_ = awaited_ = survivors.size();
  if (survivors.empty()) // all failed
    rung_ = rungs_.size();
  return actions;
}

} // namespace hippo
