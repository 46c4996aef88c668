#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hippo/study/trials.hpp"
#include "hippo/tune/tuner.hpp"
#include "messages.hpp"

namespace hippo {

/// What a study runs with.
struct study_options {
  study_spec spec;
  workload_descriptor workload;
  /// Where it stands in the store; running from its begin if it is new.
  stored_study stored;
  /// What it has received in earlier runs, in its order.
  std::vector<stored_event> history;
};

/// State of a study:
///
///     running <--pause, resume--> paused
///        |                          |
///        +--stop--> stopping <------+
///        |              |           |
///        +---complete---+--cancel---+--> ended
///
/// What it does follows from its text and from what it has received. After
/// a restart it receives all of that again, and is where it was.
struct study_state {
  /// Prefix of this actor's lines in the log.
  static inline const char* name = "hippo.study";

  study_options options;
  merger_actor merger;
  journal_actor journal;
  observer_actor observer;
  std::unique_ptr<tuner> decisions;

  study_trials trials{{}};
  std::uint64_t number = 0;        ///< the merger's of this study
  std::uint64_t acked = 0;  ///< of what the merger has sent
  bool told_wants_room = false; ///< to the merger
  step_t last_rung = 0;

  bool replaying = false;
  std::set<trial_no> unsaved;       ///< trials that have changed
  std::set<trial_no> unsaved_added; ///< trials that are new
  bool study_is_saved = true;
  bool end_is_told = false;

  /// Since when it has been worked on, if it is now.
  std::optional<caf::actor_clock::time_point> active_since;

  std::uint64_t last_token = 0;
  std::map<std::uint64_t, caf::typed_response_promise<command_answer>>
    commands; ///< that are being stored, by token
  struct trained_waiter {
    step_t to = 0;
    caf::typed_response_promise<trained_answer> promise;
  };
  std::multimap<trial_no, trained_waiter> waiters;
  /// Answers that may go out once what they report is stored.
  std::vector<std::function<void()>> answers;
};

/// Runs a study: asks the merger for what the algorithm wants, notifies
/// the algorithm of what came of it, and the observer of every trial that ends.
study_actor::behavior_type
study(study_actor::stateful_pointer<study_state> self,
      study_options options, merger_actor merger, journal_actor journal,
      observer_actor observer);

} // namespace hippo
