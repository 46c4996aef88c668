#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/model/records.hpp"
#include "hippo/store/folder_lock.hpp"
#include "hippo/store/notification_table.hpp"
#include "hippo/store/sqlite.hpp"
#include "hippo/store/state_reader.hpp"

namespace hippo {

/// How many outputs of workloads are kept, the last ones.
inline constexpr std::uint64_t outputs_max = 100'000;

/// The durable state of a service, for writing. Reads as `state_reader` does.
///
/// A commit survives the death of the process at any instant, and a
/// power cut if the disk keeps what it says it has. One thread at a time.
class state_writer : public state_reader {
public:
  /// Opens a folder for reading and writing, and holds it until destroyed.
  /// Makes the folder, private to the user, and the state in it, if missing;
  /// brings an older state to the present version.
  /// @returns the folder, or
  ///          `errc::in_use` if another process holds it,
  ///          `errc::incompatible_version` if it is of another version,
  ///          `errc::invalid_argument` if it is full of other things,
  ///          `errc::io_failed` if the operating system or SQLite refuses
  static expected<std::unique_ptr<state_writer>> open(const std::string& path);

  /// Makes all of `records` durable, in their order, or none of them. Trials
  /// follow from what studies have received: alone, they outlive the process,
  /// but a power cut only once something else was committed.
  /// @returns nothing, or `errc::io_failed`; the folder stays usable
  /// @complexity O(records * log(size of the database))
  expected<std::monostate> commit(const std::vector<journal_record>& records);

private:
  /// The statements that write, prepared once.
  struct writers {
    sql_statement add_workload, find_workload, add_root, add_node, add_result,
      add_metric, remove_metrics, add_checkpoint, remove_checkpoint,
      add_evicted, forget_evicted, add_output, forget_outputs, save_study,
      save_trial, remove_trial, save_front, add_event, add_trained, save_timing,
      add_served, set_generation;
  };

  state_writer(const std::string& path, sql_database database,
               folder_lock lock);

  expected<std::monostate> prepare_writers();
  expected<std::monostate>
  write_all(const std::vector<journal_record>& records);
  template <class Record>
  expected<std::monostate> write_record(const Record& record);
  // Those of a workload are given its row.
  expected<std::monostate> write(const node_added& record,
                                 std::uint64_t workload);
  expected<std::monostate> write(const result_added& record,
                                 std::uint64_t workload);
  expected<std::monostate> write(const checkpoint_added& record,
                                 std::uint64_t workload);
  expected<std::monostate> write(const checkpoint_removed& record,
                                 std::uint64_t workload);
  expected<std::monostate> write(const output_added& record,
                                 std::uint64_t workload);
  expected<std::monostate> write(const steps_trained& record,
                                 std::uint64_t workload);
  expected<std::monostate> write(const timing_learned& record,
                                 std::uint64_t workload);
  expected<std::monostate> write(const study_saved& record);
  expected<std::monostate> write(const study_served& record);
  expected<std::monostate> write(const trial_saved& record);
  expected<std::monostate> write(const trial_removed& record);
  expected<std::monostate> write(const front_saved& record);
  expected<std::monostate> write(const event_added& record);
  expected<std::monostate> write(const lease_epoch_begun& record);
  expected<std::monostate> write(const notification_settled& record);
  expected<std::uint64_t> workload_id(const std::string& key);
  /// Whether what was measured at a state is there, and not damaged.
  expected<bool> is_readable(std::uint64_t workload, node_id node,
                             step_t step);

  folder_lock lock_;
  writers writers_;
  notification_table notifications_;
  std::map<std::string, std::uint64_t> workload_ids_; ///< by key, as committed
};

} // namespace hippo
