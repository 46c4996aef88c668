#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/model/records.hpp"
#include "hippo/store/notification_table.hpp"
#include "hippo/store/plan_parts.hpp"
#include "hippo/store/sqlite.hpp"

namespace hippo {

/// Whether results of single seeds are wanted, which others have yet to join.
enum class parts : std::uint8_t { given, left_out };

/// The durable state of a service, for reading: a folder with a database
/// (`hippo.db`), the checkpoints and the report.
///
/// Cannot write. One thread at a time.
class state_reader {
public:
  /// Opens a folder for reading, while its service runs or after. Sees what was
  /// committed before each call. Never waits for the service.
  /// @returns as `state_writer::open`, without `in_use`;
  ///          `errc::invalid_argument` if there is no state
  static expected<std::unique_ptr<state_reader>>
  open(const std::string& path);

  virtual ~state_reader() = default;
  state_reader(const state_reader&) = delete;
  state_reader& operator=(const state_reader&) = delete;

  /// Where the checkpoints of the state folder `path` lie.
  [[nodiscard]] static std::string checkpoints_of(const std::string& path) {
    return path + "/checkpoints";
  }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// The folders for checkpoints, and for the report, which whoever writes one
  /// makes; absolute paths if the folder was opened by one.
  [[nodiscard]] std::string checkpoints() const;
  [[nodiscard]] std::string report() const;

  /// Calls `take` for what is stored of a workload key, in parts: some thousand
  /// nodes, those that follow on the ones before, and all that is of them; the
  /// first part has what is of the root. A key that is unknown has none.
  expected<std::monostate> load_plan(const std::string& workload_key,
                                     const plan_taker& take);
  /// The same as a whole.
  expected<stored_plan> load_plan(const std::string& workload_key);
  /// Returns the times that were measured of a workload key.
  expected<std::vector<timing>> load_timings(const std::string& workload_key);

  /// Returns files of a workload key that were evicted before their states were
  /// measured, the oldest first and no more than `evicted_max`.
  /// REQUIRES: this is a `state_writer`.
  expected<std::vector<std::string>>
  load_evicted(const std::string& workload_key);

  /// @param id_or_name of several studies of a name, the last one is meant
  /// @returns the study, or `errc::unknown_study` with the nearest name
  expected<stored_study> load_study(const std::string& id_or_name);
  expected<stored_study> load_study(study_id id) {
    return load_study(to_string(id));
  }

  /// Returns what stands for a study outside of this state; empty if it has
  /// none yet, as in a folder that only an older program has written.
  expected<std::string> load_uid(study_id study);

  /// Returns all studies by their ids, the texts left out.
  expected<std::vector<stored_study>> load_studies();

  /// Returns the studies that have ended, but whose last events their trials do
  /// not show: a crash has come between the two. Those that have failed are not
  /// among them: a service that gives a study up stores no more of it.
  /// @complexity O(studies * log(events) + failures that came last)
  expected<std::set<study_id>> load_outdated();

  /// Returns the trials of a study by their numbers, from `first` on.
  expected<std::vector<stored_trial>> load_trials(study_id study,
                                                  std::uint64_t first,
                                                  std::size_t most);

  /// Returns the trials of a study that have not ended, by their numbers.
  /// @complexity O(trials of the study), those that have ended cheaply
  expected<std::vector<stored_trial>> load_open_trials(study_id study);

  /// Returns what a study has received after event `after`, in its order.
  /// @param trial whose events are wanted; nothing: all
  /// @param which whether results of single seeds are wanted too
  /// @complexity O(events of the study after `after`) with a trial
  expected<std::vector<stored_event>>
  load_events(study_id study, std::uint64_t after, std::size_t most,
              std::optional<trial_no> trial = {}, parts which = parts::given);

  /// Returns the commands of one kind that a study has received, in order.
  /// @complexity O(events of the study)
  expected<std::vector<study_command>> load_commands(study_id study,
                                                     study_command::verb what);

  /// Returns what the trials of a study have measured: by trial, from `first`
  /// on, and of each in the order in which the study has heard it. Of `first`
  /// itself only what came after event `after`.
  /// @complexity O(events of the study)
  expected<std::vector<stored_event>> load_results(study_id study,
                                                   trial_no first,
                                                   std::uint64_t after,
                                                   std::size_t most);

  /// Returns how many steps of a study's trials are left if it is merged alone:
  /// of each state that it has heard of only the first trial's count.
  /// @complexity O(events of the study)
  expected<std::uint64_t> count_unique_steps(study_id study);

  /// Returns what a study has heard of one metric after event `after`, in its
  /// order. Cheaper than `load_events`, which reads all metrics.
  expected<std::vector<stored_value>>
  load_values(study_id study, const std::string& metric, std::uint64_t after,
              std::size_t most, parts which = parts::left_out);

  /// Measurements of several seeds, summed up, by trial and step.
  /// @param wanted the trials and steps of interest
  /// @complexity O(events of the study)
  using summaries = std::map<std::pair<trial_no, step_t>, metrics>;
  expected<summaries>
  load_summaries(study_id study,
                 const std::set<std::pair<trial_no, step_t>>& wanted);

  /// Returns those of these nodes that a workload's plan has.
  /// @complexity O(log nodes) each
  expected<std::vector<stored_node>>
  load_nodes(const std::string& workload_key,
             const std::vector<node_id>& ids);

  /// Returns which studies have results on or below the nodes of a workload's
  /// plan: pairs of a node and a study, sorted.
  /// @complexity O(events + pairs * log pairs)
  expected<std::vector<std::pair<std::uint64_t, std::uint64_t>>>
  load_sharing(const std::string& workload_key);

