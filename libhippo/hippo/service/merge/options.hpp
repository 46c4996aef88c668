#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hippo/model/records.hpp"
#include "hippo/plan/schedule/scheduler.hpp"
#include "hippo/plan/search_plan.hpp"
#include "hippo/service/merge/kept_code.hpp"
#include "hippo/service/merge/kept_plan.hpp"

namespace hippo {

class trace_log;

/// The workload of a merger, and its options.
struct merger_options {
  workload_spec workload; ///< its settings are of no matter: studies have them
  /// Of the workload: only trainers that know this one are used; empty: all.
  std::string workload_version;
  /// Metrics of the workload: a measurement has one of them at least; empty:
  /// its code alone knows them.
  std::vector<std::string> metrics{};
  std::string folder; ///< where this workload's checkpoints lie
  checkpoint code;    ///< what it runs, a file there; no file: it is built in
  /// The same; null: it is built in, or nobody has it.
  std::shared_ptr<const kept_code> kept_code_text;
  std::string folder_token; ///< left in the folder above it; see `lease`
  std::uint16_t depot_port = 0; ///< for trainers that do not see it; 0: none
  hippo::policy policy = hippo::policy::critical_path;
  bool merge = true; ///< false: every trial is trained alone
  /// The hyper-parameters that affect a step's time.
  std::vector<std::string> speed_names;
  /// The measured times of steps of other workloads.
  std::vector<step_profile> other_steps{};
  /// A long stage leaves a checkpoint about this often.
  double save_every_seconds = 120;
  /// Checkpoints beyond this are evicted, the cheapest to train again first.
  std::uint64_t checkpoint_bytes_max = UINT64_MAX;
  /// How often a stage may fail before its trials do.
  unsigned attempts_max = 3;
  /// A lease ends when its trainer is alive but makes no step for so long, or
  /// for ten times as long as what it is at is expected to take if that is
  /// longer: a step, a measurement, or all that comes before the first step.
  std::chrono::milliseconds stall_max{600'000};
  /// The same while nobody has measured how long that takes.
  std::chrono::milliseconds unmeasured_stall_max{21'600'000};
  trained_time trained; ///< in earlier runs
  /// A longer path is leased in parts: a message has its limits.
  step_t lease_steps_max = 50'000;
  /// Likewise one whose stages have larger configurations together; a study
  /// file's limits keep each of them below a few MiB.
  std::size_t lease_bytes_max = 16 << 20;
  /// The number of nodes that are unpacked in any case; see `node_table`.
  std::size_t unpacked_nodes_max = 1024;
  /// Leases are numbered from here on: no two of a service may be the same, now
  /// or after a restart.
  lease_id first_lease{1};
  /// Shares of each step that trainers may compute together: no more of them
  /// train a path. A power of two, up to `parts_max`.
  unsigned parts = 1;
  /// The secrets of gangs are made from this, which is drawn at random when the
  /// service starts; empty: no trainers train a path together.
  std::string gang_key{};
  /// The plan of earlier runs; null: none. Of one merger alone.
  std::shared_ptr<kept_plan> kept;
  std::vector<timing> timings; ///< likewise
  /// Files that earlier runs have evicted, the oldest first.
  std::vector<std::string> evicted;
  /// Where the events are written; null: nowhere. It is no matter of the core.
  std::shared_ptr<trace_log> trace{};
};

} // namespace hippo
