#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hippo/base/choice.hpp"
#include "hippo/base/types.hpp"
#include "hippo/model/goals.hpp"
#include "hippo/model/trainers_cost.hpp"

namespace hippo {

/// One measurement of a trial.
struct trial_measurement {
  step_t step = 0;
  metrics values;
};

/// The record of one trial.
struct trial_record {
  std::uint64_t id = 0;
  trial_state state = trial_state::pending;
  nlohmann::ordered_json params;
  step_t steps = 0; ///< how far it was trained and measured
  /// Of these, steps that a trial had got before: not trained for this one.
  step_t shared_steps = 0;
  std::vector<trial_measurement> results;
  std::string failure; ///< why it failed; empty if it did not
  choice_reason why{};
};

/// The best measurement of a study.
struct best_record {
  std::uint64_t trial = 0;
  step_t step = 0;
  double value = 0;
  nlohmann::ordered_json params;
};

/// A measurement of a study's front: none of its measurements dominates it.
struct front_entry {
  std::uint64_t trial = 0;
  step_t step = 0;
  metrics values;                  ///< all that was measured there
  nlohmann::ordered_json params{}; ///< of the trial; null: not looked up
};

/// How good a study of several metrics is: what takes the place of its best
/// measurement.
struct front_record {
  std::vector<front_entry> points; ///< by trial, then step
  /// Up to `reference`, of which each metric is the worst that trials measured
  /// first: it never falls. Nothing as long as there is none.
  std::optional<double> hypervolume;
  metrics reference;
};

/// The same as two numbers.
struct front_so_far {
  std::size_t points = 0;
  std::optional<double> hypervolume;
};

/// The record of one study.
struct study_record {
  /// Identifies the study outside of its state; empty: not known.
  std::string uid{};
  std::string name;
  std::string algorithm;
  std::string workload_key{};
  /// The state that training begins from, for people (`to_text` of it); empty:
  /// its code makes the first one.
  std::string initial_state{};
  /// Whether each result is what training that trial alone gives; false if the
  /// study has said that its workload is not like that.
  bool exact = true;
  std::string metric;
  hippo::direction direction = direction::maximize;
  std::uint64_t asked_steps = 0;  ///< what its trials asked for, added up
  std::uint64_t delivered_steps = 0; ///< how far they were trained, added up
  /// Of the delivered steps, those that are left if it is merged alone.
  std::uint64_t unique_steps = 0;
  std::uint64_t shared_steps = 0; ///< of its trials, added up
  /// For how long trainers worked for it, added up over them; what several
  /// studies waited for is divided among them by weight.
  double device_seconds = 0;
  /// The cost of that; nothing: there is no list of machines.
  std::optional<double> cost{};
  std::string reason{}; ///< why it ended early, or has paused by itself
  std::optional<best_record> best;
  std::vector<trial_record> trials;
  /// All that it wants; no metrics: its one metric, and no constraints.
  goals wanted{};
  std::optional<front_record> front{}; ///< set if it has several metrics
};

/// A stage of the merged tree as it came to be, for the picture.
struct stage_record {
  std::uint64_t id = 0;
  std::uint64_t parent = 0; ///< 0: from step 0
  step_t begin = 0;
  step_t end = 0;
  std::string config;                ///< as text
  std::vector<std::size_t> studies;  ///< indices of the studies that share it
  std::uint64_t trials = 0;          ///< how many trials share it
  std::string workload;              ///< its workload key
};

/// The work of one lane of a trainer in one stretch of time, for the picture.
/// A trainer has as many lanes as it trains leases at once.
struct busy_record {
  std::uint64_t trainer = 0; ///< number, from 1
  double begin = 0;          ///< seconds since the run began
  double end = 0;
  std::uint64_t stage = 0; ///< plan node
  step_t from = 0;
  step_t to = 0;
  // Of `end - begin`, in seconds:
  double load = 0;
  double train = 0;
  double evaluate = 0;
  double save = 0;
  double wait = 0;        ///< of `train`, the time it waited for data
  std::uint32_t lane = 0; ///< of the trainer's
};

/// Says which lane that was: `trainer 2`, or `trainer 2, lane 3` beyond the first.
inline std::string lane_text(std::uint64_t trainer, std::uint32_t lane) {
  auto result = "trainer " + std::to_string(trainer);
  if (lane > 0)
    result += ", lane " + std::to_string(lane);
  return result;
}

/// The record of one trainer.
struct trainer_record {
  std::uint64_t number = 0;
  std::string name;   ///< host and process
  std::string device; ///< kind of device
  std::string lost;   ///< why it left before the end; empty if it did not
  bool left = false;  ///< it ended in good order before the end
  std::string stalled; ///< why it was given up; empty: it was not, or is back
  /// Why it can be given no work beside that it is sick: `does not return since
  /// 40 s`, say; empty: it can.
  std::string held_up{};
  std::string sick; ///< what it failed at that others could do; empty: nothing
  std::uint64_t failures = 0; ///< leases that failed on it, for whatever reason
  std::string failed{};       ///< why the last of them did; empty: none has
  std::uint64_t memory_bytes = 0; ///< of its device; 0: unknown
  std::string driver; ///< of its GPU: newest CUDA it can run, e.g. `13.0`
  std::string compute_capability; ///< of its GPU, e.g. `9.0`; both empty: none
  /// Kind of its machine in the list of machines; empty: there is no list, or
  /// `unpriced` says why it is not known.
  std::string machine{};
  std::string unpriced{};
  double price = 0; ///< of the trainer and an hour, if the machine is known
  std::uint32_t at_once = 1; ///< leases that it trains at once
  std::uint32_t code_at_once = 1; ///< the same of code that studies bring
  std::uint32_t ranks = 1;        ///< processes of each trial that it trains
  double notice_seconds = 0; ///< of warning before it goes; 0: unknown, or none
  /// Until it begins to leave by its time limit; nothing: it has none, or is
  /// gone.
  std::optional<double> seconds_left{};
  double work_seconds = 0; ///< for which it was given work
  double idle_seconds = 0; ///< of the time for which it was there, the rest

