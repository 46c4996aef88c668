#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hippo/base/choice.hpp"
#include "hippo/base/error.hpp"
#include "hippo/base/ids.hpp"
#include "hippo/base/limits.hpp"
#include "hippo/base/types.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/model/notification.hpp"
#include "hippo/model/timing.hpp"
#include "hippo/sequence/configuration.hpp"

namespace hippo {

/// A node of a search plan, as it is stored. The root is there unsaid.
struct stored_node {
  node_id id{};
  node_id parent{}; ///< below `id`
  step_t begin = 0;
  std::uint64_t strand = 0; ///< tells apart what must not share; normally 0
  configuration config;
  /// Whether it, or one above it, cannot be read: then it is nobody's, and only
  /// keeps its number from being given again. The rest of it means nothing.
  bool is_lost = false;
  friend bool operator==(const stored_node&, const stored_node&) = default;
};

/// The measurement of one state of a node.
struct stored_result {
  node_id node{};
  step_t step = 0;
  metrics values;     ///< kept bit for bit, NaN too
  std::string device; ///< kind of device that measured it
  std::string trainer{}; ///< that trained and measured it; empty: unknown
};

/// The work of a trainer on a node of a plan: measurements that it made.
struct stored_work {
  node_id node{};
  std::string trainer; ///< empty: nobody knows
  step_t first = 0;    ///< the first state that it measured
  step_t last = 0;
  std::optional<double> begin; ///< when, in seconds since 1970, if it is known
  std::optional<double> end;
  friend bool operator==(const stored_work&, const stored_work&) = default;
};

/// A state of a plan at which trials have got no further by now.
struct stored_end {
  node_id node{};
  step_t step = 0;
  std::uint64_t trials = 0; ///< of all the studies that were asked for
  friend bool operator==(const stored_end&, const stored_end&) = default;
};

/// The value of one metric at one state of a trial, as a study received it.
struct stored_value {
  std::uint64_t event = 0; ///< its place in what the study has heard
  double time = 0;         ///< seconds since 1970
  trial_no trial = 0;
  step_t step = 0;
  node_id node{}; ///< of the plan, where the result is
  double value = 0;       ///< NaN, too, where the metric was not measured
  step_t shared = 0;      ///< as of `trial_measured`, and so what follows
  std::uint32_t seed_no = 0;
  bool is_part = false;
  /// The standard deviation of the value over seeds; NaN: there are not
  /// several.
  double spread = __builtin_nan("");
};

/// A checkpoint of one state of a node.
struct stored_checkpoint {
  node_id node{};
  step_t step = 0;
  checkpoint file;
  std::string device{}; ///< kind of device that made it; empty: unknown
  friend bool operator==(const stored_checkpoint&,
                         const stored_checkpoint&) = default;
};

/// The output of a workload on the way to a state of a node.
struct stored_output {
  node_id node{};
  step_t step = 0;
  std::string text;
  friend bool operator==(const stored_output&, const stored_output&) = default;
};

/// Where a study stands. The names are those that people see, in capitals.
enum class study_phase : std::uint8_t {
  running,
  paused,    ///< nothing new starts until it is resumed
  stopping,  ///< what runs is finished, then it ends
  complete,  ///< nothing is left to do
  failed,    ///< all of its trials failed
  cancelled, ///< somebody ended it
};
const char* to_string(study_phase phase) noexcept; ///< e.g. `"RUNNING"`

/// Whether a study will never do anything again.
bool has_ended(study_phase phase) noexcept;

/// A study as it was submitted, and where it stands.
struct stored_study {
  study_id id{};
  std::string name;     ///< studies may have the same; the last one goes by it
  std::string file;     ///< where the text came from, for messages
  std::string text;     ///< the study file's
  std::string metric;   ///< of its objective
  hippo::direction direction = direction::maximize;
  study_phase state = study_phase::running;
  double weight = 1;         ///< share of the trainers
  double active_seconds = 0; ///< for how long it has been worked on
  /// Time that trainers have worked for it, added up over them; see
  /// `study_served`.
  double device_seconds = 0;
  double cost = 0; ///< of that time, as far as its price was known
  /// When it was submitted, in seconds since 1970; 0: it is not known.
  double submitted = 0;
  std::string reason;        ///< why it ended early; empty if it did not
  std::string algorithm; ///< that was chosen for it; see `accepted_study`
  bool typed = false;    ///< see `study_spec`
  std::uint64_t trials_ahead = trials_ahead_max; ///< see `study_spec`
  std::string note{};                            ///< for people; may be empty
  std::vector<std::string> tags{}; ///< sorted, without repetitions
  bool removed = false; ///< hidden: neither listed nor found by its name
  friend bool operator==(const stored_study&, const stored_study&) = default;
};

/// The best measurement of a trial.
struct stored_best {
  step_t step = 0;
  double value = 0;
  friend bool operator==(const stored_best&, const stored_best&) = default;
};

/// A trial of a study, as people see it. All of it follows from the study and
/// what it has received.
struct stored_trial {
  trial_no trial = 0;
  trial_state state = trial_state::pending;
  std::string params; ///< JSON; empty to leave what is stored as it is
  step_t asked_to = 0;
  step_t steps = 0; ///< how far it has been trained and measured
  std::optional<stored_best> best;
  std::string failure; ///< why it failed; empty if it did not
  step_t shared = 0; ///< of its steps, those that a trial had got before
  choice_reason why{};
  friend bool operator==(const stored_trial&, const stored_trial&) = default;
};

// The input of a study. All of it, in its order, decides the study's actions,
// so that they can be repeated after a restart.

/// A state of a trial was measured.
struct trial_measured {
  trial_no trial = 0;
  node_id node{}; ///< of the plan, where the result is
  step_t at = 0;
  metrics values;
  /// Of the trial's steps since its last measurement, those that a trial had
  /// got before: they were not trained for this one.
  step_t shared = 0;
  /// Of a trial with several seeds, which of them it was, from 1; 0: it has
  /// one.
  std::uint32_t seed_no = 0;
  /// Whether results with other seeds are to come: then `values` are those of
  /// this seed, else the summary of all (`summarize`).
  bool is_part = false;
};

/// A trial cannot be trained as far as it was asked.
struct trial_failed {
  trial_no trial = 0;
  step_t at = 0;
  error reason;
};

/// Somebody wants something of a study.
struct study_command {
  enum class verb : std::uint8_t {
    ask,       ///< one more trial, with the values of `text` or the sampler's
    train,     ///< trial `trial` up to `at`
    tell,      ///< end trial `trial`, in the state and with the value of `text`
    close,     ///< nothing more will be asked for
    pause,     ///< start nothing new
    resume,    ///< go on
    stop,      ///< finish what runs, then end
    cancel,    ///< end now; `text` says why
    weight,    ///< of now on `text`, a number
    widen,     ///< `text` trials more may be in flight, a number
    retry,     ///< try trials again that have failed; `text` says which
    finish,    ///< a budget is spent: end now, complete; `text` says why
    extend,    ///< a larger budget, by the amounts of `text`
    enqueue,   ///< the next trials have the values of `text`
    tell_past, ///< results from elsewhere, in `text`, for the sampler
    note,      ///< another note, or other tags, in `text`
    remove,    ///< hide the trials of `text`, or the study
    restore,   ///< show again what was hidden
    set_space, ///< the space of `text` for trials that have not begun
  };
  verb what = verb::ask;
  trial_no trial = 0;
  step_t at = 0;
  std::string text;
  /// By which the study knows who waits for an answer; not stored.
  std::uint64_t token = 0;
  /// Whether it is answered only, and changes nothing; then it is not stored.
  bool dry_run = false;
};
const char* to_string(study_command::verb command) noexcept; ///< e.g. `"ask"`

/// Whether a study takes a command also when it has ended.
bool is_for_ended(study_command::verb command) noexcept;

/// The study's sampler has decided the values of a trial. Nobody tells the study
/// but itself, before a restart: then it does not decide anew.
struct trial_chosen {
  std::uint64_t trial = 0;
  trial_choice what;
};

using study_input
  = std::variant<trial_measured, trial_failed, study_command, trial_chosen>;

/// An event as it is stored.
struct stored_event {
  std::uint64_t id = 0; ///< grows in the order in which events were passed on
  study_id study{};
  double time = 0; ///< when it was stored, in seconds since 1970
  study_input what;
};

// The changes of a state folder. Adding what is there already changes
// nothing, whatever it holds: the first one counts.

struct node_added {
  std::string workload_key;
  stored_node node;
};

/// REQUIRES (also for checkpoints): the node was added before, or along with
/// it, or is the root.
struct result_added {
  std::string workload_key;
  stored_result result;
};

struct checkpoint_added {
  std::string workload_key;
  stored_checkpoint checkpoint;
};

/// How many files that were evicted are remembered, the last ones.
inline constexpr std::size_t evicted_max = 10'000;

/// A file is evicted, whether it is the checkpoint of that state or another one
/// of it that came later. No report that is sent again brings it back.
struct checkpoint_removed {
  std::string workload_key;
  node_id node{};
  step_t step = 0;
  std::string file;
};

/// Of all that is printed only the last is kept (`outputs_max`).
struct output_added {
  std::string workload_key;
  stored_output output;
};

/// Adds a study, or changes where the one of that id stands: its name, file and
/// text stay what they were.
struct study_saved {
  stored_study study;
  /// Of a study that is added: where its events are posted to, if anywhere.
  std::optional<notify_request> notify{};
};

/// The receiver of an event of a study has got it, or never will: it is no
/// longer due, unless it has happened again since.
struct notification_settled {
  study_id study{};
  notify_event event = notify_event::ended;
  std::uint64_t number = 0; ///< how often it had happened by then
  std::string trouble;      ///< why nobody has got it; empty: somebody has
};

/// Adds a trial, or replaces what was saved under the same number.
/// REQUIRES: the study was saved before, or along with it.
struct trial_saved {
  study_id study{};
  stored_trial trial;
};

/// Takes back what was saved of a trial: its study has ended before the trial
/// was begun. It may be saved again.
struct trial_removed {
  study_id study{};
  trial_no trial = 0;
};

/// Saves the front of a study that wants more than one best value, in JSON
/// (`model/front_text.hpp`), in place of what was saved before. It follows from
/// the study and what it has received.
/// REQUIRES: the study was saved before, or along with it.
struct front_saved {
  study_id study{};
  std::string front;
};

/// A study is about to receive something, or has chosen something.
/// REQUIRES: the study and, for a measurement, the result were added before, or
/// along with it.
struct event_added {
  study_id study{};
  std::string workload_key; ///< of a measurement
  study_input what;
};

/// Trainers have worked on a workload.
struct steps_trained {
  std::string workload_key;
  std::uint64_t steps = 0;
  double device_seconds = 0; ///< added up over trainers
};

/// The estimate of a time that a workload takes, in place of the one before.
struct timing_learned {
  std::string workload_key;
  timing what;
};

/// Trainers have worked for a study, so much longer than was stored before.
/// REQUIRES: the study was saved before.
struct study_served {
  study_id study{};
  double device_seconds = 0; ///< added up over trainers
  double cost = 0; ///< of these, by the prices of the time
};

/// The steps that were trained, and the time of trainers for them.
struct trained_time {
  std::uint64_t steps = 0;
  double device_seconds = 0; ///< added up over trainers

