#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "hippo/base/error.hpp"
#include "hippo/base/ids.hpp"
#include "hippo/base/log_level.hpp"
#include "hippo/model/records.hpp"
#include "hippo/service/study/answers.hpp"

// The events of the coordinator, and its effects in answer to them. Studies go
// by their ids, mergers by their workload keys.

namespace hippo {

/// The caller's number of a request that awaits an answer: a submission, a
/// command, a question for a study, or a cancellation. Each has one of its own,
/// from 1.
using request_number = std::uint64_t;

} // namespace hippo

namespace hippo::coordinator_event {

// -- studies that begin -------------------------------------------------------

/// A study is submitted.
struct submitted {
  request_number request = 0;
  std::optional<study_id> stored{}; ///< nothing: it is new
  bool has_ended = false;           ///< as it is stored
  std::string name;
  std::string workload_key;
  /// The memory that its first trials may take.
  std::uint64_t first_bytes = 0;
  bool by_client = false; ///< clients ask for its trials
  /// Why it cannot be taken in, whatever else there is.
  std::optional<error> refusal{};
};
/// A `store_submission` is durable.
struct stored {
  request_number request = 0;
};
/// A `store_submission` has failed.
struct unstored {
  request_number request = 0;
};
/// A `read_plan` is done.
struct plan_read {
  std::string key;
  std::optional<error> failure{};
};
/// A `spawn_study` has failed.
struct not_spawned {
  study_id id{};
  request_number request = 0;
  std::string why;
};
/// A study does again what it did, and goes on.
struct started {
  study_id id{};
  request_number request = 0; ///< by which it was submitted
  study_no number{};          ///< its merger's number of it
};
/// A study has an actor, and cannot start.
struct not_started {
  study_id id{};
  request_number request = 0;
  std::string why;
};
/// A `submit_again` has found nothing to submit.
struct not_resubmitted {
  study_id id{};
  std::optional<std::string> unreadable{}; ///< why it cannot be read; or it
                                           ///< has ended
};
/// A study of an earlier run cannot go on.
struct restore_failed {
  study_id id{};
  std::string why;
};
/// The row of a study that is to end cannot be read.
struct row_unreadable {
  study_id id{};
  std::string why;
};

// -- studies that end ---------------------------------------------------------

/// A study has ended by itself.
struct study_ended {
  study_end end;
};
/// A `retire_study` has succeeded: nothing lets the study go on any more.
struct study_retired {
  study_id id{};
  std::optional<study_end> end{}; ///< as of the effect
};
/// A study does not go by a `retire_study`: it was told to go on.
struct study_stays {
  study_id id{};
};
/// A study's actor has ended.
struct study_down {
  study_id id{};
  bool is_of_journal = false; ///< nothing can be stored any more
  std::string why;
};
/// A merger has ended.
struct merger_down {
  std::string key;
  bool is_of_journal = false; ///< nothing can be stored any more
  std::string why;
  std::uint64_t study = 0;  ///< whose orders it was carrying out; 0: nobody's
  std::string fault_text{}; ///< of what was thrown
};
/// A study that has not started is to be cancelled.
struct cancel_asked {
  request_number request = 0;
  study_id id{};
  std::string why;
};

// -- questions and commands ---------------------------------------------------

/// The actor of a study is asked for.
struct asked {
  request_number request = 0;
  study_id id{};
};
/// A command for a study, which may have ended.
struct commanded {
  request_number request = 0;
  study_id id{};
};
/// A `reopen_study` has succeeded, or has not.
struct reopened {
  request_number request = 0;
  study_id id{};
};
struct not_reopened {
  study_id id{};
};
/// A study has answered a `command_study`.
struct command_answered {
  study_id id{};
  bool is_failure = false; ///< or one that has ended does not go on by it
};

/// Nothing more is to be taken in if all studies have ended.
struct retirement_asked {
  request_number request = 0;
};

// -- from the process and the clock -------------------------------------------

/// The coordinator begins.
struct begun {};
/// Every study of earlier runs has been submitted; mergers may train.
struct going {};
/// Nothing new is to be trained.
struct halted {};
/// It is time to look for mergers that are idle.
struct ticked {};
/// Due by a `look_after`.
struct memory_due {};
/// The answer to an `ask_study_memory`.
struct study_measured {
  study_id id{};
  std::uint64_t bytes = 0;
};
/// The answer to an `ask_merger_memory`.
struct plan_measured {
  std::string key;
  std::uint64_t bytes = 0;
  std::map<study_id, std::uint64_t> segments; ///< of the trials of each study
};

} // namespace hippo::coordinator_event

