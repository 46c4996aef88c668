#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gateway/limits.hpp"
#include "gateway/study_export.hpp"
#include "gateway/study_history.hpp"
#include "hippo/model/run_record.hpp"
#include "hippo/model/view/views.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/space/study.hpp"
#include "hippo/store/state_reader.hpp"
#include "hippo/store/trial_output.hpp"
#include "hippo/store/weights_recipe.hpp"

namespace hippo {

/// A study as it is stored, and as clients see it by what is stored: what is
/// known only while it runs is not in the view yet.
struct archived_study {
  stored_study row; ///< the text may be left out
  study_view view;
};

/// What the checkpoints of a workload take.
struct checkpoints_view {
  std::string workload_key;
  std::uint64_t bytes = 0;
};

/// A part of what a study has heard.
struct events_view {
  std::vector<event_view> events;
  bool study_has_ended = false; ///< and these are the last
};

/// What is stored, as clients see it. Blocks while it reads: one thread has it
/// for itself.
class archive {
public:
  /// @param workloads that studies may name
  /// @param objects where in an object store checkpoints are; empty: in the
  ///        state folder
  archive(std::unique_ptr<state_reader> store,
          std::vector<workload_descriptor> workloads, std::string objects)
    : store_(std::move(store)), workloads_(std::move(workloads)),
      objects_(std::move(objects)) {}

  /// @param id_or_name as of `state_reader::load_study`
  expected<stored_study> find(const std::string& id_or_name) {
    return store_->load_study(id_or_name);
  }

  /// Whether a command changes what is kept here of a study that has ended,
  /// though its row does not show it.
  static bool is_changed_by(study_command::verb what) {
    using verb = study_command::verb;
    return what == verb::remove || what == verb::restore
           || what == verb::set_space;
  }

  /// Such a command of a study is answered after this. @returns true
  expected<bool> forget(study_id study) {
    return ended_.erase(study), varied_.erase(study), true;
  }

  /// Returns a study with its text.
  expected<archived_study> describe(study_id id);

  /// Measured times, by workload.
  expected<std::vector<workload_timings_view>> timings();

  /// Returns all studies by their ids. Of some of many that it has not seen
  /// before, what follows from their texts is left out: `listed_texts_time`.
  expected<std::vector<archived_study>> list();

  /// Returns trials by their numbers, from `first` on; here and below, `most` 0
  /// stands for as many as may be. They are fewer where they are long:
  /// `rows_bytes_max`.
  expected<std::vector<trial_view>> trials(study_id study, std::uint64_t first,
                                           std::size_t most);

  /// Returns the hyper-parameters in which trials of these studies differ.
  expected<std::set<std::string>>
  varied(const std::set<study_id>& studies);

  /// @returns `errc::invalid_argument` if there is no result
  expected<trial_view> best(study_id study);

  /// @param trial whose events are wanted; nothing: all
  expected<events_view> events(study_id study, std::uint64_t after,
                               std::size_t most,
                               std::optional<trial_no> trial = {});

  /// A trial, where it stands, and what it has measured there.
  /// @param step that the trial was to be trained to
  /// @returns `errc::invalid_argument` if there is no such trial
  expected<trained_trial> progress(study_id study, trial_no trial,
                                   step_t step);

  /// A part of what a workload has printed while a trial was trained.
  /// @returns `errc::invalid_argument` if there is no such trial
  expected<trial_output> output(study_id study, trial_no trial,
                                step_t first) {
    return read_output(*store_, study, trial, first, outputs_per_call_max);
  }

  /// What it takes to have the state that a trial had at a step. In an object
  /// store, which its folder names then, nobody has looked: whoever reads it
  /// says by `without` what is not there.
  /// @param without checkpoints that are not to be used
  /// @returns `errc::invalid_argument` if it was not measured there, or if the
  ///          study's workload is unknown here
  expected<weights_recipe> weights(study_id study, trial_no trial,
                                   step_t step,
                                   const std::set<std::string>& without);

  /// Reads a checkpoint of a study's workload from byte `offset` on, at most
  /// `checkpoint_bytes_per_call_max`; nothing at its end.
  /// @returns `errc::bad_checkpoint` if there is none of that name
  expected<std::string> checkpoint_part(study_id study,
                                        const std::string& file,
                                        std::uint64_t offset);

