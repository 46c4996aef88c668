#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "hippo/core/error.hpp"
#include "hippo/store/folder_lock.hpp"
#include "hippo/store/records.hpp"
#include "hippo/store/schema.hpp"
#include "hippo/store/sqlite.hpp"

namespace hippo {

/// How many outputs of workloads are kept, the last ones.
inline constexpr std::uint64_t outputs_max = 100'000;

/// The durable state of a service: a folder with a database (`hippo.db`), the
/// checkpoints and the report.
///
/// What was committed survives the death of the process at any instant, and a
/// power cut if the disk keeps what it says it has. One thread at a time.
class state_folder {
public:
  /// Opens a folder for reading and writing, and holds it until destroyed.
  /// Makes the folder, private to the user, and the state in it, if missing;
  /// brings an older state to the present version.
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

  /// Where the checkpoints of the state folder `path` lie.
  [[nodiscard]] static std::string checkpoints_of(const std::string& path) {
    return path + "/checkpoints";
  }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// The folders for checkpoints, and for the report, which whoever writes one
  /// makes; absolute paths if the folder was opened by one.
  [[nodiscard]] std::string checkpoints() const;
  [[nodiscard]] std::string report() const;

  /// Makes all of `records` durable, in their order, or none of them. Trials
  /// follow from what studies have heard: alone, they outlive the process, but a
  /// power cut only once something else was committed.
  /// @returns nothing, or `errc::io_failed`; the folder stays usable
  /// @complexity O(records * log(size of the database))
  /// REQUIRES: opened for writing.
  expected<std::monostate> commit(const std::vector<journal_record>& records);

  /// Returns what is stored of a workload key, empty if it is unknown.
  expected<stored_plan> load_plan(const std::string& workload_key);

  /// @param id_or_name of several studies of a name, the last one is meant
  /// @returns the study, or `errc::unknown_study` with the nearest name
  expected<stored_study> load_study(const std::string& id_or_name);

  /// Returns all studies by their ids, the texts left out.
  expected<std::vector<stored_study>> load_studies();

  /// Returns the trials of a study by their numbers, from `first` on.
  expected<std::vector<stored_trial>> load_trials(std::uint64_t study,
                                                  std::uint64_t first,
                                                  std::size_t most);

  /// Returns what a study has heard after event `after`, in its order.
  expected<std::vector<stored_event>> load_events(std::uint64_t study,
                                                  std::uint64_t after,
                                                  std::size_t most);

  /// The best trial of a study. Of equal ones it is the first.
  struct best_trial {
    stored_trial trial; ///< with its `best`
    /// Where in the plan it was measured; nothing if a client did.
    std::optional<std::uint64_t> node;
  };
  expected<std::optional<best_trial>> load_best(const stored_study& study);

  /// A measurement that a study has heard, and whether it had to be trained.
  struct heard_measurement {
    std::uint64_t event = 0;
    std::uint64_t trial = 0;
    step_t step = 0;
    std::uint64_t node = 0; ///< of the plan
    bool was_known = false; ///< whether a trial had heard that result before
    friend bool operator==(const heard_measurement&, const heard_measurement&)
      = default;
  };
  /// Returns what a study has heard after event `after`, in its order, commands
  /// and failures left out.
  /// @complexity O(most * log(number of events))
  expected<std::vector<heard_measurement>>
  load_heard(std::uint64_t study, std::uint64_t after, std::size_t most);

  /// Returns what was measured at a step of a trial, empty if nothing was or a
  /// client did.
  /// @complexity O(events of the study)
  expected<metrics> load_metrics(std::uint64_t study, std::uint64_t trial,
                                 step_t step);

  /// Returns what was printed while a trial was trained, shared training
  /// included, as far as it has been measured; by step, from `first` on.
  expected<std::vector<stored_output>> load_output(std::uint64_t study,
                                                   std::uint64_t trial,
                                                   step_t first,
                                                   std::size_t most);

  /// The trials of a study, counted.
  struct trial_counts {
    std::uint64_t trials = 0;
    std::uint64_t finished = 0;    ///< neither pending, running nor paused
    std::uint64_t asked_steps = 0; ///< how far they are to be trained, added up
  };
  expected<trial_counts> count_trials(std::uint64_t study);

  /// How many studies and trials there are in each state, by its name.
  struct state_counts {
    std::map<std::string, std::uint64_t> studies;
    std::map<std::string, std::uint64_t> trials;
  };
  expected<state_counts> count_states();

  /// Returns a number that changes whenever somebody else has committed
  /// something since the last call.
  expected<std::uint64_t> data_version();

  /// What of a workload is stored, for people.
  struct usage {
    std::string workload_key;
    std::uint64_t nodes = 0;
    std::uint64_t results = 0;
    std::uint64_t checkpoints = 0;
    std::uint64_t checkpoint_bytes = 0;
    std::uint64_t trained_steps = 0;
    double device_seconds = 0; ///< that trainers worked on it, added up
  };
  expected<std::vector<usage>> load_usage();

  /// Returns the bytes of each workload's checkpoints by its key, in the order in
  /// which the workloads came. Cheaper than `load_usage`.
  expected<std::vector<std::pair<std::string, std::uint64_t>>>
  load_checkpoint_bytes();

  /// Returns the mean device time of a step of a workload, in seconds; 0 if none
  /// was trained.
  expected<double> load_step_seconds(const std::string& workload_key);

  /// Returns the last id that a study has, and the last generation of leases.
  expected<std::uint64_t> last_study();
  expected<std::uint64_t> last_generation();

private:
  /// The statements that write, prepared once.
  struct writers {
    sql_statement add_workload, find_workload, add_root, add_node, add_result,
      add_metric, add_checkpoint, remove_checkpoint, add_output,
      forget_outputs, save_study, save_trial,
      add_event, add_trained, set_generation;
  };

  state_folder(std::string path, sql_database database,
               std::optional<folder_lock> lock);

  expected<std::monostate> prepare_writers();
  expected<std::monostate> write_all(const std::vector<journal_record>& records);
  expected<std::monostate> write(const node_added& x);
  expected<std::monostate> write(const result_added& x);
  expected<std::monostate> write(const checkpoint_added& x);
  expected<std::monostate> write(const checkpoint_removed& x);
  expected<std::monostate> write(const output_added& x);
  expected<std::monostate> write(const study_saved& x);
  expected<std::monostate> write(const trial_saved& x);
  expected<std::monostate> write(const steps_trained& x);
  expected<std::monostate> write(const event_added& x);
  expected<std::monostate> write(const generation_begun& x);
  expected<std::uint64_t> workload_id(const std::string& key);
  expected<stored_plan> read_plan(const std::string& workload_key);
  /// Reads the one number that a query gives, 0 if it gives none.
  expected<std::uint64_t> read_number(const char* sql);

  std::string path_;
  std::optional<folder_lock> lock_; ///< outlives the database
  sql_database database_;
  writers writers_;
  std::map<std::string, std::uint64_t> workload_ids_; ///< by key, as committed
};

} // namespace hippo
