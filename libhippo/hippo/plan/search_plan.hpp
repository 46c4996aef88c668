#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/base/ids.hpp"
#include "hippo/base/packed_metrics.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/model/measuring.hpp"
#include "hippo/plan/configuration_pool.hpp"
#include "hippo/plan/node_table.hpp"
#include "hippo/plan/plan_node.hpp"
#include "hippo/sequence/configuration.hpp"

namespace hippo {

/// A trial's measurement has become known.
struct delivery {
  trial_id trial{};
  node_id node{}; ///< where the result is
  step_t at = 0;
  metrics values;
  /// Of the trial's steps since its last measurement, those that a trial had
  /// got before: they were not trained for this one.
  step_t shared = 0;
};

/// A trial cannot be trained as far as it was asked.
struct trial_failure {
  trial_id trial{};
  step_t at = 0;
  error reason;
};

/// A running lease must stop at one more step.
struct added_stop {
  lease_id lease{};
  stop_point stop;
};

/// How many measurements a trial waits for at a time. What it was asked for
/// beyond is taken up as they come, so that a study takes the memory of what it
/// has measured and of so many more, however many steps there are.
struct waiting_limits {
  std::uint64_t near = 64;          ///< of any trial
  std::uint64_t far = 4096;         ///< of a trial as long as `total` allows
  std::uint64_t total = 1ull << 18; ///< of a study, counting equal states once
};

/// The new part of a report.
struct recorded {
  node_id node{}; ///< that the state belongs to
  bool measured = false;
  bool saved = false;
};

/// Steps that trials ask for, and what merging makes of them.
struct merge_figures {
  std::uint64_t trials = 0;
  std::uint64_t asked_steps = 0;
  std::uint64_t unique_steps = 0; ///< after merging
  /// Of those asked for, those that the trials have got: up to their last
  /// measurements.
  std::uint64_t delivered_steps = 0;
  std::uint64_t unique_delivered_steps = 0; ///< of these, after merging
  /// Of those delivered, those that had been delivered to a trial before, in
  /// this run or an earlier one.
  std::uint64_t shared_steps = 0;
};

/// With merging off every trial has a strand of its own: trial i of study n
/// that of number `n * strands_per_study + i + 1`.
inline constexpr std::uint64_t strands_per_study = 1ull << 32;

/// The search plan of one workload key: a trie of configurations with the
/// requests, results and checkpoints on it.
///
/// Holds no clock, no thread and no I/O. State t of a trial, reached by
/// training its steps [0, t), belongs to the node n of its chain with
/// `n.begin < t`; state 0 is the root's.
///
/// @invariant a child's `begin` is at least its parent's
/// @invariant siblings differ in begin, strand or configuration
/// @invariant a trial that has not ended and is not suspended waits for its
///            next measurement, if it was asked for it
/// @invariant each state that a trial waits for has it among its waiters, or
///            has a result, and its measurement is not known to be impossible
class search_plan {
public:
  /// @param cold where all is that nobody waits for: nodes in packed form,
  ///             trials, what they are found by; outlives the plan
  explicit search_plan(waiting_limits limits = {},
                       std::pmr::memory_resource* cold
                       = std::pmr::get_default_resource());

  // -- building ---------------------------------------------------------------

  /// Adds a study. O(1).
  study_no add_study(measuring when);

  /// Has the trials of a study measured otherwise beyond the last rung, which
  /// is a rung still. O(1).
  /// REQUIRES: each of its trials is rerouted before anything else.
  void lengthen(study_no study, measuring when);

  /// Adds a trial; nothing is trained until it is asked for.
  /// @param segments from `join`, first begin 0
  /// @param strand trials of different strands share nothing; 0 for all to
  ///   share
  /// @param responsive whether it may be rerouted wherever it is measured: such
  ///                   states are kept then
  /// @complexity O(segments * hyper-parameters)
  /// REQUIRES: `study` exists and `segments` is not empty.
  trial_id add_trial(study_no study, const std::vector<segment>& segments,
                     std::uint64_t strand = 0, bool responsive = false);

