#include "hippo/tune/full_training.hpp"

namespace hippo {

std::vector<action> full_training::start() {
  std::vector<action> actions;
  for (trial_no trial = 0; trial < trials(); ++trial)
    if (!ended_[trial])
      actions.emplace_back(advance{trial, max_});
  return actions;
}

std::vector<action> full_training::on_result(trial_no trial, step_t at,
                                             double) {
  if (at == max_)
    end(trial);
  return {};
}

std::vector<action> full_training::on_failure(trial_no trial) {
  end(trial);
  return {};
}

void full_training::end(trial_no trial) {
  if (ended_[trial])
    return;
  ended_[trial] = true;
  ++ended_count_;
}

} // namespace hippo