namespace hippo::coordinator_effect {

// -- submissions --------------------------------------------------------------

/// The study of a submission is stored, along with the number of the leases of
/// a merger that may be made for it. `stored` or `unstored` follows.
struct store_submission {
  request_number request = 0;
  study_id id{};
  bool is_new = false;
  std::uint64_t lease_epoch = 0;
};
/// A submission is answered: the study has started.
struct accept_submission {
  request_number request = 0;
  study_id id{};
};
/// A submission is answered with the reason why its study does not run.
struct refuse_submission {
  request_number request = 0;
  error why;
};
/// A submission is answered with the failure of its `store_submission`.
struct refuse_unstored {
  request_number request = 0;
};
/// The plan of a workload key is read as it is stored, and its merger's options
/// are made. `plan_read` follows.
struct read_plan {
  request_number request = 0; ///< a submission of that key
  std::string key;
  std::uint64_t lease_epoch = 0;
};

// -- mergers ------------------------------------------------------------------

/// A merger is made of the plan that was read last.
struct make_merger {
  std::string key;
};
/// A merger may train.
struct start_merger {
  std::string key;
};
/// A merger is to train nothing new.
struct halt_merger {
  std::string key;
};
/// A merger without studies stores the rest, and ends. `merger_down` follows.
struct retire_merger {
  std::string key;
};
/// A merger has died of a fault: a line for the log.
struct tell_death {
  std::string key;
  std::string why;
  bool is_again = false;
  std::uint64_t study = 0;
};

// -- studies ------------------------------------------------------------------

/// The actor of a submission's study is made, at the merger of its key.
struct spawn_study {
  request_number request = 0;
  study_id id{};
  std::string key;
};
/// A study that has an actor starts. `started` or `not_started` follows, or the
/// end of an actor.
struct start_study {
  study_id id{};
  request_number request = 0;
};
/// The actor of a study ends, as it stands.
struct exit_study {
  study_id id{};
};
/// The actor of a study is heard of no more.
struct drop_study {
  study_id id{};
};
/// The study is stored as ended, after all that its actor has stored; then the
/// requests are answered.
struct end_study {
  study_id id{};
  std::string name;                      ///< the store has the rest
  study_phase how = study_phase::failed; ///< or `cancelled`
  std::string why;
  std::optional<request_number> submitter{};
  std::optional<request_number> canceller{};
};
/// The study, of which the actor is heard of no more, is submitted again as it
/// is stored by now; its submission passes to that one.
struct submit_again {
  study_id id{};
  std::optional<request_number> submitter{};
};
/// A study that has ended is asked to go. `study_retired` or `study_stays`
/// follows, or the end of its actor.
struct retire_study {
  study_id id{};
  std::optional<study_end> end{};
};
/// The end of a study is told.
struct tell_end {
  study_end end;
};

// -- questions and commands ---------------------------------------------------

/// The actor of a study is sent the command, and `command_answered` follows:
/// its answer is that to the command.
struct command_study {
  request_number request = 0;
  study_id id{};
};
/// The study of a command is submitted; `reopened` follows, or `not_reopened`
/// with the answer to the command.
struct reopen_study {
  request_number request = 0;
  study_id id{};
};
/// A command is answered with the reason why it cannot be given.
struct refuse_command {
  request_number request = 0;
  error why;
};
/// A question for a study is answered, with its actor if it has one.
struct answer_question {
  request_number request = 0;
  study_id id{};
  bool is_there = false;
};
/// A cancellation comes too late.
struct refuse_cancel {
  request_number request = 0;
};

/// A question is answered whether all studies have ended: then nothing is taken
/// in any more.
struct answer_retirement {
  request_number request = 0;
  bool is_idle = false;
};

// -- memory, files, and the process -------------------------------------------

/// The space for checkpoints is divided anew among the workloads.
struct divide_space {};
/// Free memory is given back to the operating system.
struct trim_memory {};
/// `memory_due` is to come in a while.
struct look_after {};
/// A study is told whether new trials of it may begin.
struct tell_room {
  study_id id{};
  std::string why; ///< empty: they may
};
/// A study is asked for the memory that it takes.
struct ask_study_memory {
  study_id id{};
};
/// A merger likewise.
struct ask_merger_memory {
  std::string key;
};
/// The coordinator ends for the reason that the present event has.
struct quit {};
/// A line for the log.
struct log_line {
  log_level severity = log_level::info;
  std::string text;
};

} // namespace hippo::coordinator_effect