  /// Gives a trial other values beyond what it was asked for.
  /// @complexity O(segments * hyper-parameters)
  /// REQUIRES: `segments` is what the trial had up to `asked_to(trial)`.
  void reroute(trial_id trial, const std::vector<segment>& segments);

  /// Counts a request in the merge figures without asking for training.
  /// @complexity O(segments)
  void cover(trial_id trial, step_t to);

  /// Asks for the trial's measurements up to state `to`. What is known already
  /// is in `take_deliveries()` afterwards.
  /// @complexity O(segments + measurements that are known or waited for)
  /// REQUIRES: `to` is measured by the trial's study.
  void ask(trial_id trial, step_t to);

  /// Notes that the trial's measurements up to state `to` are known to it from
  /// an earlier run; it is not given them again.
  /// @param shared how many of its steps were so when it got them
  /// @complexity O(segments)
  /// REQUIRES: nothing has been asked for yet.
  void recall(trial_id trial, step_t to, step_t shared = 0);

  /// Lets a trial wait only for what is being trained now, from where it is on
  /// without a gap. What it was asked for beyond is taken up again by `go_on`.
  /// @returns the last state that it still waits for, or 0
  /// @complexity O(outstanding measurements * segments)
  step_t suspend(trial_id trial);
  void go_on(trial_id trial);

  /// Ends all waiting of a trial.
  /// @complexity O(outstanding measurements)
  void drop(trial_id trial);

  // -- training ---------------------------------------------------------------

  /// Returns the stops of a stage on node `at`: what its studies measure, and a
  /// checkpoint where trials leave it or may pause, at `to`, and at least every
  /// `save_every` steps (0: no limit). What is known already is left out.
  [[nodiscard]] std::vector<stop_point>
  stops_of(node_id at, step_t from, step_t to, step_t save_every) const;

  /// Notes that a trainer trains `lease`.
  void begin_lease(const lease& lease);

  /// Takes in what a trainer reports. A report of a lease that ended changes
  /// nothing, nor does a result or checkpoint where there is one already.
  /// @returns what of it is new, if the report counts
  std::optional<recorded> record(const stop_report& report);

  /// Takes in a report of a lease that has ended, or is of an earlier run: by
  /// the node and identity that it names. A result or checkpoint where there is
  /// one already changes nothing.
  /// @returns what of it is new, or nothing if it is of no node of this plan,
  ///          or of a state that does not belong to it
  std::optional<recorded> adopt(const stop_report& report);

  /// Ends a lease: what it has not reached is to be trained again.
  void end_lease(lease_id number);

  /// Says that the measurement of a state is not finite, or cannot be made:
  /// every trial that is measured there fails. One that passes it unmeasured
  /// goes on, as it would alone.
  /// @returns false if that was known already
  bool diverge(node_id at, step_t step, const error& reason);

  /// Says that training node `at` cannot reach state `from`: every trial that
  /// is to pass there fails, once it has been told what it measures before, as
  /// it would alone.
  /// @complexity O(nodes below)
  void fail(node_id at, step_t from, const error& reason);

  /// Work that failed for a reason that may pass (`may_pass`) is tried again if
  /// somebody asks for it from now on. Trials that have failed stay so.
  /// @complexity O(failures since the last call)
  void forget_passing_failures();

  /// Whether the failure of a node holds for the trials of a study. Where it
  /// does not, it is forgotten once one of them is to pass there.
  using failure_filter = std::function<bool(node_id, study_no)>;
  void set_failure_filter(failure_filter filter) {
    failure_holds_ = std::move(filter);
  }