  /// Returns the nodes of a workload's plan that trials have passed, all of
  /// which are hidden, or are of hidden studies; sorted.
  /// @complexity O(events + nodes * log nodes)
  expected<std::vector<node_id>>
  load_hidden_nodes(const std::string& workload_key);

  /// Returns who has trained these nodes of a workload's plan, by what they
  /// measured: in the order of the nodes, and on each of the first states.
  /// @complexity O(results on the nodes)
  expected<std::vector<stored_work>>
  load_work(const std::string& workload_key, const std::vector<node_id>& ids);

  /// Returns how far the trials of studies have got in a workload's plan, by
  /// node and step.
  /// @param ended whether only those of studies that have ended are wanted
  /// @complexity O(events)
  expected<std::vector<stored_end>>
  load_ends(const std::string& workload_key, bool ended);

  /// Returns events that are to be posted, no more than `most`.
  /// REQUIRES: this is a `state_writer`, or one was opened before.
  expected<std::vector<due_notification>>
  load_due_notifications(std::size_t most) {
    return hippo::load_due_notifications(database_, most);
  }

  /// Returns the best trial of a study, with its `best`; of equal ones the
  /// first. Trials that have failed are none: they have no result.
  expected<std::optional<stored_trial>> load_best(const stored_study& study);

  /// Returns what `front_saved` saved of a study last, if it has.
  expected<std::optional<std::string>> load_front(study_id study);

  /// Returns where in the plan a trial was measured at a step; nothing if it
  /// was not, or if a client measured it.
  expected<std::optional<node_id>>
  load_node(study_id study, trial_no trial, step_t step);

  /// Returns when a study has heard what a trial measured at a step, in seconds
  /// since 1970; nothing if it has not.
  /// @complexity O(events of the study)
  expected<std::optional<double>> load_time(study_id study, trial_no trial,
                                            step_t step);

  /// Returns what was measured at a step of a trial, empty if nothing was or a
  /// client did.
  /// @complexity O(events of the study)
  expected<metrics> load_metrics(study_id study, trial_no trial,
                                 step_t step);

  /// Returns what was measured at states of a workload's plan, in their order;
  /// empty if nothing was.
  /// @param states nodes and steps; sorted ones cost one pass over them
  expected<std::vector<metrics>>
  load_metrics(const std::string& workload_key,
               const std::vector<std::pair<node_id, step_t>>& states);

  /// Returns what was printed while a trial was trained, shared training
  /// included, as far as it has been measured; by step, from `first` on.
  expected<std::vector<stored_output>> load_output(study_id study,
                                                   trial_no trial,
                                                   step_t first,
                                                   std::size_t most);

  /// The trials of a study, counted.
  struct trial_counts {
    std::uint64_t trials = 0;
    std::uint64_t finished = 0;    ///< neither pending, running nor paused
    std::uint64_t asked_steps = 0; ///< how far they are to be trained, added up
    std::uint64_t delivered_steps = 0; ///< how far they have been
    std::uint64_t shared_steps = 0;    ///< of these, see `stored_trial::shared`
    std::uint64_t farthest = 0; ///< where any of them was to be trained to
    std::uint64_t pruned = 0;          ///< trials that were given up
    std::uint64_t pruned_steps = 0;    ///< how far these have been trained
    std::map<std::string, std::uint64_t> by_state; ///< trials, by its name
  };
  expected<trial_counts> count_trials(study_id study);

  /// How many studies and trials there are in each state, by its name.
  struct state_counts {
    std::map<std::string, std::uint64_t> studies;
    std::map<std::string, std::uint64_t> trials;
  };
  expected<state_counts> count_states();

  /// Returns a number that changes whenever somebody else has committed
  /// something since the last call.
  expected<std::uint64_t> data_version();

  /// The stored data of a workload, for people.
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

  /// Returns the bytes of each workload's checkpoints by its key, in the order
  /// in which the workloads came. Cheaper than `load_usage`.
  expected<std::vector<std::pair<std::string, std::uint64_t>>>
  load_checkpoint_bytes();

  /// Returns what trainers have trained of a workload, over the life of the
  /// state folder.
  expected<trained_time> load_trained(const std::string& workload_key);

  /// Returns the times that were measured, of all workloads that have any, in
  /// the order in which these came.
  expected<std::vector<workload_timings>> load_timings();

  /// Returns the last id that a study has, and the last generation of leases.
  expected<study_id> last_study();
  expected<std::uint64_t> last_lease_epoch();

protected:
  /// @param version of the database
  state_reader(std::string path, sql_database database, std::uint64_t version);

  sql_database database_;

private:
  /// Reads the events of a study that a query gives, with what was measured.
  expected<std::vector<stored_event>>
  read_events(study_id study, const std::string& condition,
              const std::function<void(sql_statement&)>& bind);
  /// Calls `function`, which returns an `expected`, with all tables as of the
  /// same moment. Many small reads lock the file once then, not each.
  template <class F>
  auto in_transaction(F function) -> decltype(function());
  expected<std::vector<stored_node>>
  find_nodes(const std::string& workload_key, const std::vector<node_id>& ids);
  /// Returns the number by which tables know a workload, if it is known.
  expected<std::optional<std::uint64_t>>
  find_workload(const std::string& workload_key);
  /// Reads the one number that a query gives, 0 if it gives none.
  expected<std::uint64_t> read_number(const char* sql);

  std::string path_;
  std::uint64_t version_;     ///< of the tables
  std::string study_columns_; ///< that its version has
};

} // namespace hippo
