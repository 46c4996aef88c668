#include "hippo/search/algorithm/no_pruning.hpp"

#include <algorithm>

namespace hippo {

std::vector<action> no_pruning::open(std::uint64_t trials) {
  ended_.resize(trials, false);
  return fill();
}

std::vector<action> no_pruning::on_result(trial_no trial, step_t at, double) {
  const auto last = states_ == nullptr
                      ? lengths_.back()
                      : std::min(states_->end_of(trial), lengths_.back());
  return at == last ? end(trial) : std::vector<action>{};
}

std::vector<action> no_pruning::on_failure(trial_no trial) {
  return end(trial);
}

bool no_pruning::take_back(trial_no trial) {
  ended_[trial] = false;
  --ended_count_;
  limit_.enter();
  return true;
}

std::vector<action> no_pruning::end(trial_no trial) {
  if (ended_[trial])
    return {};
  ended_[trial] = true;
  ++ended_count_;
  if (trial < next_)
    limit_.leave();
  return fill();
}

expected_work no_pruning::to_come() const {
  std::uint64_t all = 0;
  for (const auto x : lengths_)
    all += x;
  return {(trials_ - next_) * (all / lengths_.size()),
          next_ < trials_ ? lengths_.back() : 0};
}

std::vector<action> no_pruning::fill() {
  std::vector<action> actions;
  while (limit_.has_room() && next_ < ended_.size()) {
    const auto trial = next_++;
    if (ended_[trial]) // cancelled before its turn
      continue;
    limit_.enter();
    actions.emplace_back(advance{trial, lengths_.back()});
  }
  return actions;
}

} // namespace hippo