  /// The mean time of a step, in seconds; 0: none was trained.
  [[nodiscard]] double step_seconds() const {
    return steps == 0 ? 0 : device_seconds / static_cast<double>(steps);
  }

  /// The device time of a step alone, in seconds: without starts, loading,
  /// measuring and saving, which are no part of what sharing steps saves.
  /// @param measured the mean time of a step on a device that trains nothing
  ///        else meanwhile; 0: unknown. Beside others it takes less of it.
  [[nodiscard]] double own_step_seconds(double measured) const {
    return measured > 0 ? std::min(measured, step_seconds()) : step_seconds();
  }
};

/// The numbers of a generation of leases are taken; none of before holds.
struct lease_epoch_begun {
  std::uint64_t number = 0;
};

using journal_record =
  std::variant<node_added, result_added, checkpoint_added, checkpoint_removed,
               output_added, study_saved, trial_saved, trial_removed,
               front_saved, event_added, steps_trained, timing_learned,
               study_served, lease_epoch_begun, notification_settled>;

/// All that is stored of one workload key.
struct stored_plan {
  std::vector<stored_node> nodes; ///< by id, hence parents first
  std::vector<stored_result> results;         ///< by node and step
  std::vector<stored_checkpoint> checkpoints; ///< by node and step
  /// The last state of each node that a trial has got, by node.
  std::vector<std::pair<node_id, step_t>> delivered;
  /// The parts that could not be read and are left out, for people: the first.
  std::vector<std::string> damage{};
  std::uint64_t damages = 0; ///< how much that is in all
};

/// How long what a workload does takes.
struct workload_timings {
  std::string workload_key;
  std::vector<timing> timings; ///< by device, what it is, and speed key
};

} // namespace hippo
