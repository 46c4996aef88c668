#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "hippo/search/think/thinking.hpp"
#include "hippo/service/study/study_core.hpp"
#include "hippo/service/trace/core_trace.hpp"
#include "messages.hpp"

namespace hippo {

/// Reads the next of the events that a study has received in earlier runs.
/// @param after the number of the last one that is known
/// @returns none once there are no more
using history_reader
  = std::function<expected<std::vector<stored_event>>(std::uint64_t after)>;

/// What a study is made of.
struct study_setup {
  study_options options;
  /// Where it decides; not null.
  std::shared_ptr<thinking> where;
  /// Reads `options.history`; null: that is all of it.
  history_reader read_history{};
  /// Where an event makes it draw no more values, it decides at once: to change
  /// threads would take longer.
  std::uint64_t draws_at_once_max = 0;
  /// Where the events are written; null: nowhere.
  std::shared_ptr<trace_log> trace{};
};

struct study_state;
using study_self = study_actor::stateful_pointer<study_state>;

/// Something that a study's decisions are told, or asked for.
struct study_step {
  std::optional<any_study_event> event{}; ///< nothing: they are only looked at
  /// Called after the event, where the study decides; may be null.
  std::function<void(const study_core&)> look{};
  /// Called by the actor once the effects are on their way; may be null.
  std::function<void(study_self)> then{};
};

/// What a study decides with. Either its actor uses it or the job that works
/// for it, never both.
struct study_mind {
  study_setup setup; ///< until there is a core
  moment begun;
  std::unique_ptr<study_core> core;
  core_trace trace; ///< of the core
  bool has_caught_up = false;
  bool is_quick = false; ///< whether it decides at once
  study_registration registration; ///< once it has
  std::optional<error> failure;    ///< why it cannot
  double caught_up = 0;            ///< as of `study_core`

  // What the next job is to do:
  moment now;
  std::deque<study_step> steps;
  bool wants_status = false;

  // What came of it:
  study_core::effects effects;
  std::vector<std::function<void(study_self)>> done;
  std::optional<study_status> status;
  std::exception_ptr fault;

  /// Goes on until it is done or its turn is over. Throws nothing.
  void work(const job_turn& turn) noexcept;

  /// Tells the core of a step, or has it looked at.
  study_core::effects take(study_step& step, moment at);

private:
  bool catch_up(const job_turn& turn);
  bool read_history(const job_turn& turn);
};

/// State of a study: its decisions, and whom they concern.
struct study_state {
  /// The actor goes away: whoever waits for an answer is told that none comes.
  ~study_state();

  /// Prefix of this actor's lines in the log.
  static inline const char* name = "hippo.study";

  std::shared_ptr<study_mind> mind;
  thinking_place place; ///< its jobs'; one waits or runs at most
  bool is_thinking = false;
  /// What has come for the mind, in this order; none of it is taken up before
  /// there is a `number`.
  std::deque<study_step> inbox;
  study_status told; ///< while it cannot be asked
  bool wants_status = false;
  std::optional<caf::typed_response_promise<study_no>> starting;

  merger_actor merger;
  journal_actor journal;
  observer_actor observer;
  /// The merger's of this study; nothing: it is yet to be registered, and
  /// decides nothing.
  std::optional<study_no> number;

  std::uint64_t unstored_ends = 0; ///< that it has come to and not announced

  /// Who waits for an answer.
  using promise = std::variant<caf::typed_response_promise<command_answer>,
                               caf::typed_response_promise<trained_trial>>;
  std::uint64_t last_token = 0;
  std::map<study_token, promise> waiting;
};

/// Runs a study: asks the merger for what the algorithm wants, notifies
/// the algorithm of what came of it, and the observer of every trial that ends.
///
/// What comes is worked through in the order in which it comes, by jobs: to
/// decide takes as long as the study's sampler does. The actor itself always
/// answers.
study_actor::behavior_type
study(study_self self, study_setup setup, merger_actor merger,
      journal_actor journal, observer_actor observer);

} // namespace hippo