  /// A trial that has failed, or was dropped, waits again for what it was asked
  /// for, after `go_on`: what has failed on its way, for whatever reason, is
  /// tried again. REQUIRES: it waits for nothing.
  /// @complexity O(segments + states of these that have diverged)
  void retry(trial_id trial);

  /// Forgets a checkpoint that turned out to be unusable, or was collected.
  void forget_checkpoint(node_id at, step_t step);

  // -- memory -----------------------------------------------------------------

  /// Packs nodes of which nobody waits for anything, once so many have come
  /// since that it is worth it: references to nodes end. Nothing else changes.
  /// @complexity O(nodes that have come, or were looked at, since)
  void pack_idle() { nodes_.pack_idle(); }

  /// The number of nodes that may be unpacked in any case.
  void set_unpacked_max(std::size_t value) { nodes_.set_unpacked_max(value); }

  // -- what was there before --------------------------------------------------

  /// Puts back a node, result or checkpoint of an earlier run.
  /// REQUIRES: nodes come with the ids they had, parents first, and before any
  ///           trial.
  void restore_node(node_id id, node_id parent, step_t begin,
                    const configuration& config, std::uint64_t strand);
  /// Puts a node in the place of one that cannot be read: nobody's, and no
  /// trial can ever pass it.
  void restore_lost(node_id id);
  void restore_result(node_id at, step_t step, const metrics& values);
  void restore_checkpoint(node_id at, step_t step, checkpoint file);
  /// Notes that a trial of an earlier run has got the measurement of a state.
  void restore_delivered(node_id at, step_t step);

  // -- outcomes, each taken once ----------------------------------------------

  std::vector<delivery> take_deliveries();
  std::vector<trial_failure> take_failures();
  std::vector<added_stop> take_added_stops();
  /// Nodes whose wants, checkpoints or running ranges have changed.
  std::set<node_id> take_changed();
  /// Nodes made since the last call, in order of their ids.
  std::vector<node_id> take_made();

  // -- looking ----------------------------------------------------------------

  /// A node; lives until `pack_idle`.
  [[nodiscard]] const plan_node& node(node_id id) const { return nodes_[id]; }
  /// The same for who looks at many: one that is packed stays so.
  /// @param room lives as long as what is returned
  [[nodiscard]] const plan_node& peek(node_id id, plan_node& room) const {
    return nodes_.peek(id, room);
  }
  [[nodiscard]] bool has_node(node_id id) const {
    return number_of(id) < nodes_.size();
  }
  /// Number of nodes, the root included; ids are below it.
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  [[nodiscard]] configuration config_of(node_id id) const {
    return pool_.restore(nodes_[id].config);
  }
  /// Returns what was measured at a state of a node.
  /// REQUIRES: the node has a result there.
  [[nodiscard]] metrics result_of(node_id id, step_t at) const {
    return nodes_[id].results.at(at).unpack(nodes_.names());
  }
  [[nodiscard]] merge_figures figures() const;
  [[nodiscard]] merge_figures figures(study_no study) const;
  /// Returns the steps that earlier runs have trained of those that trials have
  /// got, after merging. O(1).
  [[nodiscard]] std::uint64_t restored_steps() const {
    return restored_steps_;
  }
  /// About how much memory the plan takes beside the cold one, in bytes: what
  /// is waited for, and nodes that are not packed.
  /// @complexity O(studies + nodes that are not packed)
  [[nodiscard]] std::uint64_t memory_bytes() const;
  /// About how much of the cold memory it takes, in bytes: what grows with
  /// nodes, trials, results and checkpoints. O(1).
  [[nodiscard]] std::uint64_t cold_bytes() const;
  /// Returns how many segments the study's trials have been given, shared ones
  /// included: its part of what the plan takes. O(1).
  [[nodiscard]] std::uint64_t segments(study_no study) const {
    return studies_[study].segments;
  }
  /// Says why what was measured cannot be kept: its names are others again, and
  /// those that are known take too much memory.
  [[nodiscard]] std::optional<std::string>
  refused_names(const metrics& values) const;
  [[nodiscard]] std::uint64_t studies() const { return studies_.size(); }
  [[nodiscard]] std::uint64_t trials() const { return trials_.size(); }

