#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "gateway/cell_column.hpp"
#include "hippo/base/error.hpp"
#include "hippo/store/state_reader.hpp"

namespace hippo {

/// Whether this is one of `column_kinds`.
bool is_columns(const std::string& what);

/// What a page shows of a study, as far as it was read: its trials, what was
/// measured of its objective, and the part of the stage tree that its trials
/// pass. Reading again reads what has come since; of the trials, which change
/// in place, all rows, but what they hold is taken apart only where it differs.
///
/// The answers are by columns, compact JSON: docs/http.md#columns.
class study_history {
public:
  /// @param varied the hyper-parameters that labels of stages tell of
  study_history(stored_study study, std::string workload_key,
                std::set<std::string> varied);
  study_history(const study_history&) = delete;
  study_history& operator=(const study_history&) = delete;

  /// Returns an answer as of now: first reads what has come of what it needs
  /// since that was read last. One store for all times.
  /// @param what a name that `is_columns` knows
  /// @param after of `table` and `curves`: what came after it
  /// @param metric of `curves`: which one; empty: the objective
  expected<std::string> answer(state_reader& store, const std::string& what,
                               std::uint64_t after,
                               const std::string& metric = {});

  /// Returns about how much memory it takes.
  [[nodiscard]] std::size_t bytes() const;

private:
  struct trial_row {
    stored_trial trial;
    std::uint64_t changed = 0; ///< the version in which it last did
  };
  /// Where a trial is.
  struct place {
    node_id node{};
    step_t step = 0;
  };
  /// Returns a trial, or null if it is not known.
  [[nodiscard]] const stored_trial* find(trial_no no) const;

  struct stage {
    node_id parent{};
    step_t begin = 0;
    std::string label;    ///< what changes in it
    configuration config; ///< those after it are compared with it
    stored_value last{};  ///< of it for this study
    std::vector<stored_work> work{}; ///< who has trained it
  };

  /// Returns the trials and their hyper-parameters: those that have changed
  /// after `since`, which is the `version` of an earlier answer, or all.
  [[nodiscard]] std::string table(std::uint64_t since) const;

  /// Returns what was measured of the objective after event `after`, in the
  /// order in which it came: at most `values_per_read_max` rows.
  [[nodiscard]] std::string curves(std::uint64_t after) const;

  /// Returns the same rows with the values of another metric, which are not
  /// kept: few look at them.
  [[nodiscard]] expected<std::string>
  curves_of(state_reader& store, std::uint64_t after,
            const std::string& metric) const;

  [[nodiscard]] std::string curves_text(const std::string& metric,
                                        const std::vector<stored_value>& rows,
                                        std::uint64_t after) const;

  /// Returns the stages that the trials pass, by number, parents first; of more
  /// than `shown_stages_max` the first ones.
  [[nodiscard]] std::string tree() const;

  /// Returns how hyper-parameters went in the trials, as far as these were
  /// measured: `schedule_curves`.
  [[nodiscard]] std::string schedules() const;

  struct measured_state {
    node_id node{};
    step_t step = 0;
    trial_no trial = 0;
    auto operator<=>(const measured_state&) const = default;
  };
  /// Returns all that was measured of some states: of trials with several seeds
  /// the summary.
  [[nodiscard]] expected<std::vector<metrics>>
  measured_at(state_reader& store,
              const std::vector<measured_state>& states) const;

  /// Returns all metrics of each trial where its best value was measured, and
  /// the study's front, if it has one.
  [[nodiscard]] expected<std::string> front(state_reader& store) const;

  /// Returns which studies pass the stages of `tree`, for each stage those that
  /// have got results on it or below it.
  [[nodiscard]] expected<std::string> sharing(state_reader& store) const;

  /// Returns who has trained the stages of `tree`, and when.
  [[nodiscard]] std::string work() const;

  expected<std::monostate> read_values(state_reader& store);
  expected<std::monostate> read_work(state_reader& store);
  expected<std::monostate> read_trials(state_reader& store);
  void forget_trials();
  expected<std::monostate> read_stages(state_reader& store);
  void put(std::size_t row, const stored_trial& trial);

  const stored_study study_; ///< the text left out
  const std::string workload_key_;
  const std::set<std::string> varied_;
  std::uint64_t first_;   ///< above the versions of histories before
  std::uint64_t version_; ///< grows with every change
  // Versions of the store as of which they were read.
  std::optional<std::uint64_t> trials_as_of_, values_as_of_;
  std::vector<trial_row> trials_; ///< by number
  std::map<std::string, cell_column> params_;
  std::vector<stored_value> values_; ///< in the order in which they came
  std::uint64_t last_event_ = 0;
  std::vector<std::string> metrics_; ///< that came with the first of them
  /// By trial and seed (`trial_measured::seed_no`).
  std::map<std::pair<trial_no, std::uint32_t>, place> places_;
  std::map<node_id, stage> stages_; ///< by node
  std::set<node_id> unknown_;       ///< nodes that are yet to be read
  std::vector<node_id> unlabelled_; ///< nodes that were read
  std::set<node_id> worked_on_; ///< since it was read who did
  std::size_t text_bytes_ = 0;            ///< of trials and stages
};

} // namespace hippo
