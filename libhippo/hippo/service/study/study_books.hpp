#pragma once

#include "hippo/search/tuner.hpp"
#include "hippo/service/study/options.hpp"
#include "hippo/service/study/trials.hpp"

namespace hippo {

/// All that a study knows of its trials, to look at.
struct study_books {
  const study_options& options;
  const tuner& decisions;
  const study_trials& trials;

  [[nodiscard]] const study_spec& spec() const { return options.spec; }
  [[nodiscard]] const stored_study& stored() const { return options.stored; }
  [[nodiscard]] bool has_ended() const {
    return hippo::has_ended(options.stored.state);
  }
  /// Whether a trial will be no nearer to a state than it is.
  [[nodiscard]] bool is_there(trial_no trial, step_t to) const {
    return trials[trial].acked >= to || hippo::has_ended(trials[trial].state)
           || has_ended();
  }
};

} // namespace hippo
