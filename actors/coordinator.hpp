#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hippo/model/workload_descriptor.hpp"
#include "hippo/plan/schedule/scheduler.hpp"
#include "hippo/search/think/thinking.hpp"
#include "hippo/service/merge/options.hpp"
#include "hippo/service/study/memory_shares.hpp"
#include "hippo/store/state_reader.hpp"
#include "messages.hpp"

namespace hippo {

class trace_log;

/// How a service runs its studies.
struct coordinator_options {
  std::vector<workload_descriptor> workloads; ///< that studies may name
  hippo::policy policy = hippo::policy::critical_path;
  bool merge = true; ///< false: every trial is trained alone
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

  /// How a study ends that does not end by itself.
  struct forced_end {
    study_phase how = study_phase::failed; ///< or `cancelled`
    std::string why;
    /// Somebody who waits until it is stored.
    std::optional<caf::typed_response_promise<bool>> who{};
  };
  struct study_entry {
    std::string name;
    std::string workload_key;
    study_actor handle;
    std::shared_ptr<const accepted_study> study; ///< to start it again
    /// The client that submitted it, until it has been answered.
    std::optional<caf::typed_response_promise<study_id>> submitter;
    /// Its merger's number of it, once it has one.
    std::optional<study_no> no{};
    bool ended = false;
    bool restarting = false; ///< it ends, and is submitted again then
    std::optional<forced_end> ending; ///< once its actor is down
    bool is_full = false; ///< no new trials of it begin: see `memory_shares`
    bool is_room_told = false; ///< whether it knows that they may
  };
  struct merger_entry {
    merger_actor handle;
    std::uint64_t live_studies = 0;
    caf::actor_clock::time_point idle_since;
    bool retiring = false;
    std::vector<std::function<void()>> waiting; ///< until it is gone
  };

  /// A submission that continues once its plan has been read.
  struct plan_waiter {
    std::function<void()> go_on;
    std::function<void(const error& why)> refuse;
  };
  /// A plan that is being read, for a merger that is yet to be made.
  struct plan_entry {
    thinking_place place;
    std::shared_ptr<merger_options> options;        ///< what was read goes here
    std::shared_ptr<std::optional<error>> failure; ///< why it cannot be read
    std::vector<plan_waiter> waiting;
  };

  coordinator_options options;
  pool_actor pool;
  journal_actor journal;
  observer_actor observer;
  std::map<study_id, study_entry> studies;  ///< by id
  /// Studies that are to come, each with the number of its submission; 0: it
  /// is yet to be submitted.
  std::map<study_id, std::uint64_t> awaited;
  std::uint64_t last_submission = 0;
  /// Studies that have failed, which cannot be stored: what is there of them
  /// cannot be read. By id, with the reason.
  std::map<study_id, std::string> unreadable;
  std::map<std::string, merger_entry> mergers;   ///< by workload key
  std::map<std::string, plan_entry> reading;     ///< likewise
  /// When a merger has last died of a fault of its own, by workload key.
  std::map<std::string, caf::actor_clock::time_point> last_deaths;
  study_id last_study{};
  std::uint64_t last_lease_epoch = 0;
  bool going = false;
  bool retired = false; ///< takes no more studies in
  /// Requests for studies that are still being read.
  std::vector<std::pair<study_id, caf::typed_response_promise<study_actor>>>
    asked_early;
  std::uint64_t submissions_under_way = 0;
  /// Studies that have ended, and are opened for a command that is yet to be
  /// answered: that they have ended is known.
  std::set<study_id> reopening;
  memory_shares memory; ///< without a limit nothing is noted
  bool is_looking = false; ///< at memory, in a while
  bool has_let_go = false; ///< of a study or plan, since it looked last
  bool collecting = false; ///< checkpoints of a workload that is idle
};

/// Answers those who asked for studies, as far as it is known by now whether
/// these come.
void answer_early(coordinator_state& st);

/// Returns where trainers keep the checkpoints of a workload.
std::string checkpoint_folder(const coordinator_state& st,
                              const std::string& key);

using coordinator_self
  = coordinator_actor::stateful_pointer<coordinator_state>;

/// Runs the studies that are submitted to it, those with one workload key on one
/// merger. What has ended is let go of, so that memory follows what is live; a
/// plan of before is loaded when a study needs it. Reads files: spawn it
/// detached.
/// @param observer hears of trials and studies that end
coordinator_actor::behavior_type
coordinator(coordinator_self self, coordinator_options options, pool_actor pool,
            journal_actor journal, observer_actor observer);

} // namespace hippo
