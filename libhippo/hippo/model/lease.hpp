#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/base/ids.hpp"
#include "hippo/base/types.hpp"
#include "hippo/model/workload_size.hpp"
#include "hippo/model/workload_spec.hpp"
#include "hippo/sequence/configuration.hpp"

namespace hippo {

/// A file of the checkpoint folder that holds parts of other states too.
struct part_file {
  std::string file;         ///< name inside the folder
  std::uint64_t bytes = 0;  ///< size of the file
  std::uint64_t digest = 0; ///< `hash_bytes` of the whole file
  friend auto operator<=>(const part_file&, const part_file&) = default;
};

/// The most files of other checkpoints that one checkpoint has parts in.
inline constexpr std::size_t part_files_max = 8;

/// A state of training in a file of the checkpoint folder.
struct checkpoint {
  std::string file;         ///< name inside the folder; empty: initial state
  std::uint64_t bytes = 0;  ///< size of the file
  std::uint64_t digest = 0; ///< `hash_bytes` of the whole file
  /// Kind of device that made it, where any may go on with it, or
  /// `mixed_devices`; else empty.
  std::string device{};
  /// Size of the table of parts at the end of the file; 0: the file is the
  /// state as it is.
  std::uint64_t table_bytes = 0;
  /// Other checkpoints whose files hold parts of it, sorted, at most
  /// `part_files_max`: without them it cannot be read.
  std::vector<part_file> part_files{};
  friend bool operator==(const checkpoint&, const checkpoint&) = default;
};

/// A stage of a path: training from `begin` to `end` under one configuration.
struct stage {
  node_id node{}; ///< of the plan; unique per workload key
  step_t begin = 0;
  step_t end = 0; ///< equal to `begin` when there is only to evaluate
  configuration config;
  /// Hash of all training on the way to the node, so that what a trainer tells
  /// of it fits no other; 0: the lease is of no plan.
  std::uint64_t identity = 0;
};

/// A step of a path at which the trainer stops for a moment.
struct stop_point {
  step_t at = 0;
  bool evaluate = false; ///< measure and report the metrics
  bool save = false;     ///< leave a checkpoint
  bool last = false;     ///< end the lease, whatever comes after
  friend bool operator==(const stop_point&, const stop_point&) = default;
};

/// The most leases that a trainer may train at once; it has a lane for each.
inline constexpr std::uint32_t lanes_max = 64;

/// The place of a trainer in a gang: trainers that train one path together, of
/// which the first one, the lead, reports.
struct gang_place {
  lease_id lead{}; ///< the lead's lease
  /// Their addresses, HOST:PORT, by rank: a power of two of them, from 2 to
  /// `parts_max`, or a number that divides the ranks of a trial.
  std::vector<std::string> members;
  std::uint32_t rank = 0; ///< of this trainer; 0: it is the lead
  std::string secret;     ///< known to members alone; not empty
  friend bool operator==(const gang_place&, const gang_place&) = default;
};

/// A path handed to one trainer, with a number.
///
/// @invariant `stages` is not empty, each begins where the one before ends
/// @invariant `stops` is sorted by `at`, strictly, each within the stages; the
///            last one is at the end of the last stage
struct lease {
  lease_id number{}; ///< unique in a service; answers carry it back
  workload_spec workload;
  std::string folder; ///< where checkpoints are read and written
  /// Lies in the folder above `folder`, for who sees it (`sees_folder`); empty:
  /// everybody does.
  std::string token{};
  std::uint16_t depot = 0; ///< port for those who do not; 0: there is none
  checkpoint code{};  ///< `study_code` as JSON; no file: the study brings none
  checkpoint start;   ///< the state at the first stage's begin
  /// A checkpoint of the folder with a table of parts, which those that are
  /// saved need not hold again; no file: there is none.
  checkpoint base{};
  std::uint32_t lane = 0; ///< of the trainer's lanes the one that trains it
  std::optional<gang_place> gang{}; ///< nothing: its trainer trains it alone
  std::vector<stage> stages;
  std::vector<stop_point> stops;
};

/// How much of what a workload prints between two stops is kept.
inline constexpr std::size_t output_bytes_max = 32 << 10;

/// A trainer's report of one stop point, as soon as it has passed it.
struct stop_report {
  lease_id lease{};
  step_t at = 0;
  metrics values;                  ///< empty unless it evaluated
  std::optional<checkpoint> saved; ///< set if it left a checkpoint
  std::string device;              ///< kind of device, decides the bits
  // Times in nanoseconds since the stop before, or the begin of the lease.
  std::uint64_t load_ns = 0;
  std::uint64_t train_ns = 0;
  std::uint64_t evaluate_ns = 0;
  std::uint64_t save_ns = 0;
  std::uint64_t wait_ns = 0; ///< of `train_ns`, the time it waited for data
  step_t trained_steps = 0; ///< steps trained since the stop before
  // Of the stage that led here, by which a report is understood when its lease
  // is known no longer. The trainer fills them in.
  node_id node{}; ///< the root: unknown
  std::uint64_t identity = 0;
  /// The output of the workload since the stop before, of its end at
  /// most `output_bytes_max`.
  std::string output{};
  /// How much there is to compute in the workload, as far as it knows.
  workload_size size{};
};

/// The part of its work at which a trainer failed.
enum class lease_part : std::uint8_t {
  training,  ///< on its way from state `at` to the next; all that comes before
  measuring, ///< state `at`
  saving,    ///< state `at`, or telling of it
};

/// How a lease ended, from the trainer's side; its last message on it.
struct lease_end {
  lease_id lease{};
  /// The last state that was reached; the one that could not be measured or
  /// saved.
  step_t at = 0;
  std::optional<error> failure; ///< nothing: every stop was passed
  std::string log{}; ///< if it failed, the last lines of the trainer's log
  lease_part during = lease_part::training; ///< if it failed
};

/// The kind of what devices of several kinds have trained, one after another.
inline constexpr auto mixed_devices = "mixed";

/// Returns the kind that a device of kind `own` makes of a lease: its own, or
/// `mixed_devices` if it goes on with what another kind has made.
std::string kind_made(const lease& lease, const std::string& own);

/// Returns the stage of a lease that state `at` belongs to, or null if that is
/// the state it starts from, or none of it.
const stage* stage_reaching(const lease& lease, step_t at);

/// Returns the name of the file of a checkpoint,
/// `n<node>-s<step>-l<lease>.ckpt`. No two of a service are the same.
std::string checkpoint_name(node_id node, step_t at, lease_id lease);

/// The state of a plan that a checkpoint is of.
struct checkpoint_origin {
  node_id node{};
  step_t at = 0;
  lease_id lease{}; ///< that saved it
};

/// Reads a name that `checkpoint_name` made; nothing: it did not.
std::optional<checkpoint_origin> origin_of(const std::string& name);

} // namespace hippo
