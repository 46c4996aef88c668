#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hippo/model/workload_descriptor.hpp"
#include "hippo/plan/schedule/scheduler.hpp"
#include "hippo/search/think/thinking.hpp"
#include "hippo/service/coordinator/coordinator_core.hpp"
#include "hippo/service/merge/options.hpp"
#include "hippo/service/trace/core_trace.hpp"
#include "hippo/store/state_reader.hpp"
#include "messages.hpp"

namespace hippo {

/// How a service runs its studies.
struct coordinator_options {
  std::vector<workload_descriptor> workloads; ///< that studies may name
  hippo::policy policy = hippo::policy::critical_path;
  bool merge = true; ///< false: every trial is trained alone
  std::string gang_key{}; ///< as of `merger_options`
  bool gangs = true; ///< whether idle trainers help others with their paths
  std::uint64_t checkpoint_bytes_max = UINT64_MAX; ///< of all workloads
  /// What studies and plans may take in memory, in bytes; nothing: no limit.
  std::optional<std::uint64_t> memory_bytes_max;
  /// So many nodes of each plan are unpacked in any case; see `node_table`.
  std::size_t unpacked_nodes_max = merger_options{}.unpacked_nodes_max;
  /// Where plans keep, in files, what nobody waits for; empty: in memory.
  std::string cold_folder{};
  /// Where studies decide; null: where their actors run, at once.
  std::shared_ptr<thinking> where;
  /// As of `study_setup`: some milliseconds.
  std::uint64_t draws_at_once_max = 1000;
  /// A lease whose trainer makes no step for so long ends.
  std::chrono::milliseconds stall_max{600'000};
  std::chrono::milliseconds unmeasured_stall_max{21'600'000};
  /// Where results of before are; null: nowhere.
  std::shared_ptr<state_reader> known;
  /// Where checkpoints are kept, each workload's in a folder of its own.
  std::string checkpoints;
  /// Where trainers keep them instead: a location in an object store, without
  /// '/' at its end; empty: in that folder. Code is in the folder all the same.
  std::string objects;
  /// For trainers that do not see that folder; see `lease`.
  std::string folder_token;
  std::uint16_t depot_port = 0;
  /// Whether studies and mergers stay in memory when they have ended.
  bool keep_ended = true;
  /// Whether every study of before that has not ended is submitted again, or
  /// said to have failed.
  bool restores = false;
  /// Where studies and mergers write their events; null: nowhere.
  std::shared_ptr<trace_log> trace{};
  /// A merger without studies is kept for so long.
  std::chrono::seconds idle_merger_max{600};
};

/// State of the coordinator.
struct coordinator_state {
  /// Prefix of this actor's lines in the log.
  static inline const char* name = "hippo.coordinator";

  /// Ends the studies and mergers that it has made.
  ~coordinator_state();

  /// A study that has an actor.
  struct study_actor_entry {
    study_actor handle;
    std::shared_ptr<const accepted_study> study; ///< to start it again
  };
  /// A plan that is being read, for a merger that is yet to be made.
  struct plan_entry {
    thinking_place place;                          ///< none without a store
    std::shared_ptr<merger_options> options;       ///< what was read goes here
    std::shared_ptr<std::optional<error>> failure; ///< why it cannot be read
  };
  template <class T>
  using promises = std::map<request_number, caf::typed_response_promise<T>>;

  coordinator_options options;
  pool_actor pool;
  journal_actor journal;
  observer_actor observer;
  /// Decides; what follows is what its effects name.
  std::optional<coordinator_core> core;
  core_trace trace;
  /// That the core is yet to hear of, with the reasons of some.
  std::deque<std::pair<any_coordinator_event, caf::error>> events;
  bool is_telling = false; ///< the core, of these
  caf::error reason;       ///< of the present event
  request_number last_request = 0;
  std::map<study_id, study_actor_entry> studies; ///< by id
  std::map<std::string, merger_actor> mergers;   ///< by workload key
  std::map<std::string, plan_entry> reading;     ///< likewise
  /// Submissions whose studies have no actors yet.
  std::map<request_number, study_submission> submissions;
  std::map<request_number, std::pair<study_submission, study_command>> commands;
  promises<study_id> submitters;
  promises<command_answer> commanders;
  promises<study_actor> askers;
  promises<bool> cancellers;
  promises<bool> retirers;
  bool collecting = false; ///< checkpoints of a workload that is idle
};

/// Returns where trainers keep the checkpoints of a workload.
std::string checkpoint_folder(const coordinator_state& st,
                              const std::string& key);

using coordinator_self
  = coordinator_actor::stateful_pointer<coordinator_state>;

/// Tells the core what happens, and does what follows from it. An event that is
/// told meanwhile comes next.
/// @param reason of an event that has one
void tell(coordinator_self self, any_coordinator_event event,
          caf::error reason = {});

/// Takes the promise of a request, which is answered now.
template <class T>
caf::typed_response_promise<T>
take_promise(std::map<request_number, caf::typed_response_promise<T>>& from,
             request_number request) {
  auto found = from.extract(request);
  return found ? std::move(found.mapped()) : caf::typed_response_promise<T>{};
}

/// Runs the studies that are submitted to it, those with one workload key on one
/// merger. What has ended is let go of, so that memory follows what is live; a
/// plan of before is loaded when a study needs it. Reads files: spawn it
/// detached.
/// @param observer hears of trials and studies that end
coordinator_actor::behavior_type
coordinator(coordinator_self self, coordinator_options options, pool_actor pool,
            journal_actor journal, observer_actor observer);

} // namespace hippo