  /// Returns the study's spacing of measurements that is densest on a node, in
  /// steps.
  [[nodiscard]] step_t densest_measuring(node_id at) const;

  /// A node that a trial passes, and the state at which it leaves it or ends.
  struct passage {
    node_id node{};
    step_t end = 0;
  };

  /// Returns the nodes that the trial passes up to state `to`, root's child
  /// first. O(segments).
  [[nodiscard]] std::vector<passage> passages(trial_id trial, step_t to) const;

  [[nodiscard]] study_no study_of(trial_id trial) const {
    return trials_[trial].study;
  }
  /// Whether a trial of the study waits for a measurement. O(1).
  [[nodiscard]] bool is_waiting(study_no study) const {
    return studies_[study].wants > 0;
  }
  /// The last node of the trial's chain.
  [[nodiscard]] node_id leaf_of(trial_id trial) const {
    return trials_[trial].leaf;
  }
  /// The strand that the trial was added to.
  [[nodiscard]] std::uint64_t strand_of(trial_id trial) const {
    return nodes_[leaf_of(trial)].strand;
  }
  /// Returns the steps on a trial's way to state `to` that no trial was asked
  /// for. O(segments).
  [[nodiscard]] step_t uncovered_steps(trial_id trial, step_t to) const;
  /// The same for a trial of strand 0 that need not be there.
  /// @complexity O(segments * hyper-parameters)
  [[nodiscard]] step_t uncovered_steps(const std::vector<segment>& segments,
                                       step_t to) const;
  /// How far the trial was asked to go.
  [[nodiscard]] step_t asked_to(trial_id trial) const {
    return trials_[trial].asked_to;
  }

  /// O(trials * states that each waits for).
  void check_invariants() const;

private:
  struct study_state {
    std::uint32_t measuring = 0;
    merge_figures figures;
    std::uint64_t wants = 0; ///< states that its trials wait for
    std::uint64_t segments = 0; ///< of its trials
  };

  struct trial_state {
    node_id leaf{};
    step_t asked_to = 0;
    step_t waits_to = 0; ///< for what it was asked up to here
    step_t delivered_to = 0;
    std::uint64_t order = 0; ///< of the request that it waits for
    study_no study{};
    bool responsive = false;
    bool suspended = false;
    bool ended = false; ///< dropped or failed
  };

  struct lease_state {
    std::vector<stage> stages; ///< configurations left out
  };

