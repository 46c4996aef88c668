#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <variant>

#include "hippo/study/study_core.hpp"
#include "messages.hpp"

namespace hippo {

/// State of a study: its decisions, and whom they concern.
struct study_state {
  /// The actor goes away: whoever waits for an answer is told that none comes.
  ~study_state();

  /// Prefix of this actor's lines in the log.
  static inline const char* name = "hippo.study";

  std::unique_ptr<study_core> core;
  merger_actor merger;
  journal_actor journal;
  observer_actor observer;
  /// The merger's of this study; nothing: it is yet to be registered.
  std::optional<study_no> number;
  /// What the merger is to be told once it is: it was registered as it was
  /// before.
  study_core::effects early;

  std::uint64_t unstored_ends = 0; ///< that it has come to and not announced

  /// Who waits for an answer.
  using promise = std::variant<caf::typed_response_promise<command_answer>,
                               caf::typed_response_promise<trained_answer>>;
  std::uint64_t last_token = 0;
  std::map<study_token, promise> waiting;
};

/// Runs a study: asks the merger for what the algorithm wants, notifies
/// the algorithm of what came of it, and the observer of every trial that ends.
study_actor::behavior_type
study(study_actor::stateful_pointer<study_state> self,
      study_options options, merger_actor merger, journal_actor journal,
      observer_actor observer);

} // namespace hippo