  /// The text of all that is known of a study, in parts: study_export.hpp.
  expected<exported_part> export_part(study_id study, const std::string& after);

  /// What a page shows of a study: `study_history::answer`.
  /// @param after what an earlier answer said: only what came since is wanted
  expected<std::string> columns(study_id study, const std::string& what,
                                std::uint64_t after, const std::string& metric);

  /// What the best tenth of a study's trials have in common:
  /// study_importance.hpp.
  /// @param metric of the study's goals, by which they are the best; empty: the
  ///               first one
  expected<importance_view> importance(study_id study, step_t step,
                                       const std::string& metric);

  /// Reads a little of what clients read first.
  /// @returns empty
  expected<std::string> probe();

  /// What is counted for /metrics.
  struct totals {
    state_reader::state_counts states;
    std::vector<state_reader::usage> workloads;
  };
  expected<totals> count();

  /// What checkpoints take, by workload.
  expected<std::vector<checkpoints_view>> checkpoints();

  /// What has been trained of a workload.
  expected<trained_time> trained(const std::string& workload_key) {
    return store_->load_trained(workload_key);
  }
  expected<stored_plan> plan(const std::string& workload_key) {
    return store_->load_plan(workload_key);
  }

  /// How far trials get in the plan of a workload key.
  /// @param ended whether only those of studies that have ended are wanted
  expected<std::vector<stored_end>> ends(const std::string& workload_key,
                                         bool ended) {
    return store_->load_ends(workload_key, ended);
  }

  [[nodiscard]] const std::vector<workload_descriptor>& workloads() const {
    return workloads_;
  }

private:
  /// What follows from a study's text, which never changes.
  struct facts {
    std::string algorithm;
    std::string workload_key;
    bool exact = true;
    step_t max_steps = 0;
    std::optional<double> cost_max{}; ///< that its budget allows
    std::uint32_t seeds = 1;          ///< that each trial is trained with
    std::string metric;               ///< the objective
    std::string initial_state;        ///< that it names; empty: none
  };

  /// Returns what was read of a study for pages so far.
  expected<study_history*> history_of(study_id study);

  /// @param reads_text whether it may be read for what follows from it
  expected<archived_study> look_at(stored_study study, bool reads_text = true);
  /// All that is known of a study but for its trials.
  expected<study_record> head_of(study_id study);
  /// Where a study's best value was measured, when, and how much it differs by
  /// the seeds of its trial, if there are several.
  struct improvement {
    trial_no trial{};
    step_t step = 0;
    std::optional<double> time;
    std::optional<double> spread;
  };
  expected<improvement> improvement_of(study_id study, const facts& known,
                                       const stored_trial& best);
  /// Standard deviations over seeds, by trial and step.
  using spreads = std::map<std::pair<trial_no, step_t>, double>;
  /// @param results their trials and steps
  expected<spreads>
  spreads_of(study_id study, const facts& known,
             const std::set<std::pair<trial_no, step_t>>& results);
  /// Returns a study as it was submitted, if its workload is still known.
  expected<study_spec> spec_of(study_id study);
  /// Where the checkpoints of a workload key lie.
  [[nodiscard]] std::string checkpoints_of(const std::string& key) const;
  expected<facts> facts_of(const stored_study& study);
  expected<facts> facts_of(study_id study);
  /// Returns the hyper-parameters that trials of a study differ in. Reads its
  /// events the first time, so it is for studies that somebody looks at.
  expected<std::set<std::string>> varied_in(study_id study);

  std::unique_ptr<state_reader> store_;
  std::vector<workload_descriptor> workloads_;
  std::string objects_;
  std::map<study_id, facts> facts_; ///< by study
  std::map<study_id, std::set<std::string>> varied_; ///< as of `varied_in`
  /// What pages look at, the last one first; together about
  /// `kept_history_bytes`.
  std::list<std::pair<study_id, study_history>> histories_;
  std::map<study_id, archived_study> ended_; ///< by study, texts left out
  std::map<study_id, improvement> improved_; ///< by study
};

} // namespace hippo
