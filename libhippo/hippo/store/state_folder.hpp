#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hippo/core/error.hpp"
#include "hippo/store/folder_lock.hpp"
#include "hippo/store/records.hpp"
#include "hippo/store/sqlite.hpp"

namespace hippo {

/// The version of what a state folder holds. Grows whenever an older program
/// could not read it.
inline constexpr std::uint64_t state_version = 1;

/// The durable state of a service: a folder with a database (`hippo.db`), the
/// checkpoints and the report.
///
/// What was committed survives the death of the process at any instant; after a
/// power cut the last commits may be missing, but what is there is consistent.
/// One thread at a time.
class state_folder {
public:
  /// Opens a folder for reading and writing, and holds it until destroyed.
  /// Makes the folder, and the state in it, if missing.
  /// @returns the folder, or
  ///          `errc::in_use` if another process holds it,
  ///          `errc::incompatible_version` if it is of another version,
  ///          `errc::invalid_argument` if it is full of other things,
  ///          `errc::io_failed` if the operating system or SQLite refuses
  static expected<std::unique_ptr<state_folder>> open(const std::string& path);

  /// Opens a folder for reading, while its service runs or after. Sees what was
  /// committed before each call. Never waits for the service.
  /// @returns as `open`, without `in_use`; `errc::invalid_argument` if there is
  ///          no state
  static expected<std::unique_ptr<state_folder>>
  open_read_only(const std::string& path);

  state_folder(const state_folder&) = delete;
  state_folder& operator=(const state_folder&) = delete;

  /// The folders for checkpoints, and for the report, which whoever writes one
  /// makes; absolute paths if the folder was opened by one.
  [[nodiscard]] std::string checkpoints() const;
  [[nodiscard]] std::string report() const;

  /// Makes all of `records` durable, in their order, or none of them.
  /// @returns nothing, or `errc::io_failed`; the folder stays usable
  /// @complexity O(records * log(size of the database))
  /// REQUIRES: opened for writing.
  expected<std::monostate> commit(const std::vector<journal_record>& records);

  /// Returns what is stored of a workload key, empty if it is unknown.
  expected<stored_plan> load_plan(const std::string& workload_key);

  /// @returns the study, or `errc::unknown_study` with the nearest name
  expected<stored_study> load_study(const std::string& name);

  /// Returns the names of all studies, by `seq`, then by name.
  expected<std::vector<std::string>> study_names();

private:
  /// The statements that write, prepared once.
  struct writers {
    sql_statement add_workload, find_workload, add_node, add_result, add_metric,
      add_checkpoint, remove_checkpoint, save_study;
  };

  state_folder(std::string path, sql_database database,
               std::optional<folder_lock> lock);

  expected<std::monostate> prepare_writers();
  expected<std::monostate> write(const journal_record& record);
  expected<std::monostate> add(const result_added& x);
  expected<std::uint64_t> workload_id(const std::string& key);
  expected<stored_plan> read_plan(const std::string& workload_key);

  std::string path_;
  std::optional<folder_lock> lock_; ///< outlives the database
  sql_database database_;
  writers writers_;
  std::map<std::string, std::uint64_t> workload_ids_; ///< by key, as committed
};

} // namespace hippo
