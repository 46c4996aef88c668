#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hippo/core/backoff.hpp"
#include "hippo/plan/search_plan.hpp"
#include "hippo/schedule/fair_shares.hpp"
#include "hippo/schedule/scheduler.hpp"
#include "hippo/store/state_reader.hpp"
#include "hippo/wire/messages.hpp"
#include "messages.hpp"

namespace hippo {

/// What a merger is made for and how it works.
struct merger_options {
  workload_spec workload;
  /// Of the workload: only trainers that know this one are used; empty: all.
  std::string workload_version;
  std::string folder; ///< where this workload's checkpoints lie
  checkpoint code;    ///< what it runs, a file there; no file: it is built in
  std::string folder_token; ///< left in the folder above it; see `lease`
  std::uint16_t depot_port = 0; ///< for trainers that do not see it; 0: none
  hippo::policy policy = hippo::policy::critical_path;
  bool merge = true; ///< false: every trial is trained alone
  /// The hyper-parameters that affect a step's time.
  std::vector<std::string> speed_names;
  /// A long stage leaves a checkpoint about this often.
  double save_every_seconds = 120;
  /// Checkpoints beyond this are given up, the cheapest to train again first.
  std::uint64_t checkpoint_bytes_max = UINT64_MAX;
  /// How often a stage may fail before its trials do.
  unsigned attempts_max = 3;
  /// A lease ends when its trainer is alive but makes no step for so long, or
  /// for ten times as long as a step is expected to take if that is longer.
  std::chrono::milliseconds stall_max{600'000};
  /// A longer path is leased in parts: a message has its limits.
  step_t lease_steps_max = 50'000;
  /// Leases are numbered from here on: no two of a service may be the same, now
  /// or after a restart.
  std::uint64_t first_lease = 1;
  /// What earlier runs left.
  stored_plan known;
};

/// State of a merger. The plan is its own; nobody else writes it.
struct merger_state {
  /// Prefix of this actor's lines in the log.
  static inline const char* name = "hippo.merger";

  merger_options options;
  std::string workload_key;
  pool_actor pool;
  journal_actor journal;

  search_plan plan;
  time_estimates estimates;
  std::unique_ptr<scheduler> chooser;

  struct study_entry {
    std::uint64_t id = 0; ///< the store's
    trial_owner_actor owner;
    std::vector<trial_id> trials; ///< by the study's numbers
    bool held = false;            ///< whether nothing new may start
    /// Of a held study: trials that wait for what runs, and up to where.
    std::map<trial_id, step_t> running;
    std::vector<study_orders::request> held_back; ///< until it goes on
    bool is_told_rested = false;
    bool wants_room = false; ///< whether it would start more if it might
    std::uint64_t told = 0;  ///< news and offers of room
    std::uint64_t heard = 0; ///< of these, when it last gave orders
    /// What it must have heard before room is offered to any study: what it
    /// starts then may be enough.
    std::uint64_t must_hear = 0;
  };
  std::vector<study_entry> studies; ///< by `study_no`
  fair_shares shares;               ///< of the studies
  caf::actor_clock::time_point shared_until; ///< what `shares` know of
  std::vector<std::uint64_t> number_in_study; ///< by `trial_id`

  struct lease_entry {
    std::uint64_t trainer = 0; ///< the pool's number
    trainer_actor handle;
    lease work;
    std::vector<std::string> speed_keys; ///< of the stages
    step_t reached = 0;
    step_t saved = 0; ///< the last state that has a checkpoint
    caf::actor_clock::time_point granted;
    caf::actor_clock::time_point since; ///< of the last report, or the grant
    double steps_per_second = 0;
    double part = 1; ///< of the trainer's time that counts as the lease's
    /// The studies that wait for what it trains, and the parts of the trainer
    /// that count as theirs.
    std::vector<std::pair<study_no, double>> holders;
    bool outranked = false; ///< by what was waiting at the last report
    step_t beat_at = 0; ///< the state that its last beat told of
    caf::actor_clock::time_point beat_since; ///< when that came
    double still_seconds = 0; ///< for so long beats have told of the same state
  };
  std::map<std::uint64_t, lease_entry> leases; ///< by number
  std::uint64_t next_lease = 1;

  /// One of a trainer's lanes.
  struct lane_entry {
    std::uint64_t lease = 0; ///< 0: it has none
    std::string present;     ///< file of the checkpoint whose state it is in
  };
  /// A trainer that the pool has granted.
  struct trainer_entry {
    trainer_actor handle;
    std::vector<lane_entry> lanes;
    std::size_t leases = 0;
    bool yields = false; ///< whether it gets no further lease, to be given back
    caf::actor_clock::time_point booked; ///< the device time up to then is
  };
  std::map<std::uint64_t, trainer_entry> trainers; ///< by the pool's number
  /// Those of them that have a lane for a further lease. They wait while a study
  /// may start more; else those without any lease are given back.
  std::set<std::uint64_t> free_trainers;

  /// Where training has failed.
  struct failure_entry {
    unsigned attempts = 0;
    std::set<std::uint64_t> trainers; ///< that have tried
    caf::actor_clock::time_point last;
  };
  /// By node, and the state that was saved last.
  std::map<std::pair<node_id, step_t>, failure_entry> failures;
  /// Of trainers whose disk or network failed last, by number.
  std::map<std::uint64_t, backoff> rests;

  /// Leases that may have become vain: they have gone on, or trials have ceased
  /// to wait.
  std::set<std::uint64_t> doubtful;

  bool going = false;
  bool halted = false;
  double told_weight = 0; ///< to the pool
  /// Likewise, how many trainers could be used; nothing: to be told again.
  std::optional<std::uint64_t> told_demand = 0;
  /// How often the pool was told, and has answered: it grants what it has first.
  std::uint64_t demands_told = 0, demands_answered = 0;
  std::vector<journal_record> unwritten;
  /// Reports to acknowledge once that is written.
  std::vector<std::pair<trainer_actor, ack>> owed;
  std::uint64_t commits_under_way = 0;
  std::optional<caf::typed_response_promise<std::uint64_t>> retiring;
  std::vector<std::string> unwanted_files; ///< to delete once that is written
  std::uint64_t checkpoint_bytes = 0;      ///< of all checkpoints in the plan
  /// No more than this could be given up: not worth looking again before.
  std::uint64_t checkpoint_bytes_needed = 0;

  caf::actor_clock::time_point begun;
  merger_overview totals; ///< times and the timeline; the rest is left out
  std::uint64_t trained_steps = 0;
  std::uint64_t stored_steps = 0;    ///< of these
  double stored_device_seconds = 0;  ///< of the time that was booked
};

/// Merges the trials of its studies into one search plan, leases the paths of
/// its stage tree to the trainers that the pool grants, and tells the studies
/// what came of it once the journal has it.
merger_actor::behavior_type
merger(merger_actor::stateful_pointer<merger_state> self,
       merger_options options, pool_actor pool, journal_actor journal);

} // namespace hippo