  /// Finds the place of `measuring` among what trials are measured by, or makes
  /// it.
  std::uint32_t intern(measuring measuring);
  /// Walks the nodes of `segments` and makes those that are missing.
  /// @returns the last one
  node_id chain(const trial_state& trial, const std::vector<segment>& segments,
                std::uint64_t strand);
  [[nodiscard]] std::optional<node_id>
  find_child(node_id parent, step_t begin, std::uint64_t strand,
             const configuration_pool::compact& config) const;
  node_id child_of(node_id parent, step_t begin, std::uint64_t strand,
                   configuration_pool::compact config);
  node_id add_node(node_id parent, step_t begin, std::uint64_t strand,
                   configuration_pool::compact config);
  /// Why a trial cannot get to state `to`, and from where on; nothing: nothing
  /// is known against it. O(segments).
  [[nodiscard]] std::optional<trial_failure> failure_before(trial_id trial,
                                                            step_t to);
  /// Why a state cannot be measured for a trial; null: nothing is known
  /// against it.
  [[nodiscard]] const error* divergence(trial_id trial, node_id at,
                                        step_t step);
  /// Whether the failure of a node is one for a trial.
  [[nodiscard]] bool holds(node_id failed, trial_id trial) const;
  /// The same of the reason why a state of a node cannot be measured.
  [[nodiscard]] bool divergence_holds(node_id at, const error& why,
                                      trial_id trial) const;
  /// Whether a trial waits for a state that it is measured at: it is told of
  /// it once it has been told of those before.
  [[nodiscard]] bool waits_for(trial_id trial, step_t at) const;
  /// Lets a trial no longer wait for what it cannot have, and tells it once it
  /// has been told what comes before. If that has come to be forgotten by then,
  /// it waits for it again.
  void give_up_from(trial_id trial, step_t from);
  /// Keeps what was measured, unless something was. @returns whether it does
  bool put_result(plan_node& node, step_t at, const metrics& values);
  /// Whether the outcome of measuring a state is known.
  [[nodiscard]] static bool is_measured(const plan_node& node, step_t at);
  /// Tells those who wait for the outcome of measuring a state.
  void answer(node_id at, step_t step);
  [[nodiscard]] trouble& troubles_of(node_id at);
  /// Keeps the result and checkpoint of a state that belongs to node `at`.
  recorded keep(node_id at, const stop_report& report);
  void announce_stops(node_id at, const measuring& when);
  void add_waiter(want& want, trial_id trial, std::uint64_t order);
  /// Takes away one trial of the study.
  void remove_waiter(want& want, study_no study);
  /// Lets a trial wait for more of what it was asked for, as much as may be.
  void wait_further(trial_id trial);
  /// Tells a trial what is known of the states it was asked for, in their
  /// order, and lets it wait for more if it waits for nothing then.
  void flush(trial_id trial);
  void deliver(trial_id trial);
  /// Books that a trial has got its steps from state `from` to `to`.
  /// @returns how many of them a trial had got before
  /// @complexity O(segments between the two states)
  step_t credit(trial_id trial, step_t from, step_t to);
  /// Calls `function`, which moves how far node `node` was delivered or
  /// restored, and keeps count of the steps that are both.
  template <class F>
  void change_restored(plan_node& node, F&& function) {
    const auto steps = [&] {
      const auto to = std::min(node.delivered_to, node.restored_to);
      return to > node.begin ? to - node.begin : 0;
    };
    restored_steps_ -= steps();
    function();
    restored_steps_ += steps();
  }
  /// The entry of a study on a node, made if it has none.
  static study_reach& reach_of(plan_node& node, study_no study);
  /// Lets a trial no longer wait for what is beyond state `to`.
  void stop_waiting(trial_id trial, step_t to);
  [[nodiscard]] bool is_running(node_id at, step_t state) const;
  [[nodiscard]] const measuring& measuring_of(trial_id trial) const;
  /// The node of the trial's chain that state `at` belongs to; O(segments).
  [[nodiscard]] node_id node_at(trial_id trial, step_t at) const;

  waiting_limits limits_;
  configuration_pool pool_;
  node_table nodes_;
  std::pmr::unordered_multimap<std::uint64_t, node_id> by_key_;
  std::vector<measuring> measurings_;
  by_id<study_no, study_state> studies_;
  by_id<trial_id, trial_state, std::pmr::deque<trial_state>> trials_;
  std::map<lease_id, lease_state> leases_;
  std::uint64_t requests_ = 0;
  std::uint64_t restored_steps_ = 0;
  std::uint64_t asked_steps_ = 0;
  std::uint64_t unique_steps_ = 0;
  std::uint64_t delivered_steps_ = 0;
  std::uint64_t unique_delivered_steps_ = 0;
  std::uint64_t shared_steps_ = 0;

  std::vector<delivery> deliveries_;
  std::vector<trial_failure> failures_;
  std::set<node_id> passing_failures_; ///< nodes with one that may pass
  failure_filter failure_holds_;       ///< none: all hold for all
  std::vector<added_stop> added_stops_;
  std::set<node_id> changed_;
  std::vector<node_id> made_;
};

} // namespace hippo
