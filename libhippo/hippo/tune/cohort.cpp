#include "hippo/tune/cohort.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace hippo {

std::vector<action> cohort::start(step_t to) const {
  std::vector<action> result;
  for (trial_no trial = 0; trial < size(); ++trial)
    if (states_[trial] == trial_state::training)
      result.emplace_back(advance{trial, to});
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
  states_.push_back(trial_state::training);
  ++awaited_;
  check_invariants();
  return size() - 1;
}

void cohort::check_invariants() const {
  assert(awaited_ + reported_.size() <= states_.size());
  assert(reported_.empty()
         || states_[reported_.back().trial] == trial_state::reported);
}

} // namespace hippo
