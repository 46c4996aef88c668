#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caf/all.hpp"

#include "hippo/base/error.hpp"
#include "hippo/base/ids.hpp"
#include "hippo/forecast/machines/costs.hpp"
#include "hippo/model/run_record.hpp"
#include "hippo/model/trial_event.hpp"
#include "hippo/net/wire/wire.hpp"
#include "hippo/plan/schedule/placement.hpp"
#include "hippo/plan/search_plan.hpp"
#include "hippo/search/accepted_study.hpp"
#include "hippo/service/merge/events.hpp"
#include "hippo/service/merge/orders.hpp"
#include "hippo/service/merge/status.hpp"
#include "hippo/service/pool/workload_demand.hpp"
#include "hippo/service/pool/workload_need.hpp"
#include "hippo/service/study/answers.hpp"
#include "hippo/store/state_reader.hpp"
#include "trainer.capnp.h"

// The protocol: every message and every actor interface, nothing else. What
// service and trainers tell each other is a Cap'n Proto `wire`, which crosses
// processes as a frame (hippo/link); what stays inside the service is a plain
// struct. CAF shares either and never copies it.

namespace hippo {

// -- atoms (at most 10 characters each) ---------------------------------------

using ack_atom = caf::atom_constant<caf::atom("ack")>;
using able_atom = caf::atom_constant<caf::atom("able")>;
using alive_atom = caf::atom_constant<caf::atom("alive")>;
using back_atom = caf::atom_constant<caf::atom("back")>;
using budget_atom = caf::atom_constant<caf::atom("budget")>;
using blame_atom = caf::atom_constant<caf::atom("blame")>;
using cancel_atom = caf::atom_constant<caf::atom("cancel")>;
using capacity_atom = caf::atom_constant<caf::atom("capacity")>;
using command_atom = caf::atom_constant<caf::atom("command")>;
using commit_atom = caf::atom_constant<caf::atom("commit")>;
using connect_atom = caf::atom_constant<caf::atom("connect")>;
using cooldown_atom = caf::atom_constant<caf::atom("cooldown")>;
using demand_atom = caf::atom_constant<caf::atom("demand")>;
using depot_atom = caf::atom_constant<caf::atom("depot")>;
using ended_atom = caf::atom_constant<caf::atom("ended")>;
using failed_atom = caf::atom_constant<caf::atom("failed")>;
using find_atom = caf::atom_constant<caf::atom("find")>;
using flush_atom = caf::atom_constant<caf::atom("flush")>;
using go_atom = caf::atom_constant<caf::atom("go")>;
using grant_atom = caf::atom_constant<caf::atom("grant")>;
using halt_atom = caf::atom_constant<caf::atom("halt")>;
using heartbeat_atom = caf::atom_constant<caf::atom("heartbeat")>;
using introduce_atom = caf::atom_constant<caf::atom("introduce")>;
using lease_atom = caf::atom_constant<caf::atom("lease")>;
using leave_atom = caf::atom_constant<caf::atom("leave")>;
using lost_atom = caf::atom_constant<caf::atom("lost")>;
using memory_atom = caf::atom_constant<caf::atom("memory")>;
using notify_atom = caf::atom_constant<caf::atom("notify")>;
using order_atom = caf::atom_constant<caf::atom("order")>;
using outcome_atom = caf::atom_constant<caf::atom("outcome")>;
using overview_atom = caf::atom_constant<caf::atom("overview")>;
using pause_atom = caf::atom_constant<caf::atom("pause")>;
using quiesced_atom = caf::atom_constant<caf::atom("quiesced")>;
using register_atom = caf::atom_constant<caf::atom("register")>;
using release_atom = caf::atom_constant<caf::atom("release")>;
using report_atom = caf::atom_constant<caf::atom("report")>;
using resent_atom = caf::atom_constant<caf::atom("resent")>;
using retire_atom = caf::atom_constant<caf::atom("retire")>;
using stalled_atom = caf::atom_constant<caf::atom("stalled")>;
using spent_atom = caf::atom_constant<caf::atom("spent")>;
using start_atom = caf::atom_constant<caf::atom("start")>;
using status_atom = caf::atom_constant<caf::atom("status")>;
using stop_atom = caf::atom_constant<caf::atom("stop")>;
using submit_atom = caf::atom_constant<caf::atom("submit")>;
using thought_atom = caf::atom_constant<caf::atom("thought")>;
using tick_atom = caf::atom_constant<caf::atom("tick")>;
using train_atom = caf::atom_constant<caf::atom("train")>;
using weight_atom = caf::atom_constant<caf::atom("weight")>;
using raise_atom = caf::atom_constant<caf::atom("raise")>;
using yield_atom = caf::atom_constant<caf::atom("yield")>;

// -- what crosses nodes -------------------------------------------------------

using hello_wire = wire<schema::Hello>;
using welcome_wire = wire<schema::Welcome>;
using lease_wire = wire<schema::Lease>;
using stop_wire = wire<schema::Stop>;
using cancel_wire = wire<schema::Cancel>;
using stop_report_wire = wire<schema::StopReport>;
using lease_end_wire = wire<schema::LeaseEnd>;
using heartbeat_wire = wire<schema::Heartbeat>;
using ack_wire = wire<schema::Ack>;
using resent_wire = wire<schema::Resent>;
using goodbye_wire = wire<schema::Goodbye>;

/// Hears how a lease goes.
using lease_owner_actor = caf::typed_actor<
  // A stop was passed. Malformed reports end the lease.
  caf::reacts_to<report_atom, stop_report_wire>,
  // Nothing more will come of this lease; the trainer is free.
  caf::reacts_to<ended_atom, lease_end_wire>>;

/// Trains on one device, one lease at a time.
using trainer_actor = caf::typed_actor<
  // Train this; report to the owner. A lease that is already running is
  // cancelled first.
  caf::reacts_to<lease_atom, lease_wire, lease_owner_actor>,
  // Stop there as well, unless it is passed or another lease runs. If the lease
  // is to end there and it is passed, after the present step.
  caf::reacts_to<stop_atom, stop_wire>,
  // End the lease after the present step.
  caf::reacts_to<cancel_atom, cancel_wire>,
  // That report need not be sent again.
  caf::reacts_to<ack_atom, ack_wire>,
  // The pool has given the trainer up: it has to register anew.
  caf::reacts_to<lost_atom>>;

/// Takes in trainers; the part of the pool that other nodes see.
using registrar_actor = caf::typed_actor<
  // A trainer wants work. Replies with its number or a refusal.
  // Errors: `errc::malformed_message`.
  caf::replies_to<register_atom, hello_wire, trainer_actor>::with<welcome_wire>,
  // A trainer is alive. With the first heartbeat on which it is idle it may be given
  // work.
  caf::reacts_to<heartbeat_atom, heartbeat_wire>,
  // A report that nobody has acknowledged to this trainer.
  caf::reacts_to<resent_atom, resent_wire, trainer_actor>,
  // A trainer ends. Replies once everything that came before is here.
  caf::reacts_to<leave_atom, goodbye_wire>>;

// -- what stays inside the service node ---------------------------------------

/// What the pool knows of its trainers.
struct pool_status {
  /// In order of their numbers; of those that are gone, the last ones.
  std::vector<trainer_record> trainers;
  /// What they have cost, by kind of machine; nothing: there is no list of them.
  std::optional<std::vector<trainers_cost>> costs;
  std::uint64_t idle = 0;
  std::uint64_t waiting_leases = 0; ///< for which there is no trainer
  /// A workload that has something to train, which no trainer can.
  struct stuck_workload {
    std::string key; ///< the workload key
    std::string why; ///< and what to do
  };
  std::vector<stuck_workload> stuck;
  std::vector<workload_demand> demands; ///< of mergers that are there
  /// For how long those without a lease have had none, in seconds.
  std::map<trainer_id, double> idle_seconds;
  std::vector<refused_trainer> refused; ///< the last ones, oldest first
};

/// Kinds of device.
using device_names = std::set<std::string>;
/// A trainer that is granted, and what a merger needs to know of it.
using trainer_grant = merge_event::granted;
/// Kinds of device of trainers, by their numbers.
using trainer_kinds = std::map<trainer_id, std::string>;

/// Hears what became of a study's trials and what people want of it.
using trial_owner_actor = caf::typed_actor<
  // News, once they are durable.
  caf::reacts_to<outcome_atom, study_news>,
  // From the merger: the study is held, and nothing of it runs any more.
  caf::reacts_to<quiesced_atom>,
  // From the merger: the study has had all that it may have of something, after
  // so many raises of its budgets.
  caf::reacts_to<spent_atom, study_limit, std::uint64_t>,
  // From the merger: so many trainers have nothing to do, and the study wants
  // room. Answered with orders.
  caf::reacts_to<capacity_atom, std::uint64_t>>;

/// What must last, and what is done once it does.
struct journal_entry {
  std::vector<journal_record> records;
  std::vector<std::pair<trial_owner_actor, study_news>> news;
  std::vector<std::string> files{}; ///< to be deleted
  /// To be looked at, and left anew if it is not what it was; null: nothing.
  std::shared_ptr<const kept_code> code{};
};

/// How the journal does.
struct journal_status {
  std::uint64_t commits = 0;
  std::uint64_t records = 0;
  double commit_seconds = 0; ///< of all commits
  std::string trouble;       ///< why nothing can be written now; else empty
};

/// Writes what must last, in the order in which it comes, and passes the news on
/// in the same order: the store knows what every study has heard.
using journal_actor = caf::typed_actor<
  // Commits the records, perhaps along with others, then passes on the news,
  // deletes the files and replies with the number of records.
  // Errors: `errc::io_failed`.
  caf::replies_to<commit_atom, journal_entry>::with<std::uint64_t>,
  // Time to commit what has come in. Sent by the journal to itself.
  caf::reacts_to<flush_atom>,
  caf::replies_to<status_atom>::with<journal_status>>;

/// Owns the search plan of one workload key and leases its paths.
using merger_actor = lease_owner_actor::extend<
  // Adds a study; replies with its number.
  caf::replies_to<register_atom, study_registration,
                  trial_owner_actor>::with<study_no>,
  // The study of that number gives orders.
  caf::reacts_to<order_atom, study_no, study_orders>,
  // The study of that number has another weight from now on. Ignored unless it
  // is greater than 0.
  caf::reacts_to<weight_atom, study_no, double>,
  // The study of that number may have so many device seconds more, and so much
  // more cost, of budgets that it has.
  caf::reacts_to<raise_atom, study_no, double, double>,
  // Leasing may begin: every study that is to share from the start is there.
  caf::reacts_to<go_atom>,
  // Nothing more is leased; what runs ends after its present step, saved.
  caf::reacts_to<halt_atom>,
  // Whether nothing new may start for the study of that number; what runs goes
  // on.
  caf::reacts_to<pause_atom, study_no, bool>,
  // Halts for good. Replies once nothing runs and all that is known is durable.
  caf::replies_to<retire_atom>::with<std::uint64_t>,
  // Its checkpoints may take so many bytes from now on.
  caf::reacts_to<budget_atom, std::uint64_t>,
  // From the pool: a trainer is the merger's until it is released.
  caf::reacts_to<grant_atom, trainer_actor, trainer_grant>,
  // From the pool: trainer `number` is gone, and why; nothing: in good order.
  caf::reacts_to<lost_atom, trainer_id, std::string>,
  // From the pool: a trainer of that name which was lost had been cut off.
  caf::reacts_to<back_atom, std::string>,
  // From the pool: these could train for it, whoever holds them.
  caf::reacts_to<able_atom, trainer_kinds>,
  // From the pool: trainer `number` works on a lease and has reached a state.
  caf::reacts_to<heartbeat_atom, trainer_id, lease_id, step_t>,
  // From the pool: a report that nobody has acknowledged to that trainer.
  caf::reacts_to<resent_atom, stop_report, trainer_actor>,
  // From the pool: others need trainer `number` more. It is to be released as
  // soon as that pays.
  caf::reacts_to<yield_atom, trainer_id>,
  caf::replies_to<status_atom>::with<merger_status>,
  caf::replies_to<overview_atom>::with<merger_overview>>;

/// Owns the trainers and shares them among the mergers.
using pool_actor = registrar_actor::extend<
  // What trainers a merger can use; without this, it is given any.
  caf::reacts_to<introduce_atom, merger_actor, workload_need>,
  // A merger of that weight, which may change, could use so many trainers now,
  // beside those that it has, and others that help them. Answered when it has
  // been granted all that there are.
  caf::reacts_to<demand_atom, merger_actor, double, std::uint64_t, device_names,
                 placement_facts, helper_demand>,
  // A merger is done with the trainer of that number.
  caf::reacts_to<release_atom, trainer_id>,
  // The merger that holds the trainer of that number is not to be given it for
  // so many milliseconds. If the trainer cannot start its workload, the text
  // says why. The last word: nor any other that holds only some ranks of a
  // trial.
  caf::reacts_to<cooldown_atom, trainer_id, std::uint64_t, std::string, bool>,
  // The trainer of that number has failed at what another one could do.
  caf::reacts_to<blame_atom, trainer_id, std::string>,
  // A lease has failed on the trainer of that number, whoever is to blame.
  caf::reacts_to<failed_atom, trainer_id, std::string>,
  // A merger is done with the trainer of that number, which makes no progress;
  // it is given work again once it says that it is idle.
  caf::reacts_to<stalled_atom, trainer_id, std::string>,
  // The trainer of that number has said something to a merger: it is alive.
  caf::reacts_to<alive_atom, trainer_id>,
  // A trainer has rested. Sent by the pool to itself.
  caf::reacts_to<cooldown_atom>,
  // Looks for trainers that have fallen silent. Sent by the pool to itself.
  caf::reacts_to<tick_atom>,
  // Looks whether a merger must give a trainer back. Sent by the pool to
  // itself.
  caf::reacts_to<yield_atom>, caf::replies_to<status_atom>::with<pool_status>>;

/// Hears what people want to be told.
using observer_actor = caf::typed_actor<
  // A trial has ended.
  caf::reacts_to<notify_atom, trial_event>,
  // A study has ended.
  caf::reacts_to<notify_atom, study_end>>;

/// Runs one study: owns its algorithm and its trials.
using study_actor = trial_owner_actor::extend<
  // Registers the trials and asks for what is to be trained. Replies with its
  // merger's number of it.
  caf::replies_to<start_atom>::with<study_no>,
  // Carries out a command, once it is durable.
  // Errors: `errc::invalid_argument` if the study cannot do so, says why.
  caf::replies_to<command_atom, study_command>::with<command_answer>,
  // Lets a client's trial be trained up to a state, unless it is on its way
  // there or has been; replies when it is there.
  caf::replies_to<train_atom, trial_no, step_t>::with<trained_trial>,
  // No new trials may begin, for this reason; an empty one: they may.
  caf::reacts_to<memory_atom, std::string>,
  // The budget of time is spent, or the deadline has come. Sent by the study to
  // itself.
  caf::reacts_to<tick_atom>,
  // A job that worked for it has ended. Sent by that job.
  caf::reacts_to<thought_atom>,
  // Its actor ends if the study has ended and that is stored. Replies with
  // whether it does: a study that goes on again stays.
  caf::replies_to<retire_atom>::with<bool>,
  caf::replies_to<status_atom>::with<study_status>,
  caf::replies_to<overview_atom>::with<study_record>>;

/// A study to be run.
struct study_submission {
  /// Always set: `optional` since CAF makes empty messages.
  std::optional<accepted_study> study;
  /// The study goes on where a stored one stands, if it is given.
  std::optional<stored_study> stored;
  /// Seconds since it was submitted; the coordinator knows.
  double age_seconds = 0;
};

/// The studies and mergers of a service that are in memory.
struct coordinator_status {
  struct study_entry {
    study_id id{};
    std::string name;
    std::string workload_key;
    study_actor handle;
    /// Its merger's number of it; nothing: it has yet to be registered.
    std::optional<study_no> no{};
    bool ended = false;
  };
  struct merger_entry {
    std::string workload_key;
    merger_actor handle;
  };
  std::vector<study_entry> studies; ///< in the order of submission
  std::vector<merger_entry> mergers;
  /// Studies that have not ended and are not there, and why: they are being read
  /// with their plan, or cannot be read.
  std::map<study_id, std::string> absent{};
  /// What they may take in memory; nothing: no limit.
  std::optional<std::uint64_t> memory_bytes_max;
};

/// Starts studies, along with a merger for each workload key, and lets go of
/// what has ended.
using coordinator_actor = observer_actor::extend<
  // Runs a study. Replies with its id once it is durable.
  caf::replies_to<submit_atom, study_submission>::with<study_id>,
  // Gives a command to a study that has ended, which may let it go on (`retry`);
  // without it, it stays ended. Replies and errors as of `study_actor`.
  caf::replies_to<command_atom, study_submission,
                  study_command>::with<command_answer>,
  // Replies with the study of that id, once it is there if it may come: studies
  // are being restored. Errors: `errc::unknown_study` if it is not in memory,
  // because it has ended or never was.
  caf::replies_to<find_atom, study_id>::with<study_actor>,
  // Cancels a study that has not started, for that reason, without waiting until
  // it is read or has caught up. Replies with whether it has, once that is
  // stored; else the study is to be told.
  caf::replies_to<cancel_atom, study_id, std::string>::with<bool>,
  // A study of before cannot be read, for that reason: it has failed.
  caf::reacts_to<failed_atom, study_id, std::string>,
  // The port at which trainers that do not see the checkpoints get them; said
  // before the first study comes.
  caf::reacts_to<depot_atom, std::uint16_t>,
  // Leasing may begin.
  caf::reacts_to<go_atom>,
  // Nothing more is leased; what runs ends after its present step, saved.
  caf::reacts_to<halt_atom>,
  // Takes no more studies in, nor has one go on that has ended, if all have
  // ended. Replies with whether they have.
  caf::replies_to<retire_atom>::with<bool>,
  // Lets mergers go that have been idle for long, and divides the space for
  // checkpoints. Sent to itself.
  caf::reacts_to<tick_atom>,
  // Looks at what studies and plans take in memory. Sent to itself.
  caf::reacts_to<memory_atom>,
  // The plan of that workload key was read. Sent by the job that did.
  caf::reacts_to<thought_atom, std::string>,
  caf::replies_to<status_atom>::with<coordinator_status>>;

/// Lets CAF render the errors of this program. Call before creating the actor
/// system.
template <class Config>
Config& add_error_names(Config& cfg) {
  // The one-argument template `add_error_category<T>` of 0.17.6 does not
  // compile, hence the renderer.
  cfg.add_error_category(caf::atom("hippo"),
                         [](std::uint8_t code, caf::atom_value,
                            const caf::message& context) {
                           // A sentence says more than its code.
                           return context.match_elements<std::string>()
                                    ? context.get_as<std::string>(0)
                                    : std::string{to_string(
                                      static_cast<errc>(code))};
                         });
  return cfg;
}

} // namespace hippo

CAF_ERROR_CODE_ENUM(hippo::errc, "hippo")

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::study_registration)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::study_orders)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::study_news)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::study_command)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::command_answer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::trained_trial)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::study_end)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::study_submission)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::coordinator_status)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::journal_entry)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::journal_status)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::merger_status)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::merger_overview)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::study_status)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::study_record)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::trial_event)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::device_names)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::placement_facts)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::helper_demand)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::trainer_grant)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::trainer_kinds)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::workload_need)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::pool_status)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::stop_report)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::lease_end)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::hello_wire)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::welcome_wire)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::lease_wire)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::stop_wire)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::cancel_wire)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::stop_report_wire)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::lease_end_wire)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::heartbeat_wire)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::ack_wire)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::resent_wire)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::goodbye_wire)

namespace hippo {

/// A failure as those who sent a request see it.
inline caf::error to_caf_error(const error& failure) {
  return caf::make_error(failure.code, failure.message);
}

} // namespace hippo