namespace hippo {

/// The knowledge of the coordinator when it begins.
struct coordinator_begin {
  bool keep_ended = true;    ///< studies and mergers that have ended stay
  bool restores = false;     ///< studies of earlier runs are submitted again
  bool has_store = false;    ///< what was is kept, and can be read again
  bool limits_space = false; ///< of checkpoints
  std::optional<std::uint64_t> memory_bytes_max{}; ///< nothing: no limit
  std::chrono::seconds idle_merger_max{600};
  study_id last_study{};
  std::uint64_t last_lease_epoch = 0;
  std::set<study_id> awaited{}; ///< studies that are to come
};

using any_coordinator_event = std::variant<
  coordinator_event::submitted, coordinator_event::stored,
  coordinator_event::unstored, coordinator_event::plan_read,
  coordinator_event::not_spawned, coordinator_event::started,
  coordinator_event::not_started, coordinator_event::not_resubmitted,
  coordinator_event::restore_failed, coordinator_event::row_unreadable,
  coordinator_event::study_ended, coordinator_event::study_retired,
  coordinator_event::study_stays, coordinator_event::study_down,
  coordinator_event::merger_down, coordinator_event::cancel_asked,
  coordinator_event::asked, coordinator_event::commanded,
  coordinator_event::reopened, coordinator_event::not_reopened,
  coordinator_event::command_answered, coordinator_event::retirement_asked,
  coordinator_event::begun, coordinator_event::going, coordinator_event::halted,
  coordinator_event::ticked, coordinator_event::memory_due,
  coordinator_event::study_measured, coordinator_event::plan_measured>;

using any_coordinator_effect = std::variant<
  coordinator_effect::store_submission, coordinator_effect::accept_submission,
  coordinator_effect::refuse_submission, coordinator_effect::refuse_unstored,
  coordinator_effect::read_plan, coordinator_effect::make_merger,
  coordinator_effect::start_merger, coordinator_effect::halt_merger,
  coordinator_effect::retire_merger, coordinator_effect::tell_death,
  coordinator_effect::spawn_study, coordinator_effect::start_study,
  coordinator_effect::exit_study, coordinator_effect::drop_study,
  coordinator_effect::end_study, coordinator_effect::submit_again,
  coordinator_effect::retire_study, coordinator_effect::tell_end,
  coordinator_effect::command_study, coordinator_effect::reopen_study,
  coordinator_effect::refuse_command, coordinator_effect::answer_question,
  coordinator_effect::refuse_cancel, coordinator_effect::answer_retirement,
  coordinator_effect::divide_space, coordinator_effect::trim_memory,
  coordinator_effect::look_after, coordinator_effect::tell_room,
  coordinator_effect::ask_study_memory, coordinator_effect::ask_merger_memory,
  coordinator_effect::quit, coordinator_effect::log_line>;

} // namespace hippo
