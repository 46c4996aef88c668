#include "hippo/search/algorithm/cohort.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace hippo {

std::vector<action> cohort::open(std::uint64_t trials, step_t to) {
  std::vector<action> result;
  for (auto trial = states_.size(); trial < trials; ++trial)
    result.emplace_back(advance{trial, to});
  states_.resize(trials, trial_state::training);
  check_invariants();
  return result;
}

bool cohort::report(trial_no trial, double value) {
  if (states_[trial] != trial_state::training)
    return false;
  states_[trial] = trial_state::reported;
  reported_.push_back(standing_of(trial, value, better_));
  --awaited_;
  check_invariants();
  return true;
}

bool cohort::remove(trial_no trial) {
  const auto before = std::exchange(states_[trial], trial_state::out);
  if (before == trial_state::training)
    --awaited_;
  else if (before == trial_state::reported)
    std::erase_if(reported_,
                  [trial](const standing& x) { return x.trial == trial; });
  check_invariants();
  return before != trial_state::out;
}

std::vector<standing> cohort::take_ranking() {
  assert(is_complete());
  std::sort(reported_.begin(), reported_.end());
  return std::exchange(reported_, {});
}

void cohort::train(trial_no trial) {
  assert(states_[trial] != trial_state::training);
  states_[trial] = trial_state::training;
  ++awaited_;
  check_invariants();
}

trial_no cohort::add() {
  assert(states_.size() == size_);
  states_.push_back(trial_state::training);
  ++awaited_;
  ++size_;
  check_invariants();
  return size_ - 1;
}

void cohort::check_invariants() const {
  assert(states_.size() <= size_);
  assert(awaited_ + reported_.size() <= size_);
  assert(reported_.empty()
         || states_[reported_.back().trial] == trial_state::reported);
}

} // namespace hippo