  /// Whether it has neither been lost nor ended.
  [[nodiscard]] bool is_there() const { return lost.empty() && !left; }
};

/// A finished (or interrupted) run: everything that the report folder shows.
struct run_record {
  std::vector<study_record> studies;
  std::uint64_t asked_steps = 0;
  std::uint64_t delivered_steps = 0; ///< of these, that the trials have got
  std::uint64_t unique_steps = 0;  ///< of the delivered, after merging
  std::uint64_t shared_steps = 0;  ///< of the delivered: of all trials
  std::uint64_t trained_steps = 0; ///< that trainers trained in this run
  std::uint64_t reused_steps = 0;  ///< unique steps that were there before
  double merge_rate = 1;           ///< p = delivered / unique
  double k_wise_merge_rate = 1;    ///< q = sum of the studies' unique / unique
  double wall_seconds = 0;
  double device_seconds = 0; ///< time in which trainers were at work, added up
  /// The time of the delivered steps if each trial were trained alone, and
  /// the part that was avoided, as its steps were shared: estimates by the mean
  /// step of the workload.
  double alone_device_seconds = 0;
  double saved_device_seconds = 0;
  /// No schedule could have ended sooner: the longest path of the stage tree,
  /// or all of its training and evaluation divided by the trainers, whichever
  /// is more. 0: unknown, because some of the work was done in earlier runs or
  /// the timeline is cut short.
  double lower_bound_seconds = 0;
  bool merge = true;
  bool interrupted = false;
  bool simulated = false; ///< all times are virtual
  std::string scheduler;
  std::vector<stage_record> stages;
  std::vector<busy_record> timeline;
  std::vector<trainer_record> trainers;
  /// Their cost, by kind of machine; nothing: there is no list of them.
  std::optional<std::vector<trainers_cost>> costs{};
  // Where the trainers' time went, in seconds, added up over them.
  double load_seconds = 0;
  double train_seconds = 0;
  double evaluate_seconds = 0;
  double save_seconds = 0;
  double dispatch_seconds = 0; ///< between the end of a lease and the next one
  double idle_seconds = 0;     ///< nothing was runnable
  double wait_seconds = 0;     ///< of `train_seconds`, training waited for data
};

} // namespace hippo
