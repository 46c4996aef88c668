#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hippo/space/study.hpp"
#include "hippo/tune/tuner.hpp"
#include "messages.hpp"

namespace hippo {

/// What a study runs with.
struct study_options {
  study_spec spec;
  /// What hyper-parameters are that the study does not mention.
  std::map<std::string, sequence> defaults;
};

/// State of a study.
struct study_state {
  /// Prefix of this actor's lines in the log.
  static inline const char* name = "hippo.study";

  study_options options;
  merger_actor merger;
  observer_actor observer;
  std::unique_ptr<tuner> decisions;

  struct trial_entry {
    trial_state state = trial_state::pending;
    step_t asked_to = 0;
    std::vector<trial_measurement> results;
    std::string failure;
  };
  std::vector<trial_entry> trials; ///< by number
  std::uint64_t number = 0;        ///< the merger's of this study
  step_t last_rung = 0;
  std::uint64_t finished = 0;
  std::uint64_t asked_steps = 0;
  std::optional<best_record> best; ///< parameters left out
  bool done = false;
};

/// Runs a study: asks the merger for what the algorithm wants, tells the
/// algorithm what came of it, and the observer of every trial that ends.
study_actor::behavior_type
study(study_actor::stateful_pointer<study_state> self, study_options options,
      merger_actor merger, observer_actor observer);

} // namespace hippo
