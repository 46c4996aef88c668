#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "caf/all.hpp"

#include "hippo/core/error.hpp"
#include "hippo/plan/search_plan.hpp"
#include "hippo/report/progress.hpp"
#include "hippo/report/record.hpp"
#include "hippo/store/state_folder.hpp"
#include "hippo/tree/overview.hpp"
#include "hippo/wire/wire.hpp"
#include "trainer.capnp.h"
#include "wire_inspect.hpp"

// The protocol: every message and every actor interface, nothing else. What
// crosses nodes is a Cap'n Proto `wire`; what stays inside the service node is
// a plain struct that CAF shares and never copies.

namespace hippo {

// -- atoms (at most 10 characters each) ---------------------------------------

using beat_atom = caf::atom_constant<caf::atom("beat")>;
using cancel_atom = caf::atom_constant<caf::atom("cancel")>;
using commit_atom = caf::atom_constant<caf::atom("commit")>;
using demand_atom = caf::atom_constant<caf::atom("demand")>;
using ended_atom = caf::atom_constant<caf::atom("ended")>;
using go_atom = caf::atom_constant<caf::atom("go")>;
using grant_atom = caf::atom_constant<caf::atom("grant")>;
using halt_atom = caf::atom_constant<caf::atom("halt")>;
using lease_atom = caf::atom_constant<caf::atom("lease")>;
using lost_atom = caf::atom_constant<caf::atom("lost")>;
using order_atom = caf::atom_constant<caf::atom("order")>;
using outcome_atom = caf::atom_constant<caf::atom("outcome")>;
using register_atom = caf::atom_constant<caf::atom("register")>;
using release_atom = caf::atom_constant<caf::atom("release")>;
using report_atom = caf::atom_constant<caf::atom("report")>;
using start_atom = caf::atom_constant<caf::atom("start")>;
using status_atom = caf::atom_constant<caf::atom("status")>;
using stop_atom = caf::atom_constant<caf::atom("stop")>;
using told_atom = caf::atom_constant<caf::atom("told")>;
using tick_atom = caf::atom_constant<caf::atom("tick")>;

// -- what crosses nodes -------------------------------------------------------

using hello_wire = wire<schema::Hello>;
using welcome_wire = wire<schema::Welcome>;
using lease_wire = wire<schema::Lease>;
using stop_wire = wire<schema::Stop>;
using cancel_wire = wire<schema::Cancel>;
using stop_report_wire = wire<schema::StopReport>;
using lease_end_wire = wire<schema::LeaseEnd>;
using beat_wire = wire<schema::Beat>;

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
  // Stop there as well, unless it is passed or another lease runs.
  caf::reacts_to<stop_atom, stop_wire>,
  // End the lease after the present step.
  caf::reacts_to<cancel_atom, cancel_wire>>;

/// Takes in trainers; the part of the pool that other nodes see.
using registrar_actor = caf::typed_actor<
  // A trainer wants work. Replies with its number or a refusal.
  // Errors: `errc::malformed_message`.
  caf::replies_to<register_atom, hello_wire, trainer_actor>::with<welcome_wire>,
  // A trainer is alive.
  caf::reacts_to<beat_atom, beat_wire>>;

// -- what stays inside the service node ---------------------------------------

/// A study, as a merger needs to know it.
struct study_registration {
  std::string name;
  measuring when;
};

/// What a study wants of its merger, carried out in this order. Trials go by
/// the study's own numbers.
struct study_orders {
  struct trial {
    std::uint64_t no = 0;
    std::vector<segment> segments;
    std::optional<std::uint64_t> fork_of;
    bool responsive = false; ///< whether it may be rerouted
  };
  std::vector<trial> added;
  /// Trials that go on with other values from where they were asked to.
  std::vector<trial> rerouted;
  std::vector<std::uint64_t> dropped; ///< they wait for nothing any more
  std::vector<std::pair<std::uint64_t, step_t>> asked; ///< and up to where
};

/// What became known of a study's trials, in order, by the study's numbers.
struct outcomes {
  std::vector<delivery> measured;
  std::vector<trial_failure> failed;
};

/// Where a merger stands, cheap enough to ask for often.
struct merger_status {
  merge_figures figures;
  std::vector<merge_figures> by_study; ///< in order of registration
  std::uint64_t trained_steps = 0;
  std::uint64_t reused_steps = 0; ///< unique steps that were there before
  std::uint64_t runnable_paths = 0;
  double step_seconds = 0; ///< the mean time of a trained step
  /// What the steps would have cost that trials have got by now without anybody
  /// training them in this run.
  double saved_seconds = 0;
  struct running_lease {
    std::uint64_t trainer = 0;
    std::string what; ///< the stage that it is in
    step_t at = 0;
    step_t to = 0;
    double steps_per_second = 0; ///< 0 until it has reported
  };
  std::vector<running_lease> running;
};

/// Everything a merger knows that a report shows.
struct merger_overview {
  merger_status status;
  std::string workload_key;
  std::vector<overview_stage> stages;
  /// What a merger knows of a trial.
  struct trial_entry {
    step_t shared_steps = 0;
    node_id leaf = 0; ///< the last node of its chain
  };
  std::vector<std::vector<trial_entry>> trials; ///< by study and its numbers
  std::vector<busy_record> timeline;
  bool timeline_is_whole = true; ///< else it got too long
  double busy_seconds = 0;
  double load_seconds = 0;
  double train_seconds = 0;
  double evaluate_seconds = 0;
  double save_seconds = 0;
  double dispatch_seconds = 0;
};

/// Where a study stands, cheap enough to ask for often.
struct study_status {
  std::string name;
  std::string metric;
  std::uint64_t trials = 0;
  std::uint64_t finished = 0; ///< neither pending, running nor paused
  std::uint64_t asked_steps = 0;
  std::optional<best_record> best;
  bool done = false;
};

/// What the pool knows of its trainers.
struct pool_status {
  std::vector<trainer_record> trainers; ///< in order of their numbers
  std::uint64_t idle = 0;
};

/// Writes what must last. A result is told only after it has been committed.
using journal_actor = caf::typed_actor<
  // Commits the records; replies with their number.
  // Errors: `errc::io_failed`.
  caf::replies_to<commit_atom, std::vector<journal_record>>
  ::with<std::uint64_t>>;

/// Hears what became of a study's trials.
using trial_owner_actor
  = caf::typed_actor<caf::reacts_to<outcome_atom, outcomes>>;

/// Owns the search plan of one workload key and leases its paths.
using merger_actor = lease_owner_actor::extend<
  // Adds a study; replies with its number.
  caf::replies_to<register_atom, study_registration,
                  trial_owner_actor>::with<std::uint64_t>,
  // The study of that number gives orders.
  caf::reacts_to<order_atom, std::uint64_t, study_orders>,
  // Leasing may begin: every study that is to share from the start is there.
  caf::reacts_to<go_atom>,
  // Nothing more is leased, and what runs is cancelled.
  caf::reacts_to<halt_atom>,
  // From the pool: trainer `number` is the merger's until it is released.
  caf::reacts_to<grant_atom, std::uint64_t, trainer_actor>,
  // From the pool: trainer `number` is gone.
  caf::reacts_to<lost_atom, std::uint64_t>,
  caf::replies_to<status_atom>::with<merger_status>,
  caf::replies_to<status_atom, told_atom>::with<merger_overview>>;

/// Owns the trainers and shares them among the mergers.
using pool_actor = registrar_actor::extend<
  // A merger of that weight could lease so many paths now.
  caf::reacts_to<demand_atom, merger_actor, double, std::uint64_t>,
  // A merger is done with the trainer of that number.
  caf::reacts_to<release_atom, std::uint64_t>,
  // Looks for trainers that have fallen silent. Sent by the pool to itself.
  caf::reacts_to<tick_atom>,
  caf::replies_to<status_atom>::with<pool_status>>;

/// Hears what people want to be told.
using observer_actor = caf::typed_actor<
  // A trial has ended.
  caf::reacts_to<told_atom, trial_event>,
  // A study has ended.
  caf::reacts_to<told_atom, std::string>>;

/// Runs one study: owns its algorithm and its trials.
using study_actor = trial_owner_actor::extend<
  // Registers the trials and asks for the first. Replies with their number.
  caf::replies_to<start_atom>::with<std::uint64_t>,
  // Ends the study now: what has not ended is cancelled.
  caf::reacts_to<cancel_atom>,
  caf::replies_to<status_atom>::with<study_status>,
  caf::replies_to<status_atom, told_atom>::with<study_record>>;

/// Registers what crosses nodes. Call once, before creating the actor system.
template <class Config>
Config& add_message_types(Config& cfg) {
  cfg.template add_message_type<hello_wire>("hippo::hello");
  cfg.template add_message_type<welcome_wire>("hippo::welcome");
  cfg.template add_message_type<lease_wire>("hippo::lease");
  cfg.template add_message_type<stop_wire>("hippo::stop");
  cfg.template add_message_type<cancel_wire>("hippo::cancel");
  cfg.template add_message_type<stop_report_wire>("hippo::stop_report");
  cfg.template add_message_type<lease_end_wire>("hippo::lease_end");
  cfg.template add_message_type<beat_wire>("hippo::beat");
  cfg.template add_message_type<trainer_actor>("hippo::trainer_actor");
  cfg.template add_message_type<lease_owner_actor>("hippo::lease_owner_actor");
  // The one-argument template `add_error_category<T>` of 0.17.6 does not
  // compile, hence the renderer.
  cfg.add_error_category(caf::atom("hippo"),
                         [](std::uint8_t code, caf::atom_value,
                            const caf::message& context) {
                           std::string text
                             = to_string(static_cast<errc>(code));
                           if (!context.empty())
                             text += caf::to_string(context);
                           return text;
                         });
  return cfg;
}

} // namespace hippo

CAF_ERROR_CODE_ENUM(hippo::errc, "hippo")

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::study_registration)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::study_orders)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::outcomes)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::merger_status)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::merger_overview)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::study_status)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::study_record)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::trial_event)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::pool_status)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::vector<hippo::journal_record>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::stop_report)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::lease_end)
