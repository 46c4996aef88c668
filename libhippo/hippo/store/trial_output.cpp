#include "hippo/store/trial_output.hpp"

#include <utility>

#include "hippo/store/state_reader.hpp"

namespace hippo {

expected<stored_trial> find_trial(state_reader& state, study_id study,
                                  trial_no trial) {
  auto trials = state.load_trials(study, trial, 1);
  if (!trials)
    return trials.failure();
  if (trials->empty() || trials->front().trial != trial)
    return {errc::invalid_argument,
            "there is no trial " + std::to_string(trial)};
  return std::move(trials->front());
}

expected<trial_output> read_output(state_reader& state, study_id study,
                                   trial_no trial, step_t first,
                                   std::size_t most) {
  // In this order: whatever comes before the end is there when it has ended.
  const auto found = find_trial(state, study, trial);
  if (!found)
    return found.failure();
  const auto parts = state.load_output(study, trial, first, most);
  if (!parts)
    return parts.failure();
  trial_output result{{}, first, has_ended(found->state)};
  for (const auto& x : *parts) {
    result.text += x.text;
    result.next = x.step + 1;
  }
  return result;
}

} // namespace hippo
