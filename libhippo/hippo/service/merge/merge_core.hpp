#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hippo/service/merge/collecting.hpp"
#include "hippo/service/merge/device_kinds.hpp"
#include "hippo/service/merge/events.hpp"
#include "hippo/service/merge/gangs.hpp"
#include "hippo/service/merge/lease_table.hpp"
#include "hippo/service/merge/options.hpp"
#include "hippo/service/merge/outbox.hpp"
#include "hippo/service/merge/placement.hpp"
#include "hippo/service/merge/preemption.hpp"
#include "hippo/service/merge/retention.hpp"
#include "hippo/service/merge/retry_policy.hpp"
#include "hippo/service/merge/settings_table.hpp"
#include "hippo/service/merge/share_ledger.hpp"
#include "hippo/service/merge/status.hpp"
#include "hippo/service/merge/study_table.hpp"
#include "hippo/service/merge/usage.hpp"

namespace hippo {

/// All decisions of a merger in one state machine: events in, effects out.
///
/// Merges the trials of its studies into one search plan, and leases the paths
/// of its stage tree to the trainers that are granted. The same events at the
/// same moments give the same effects. Holds no clock, no thread and no I/O.
///
/// @invariant those of its parts
/// @invariant each lease of the table is one of the ledger's and, unless it is
///            a follower's, of the plan's
/// @invariant what a trainer has sent is acknowledged, news is sent and files
///            are deleted only after a commit that holds all it depends on
class merge_core {
public:
  using effects = std::vector<any_merge_effect>;

  merge_core(merger_options options, moment begun);

  merge_core(const merge_core&) = delete;
  merge_core& operator=(const merge_core&) = delete;

  /// Takes in what happens. @returns what is to be done about it, in this order
  /// @param now not before that of the last event
  effects apply(any_merge_event event, moment now);

  // -- looking ----------------------------------------------------------------

  [[nodiscard]] const std::string& workload_key() const { return key_; }
  [[nodiscard]] const lease_table& leases() const { return leases_; }
  [[nodiscard]] const study_table& studies() const { return studies_; }
  [[nodiscard]] const search_plan& plan() const { return plan_; }
  /// The file in which all is that nobody waits for; null: it is in memory.
  [[nodiscard]] file_memory* cold() const { return kept_->cold.get(); }
  [[nodiscard]] merger_status status() const;
  /// About how much memory the plan and what follows it take, in bytes.
  [[nodiscard]] std::uint64_t memory_bytes() const;
  /// As of the last event.
  [[nodiscard]] merger_overview overview() const;

  void check_invariants() const;

private:
  // -- events -----------------------------------------------------------------

  void on(merge_event::study_added& event);
  void on(merge_event::orders_given& event);
  void on(merge_event::weight_set& event);
  void on(merge_event::budget_raised& event);
  void on(merge_event::paused_set& event);
  void on(merge_event::study_left& event);
  void on(merge_event::started& event);
  void on(merge_event::halted& event);
  void on(merge_event::retiring& event);
  void on(merge_event::budget_set& event);
  void on(merge_event::committed& event);
  void on(merge_event::time_passed& event);
  void on(merge_event::reported& event);
  void on(merge_event::resent& event);
  void on(merge_event::lease_ended& event);
  void on(merge_event::malformed& event);
  void on(merge_event::granted& event);
  void on(merge_event::lost& event);
  void on(merge_event::trainer_back& event);
  void on(merge_event::able_trainers& event);
  void on(merge_event::heartbeat& event);
  void on(merge_event::yield_asked& event);
  void on(merge_event::demand_answered& event);

  // -- what follows from a change of the plan ---------------------------------

  /// Brings everything in line with the plan. Every event that touches the plan
  /// ends with this.
  void reconcile();
  /// Turns all that a change of the plan has brought about into effects.
  void flush_effects();
  void notify_spent();
  void evict();
  void cancel_orphaned_leases();
  void record_new_nodes();
  void record_news();
  void note_waiting();
  void note_retired();

  // -- leasing ----------------------------------------------------------------

  /// Puts the free trainers to use, and announces how many more could be.
  void place_trainers();
  /// Leases one path, or finds that free trainers cannot be used for now.
  /// @returns whether it could do either
  bool place_one();
  /// @param helpers that train it with the trainer
  void begin_lease(trainer_id trainer, path chosen,
                   const std::vector<trainer_id>& helpers);
  [[nodiscard]] running_lease
  make_lease(trainer_id trainer, path chosen,
             const std::vector<trainer_id>& helpers);
  /// Gives a lease the settings of one of those who wait for it, and ends it
  /// where nobody with these waits any more.
  void choose_settings(lease& to) const;
  /// Gives back trainers without a lease, to come again after a while.
  void cool_down_idle();
  /// Gives back free trainers that may train nothing of what is there, since
  /// it is of other kinds. @returns whether there were any
  bool release_unsuited();
  /// The kinds of device that paths could be leased to; empty: any.
  [[nodiscard]] std::set<std::string> wanted_kinds() const;
  void offer_capacity();
  void announce_demand();
  /// Ends a lease at state `at`, unless it ends there anyway.
  void end_early(const running_lease& lease, step_t at);
  void release(trainer_id trainer);
  void forget_trainer(trainer_id trainer);
  /// Ends what a trainer does of which nothing more is expected.
  /// @param died why, if what it did may have been the reason
  void remove_trainer(trainer_id trainer, const std::string& died = {});
  void cancel_all(trainer_id trainer);
  /// Asks the trainer of a lease that runs to drop it.
  void cancel(lease_id lease);
  /// The same since its trainer has done what no trainer may.
  void distrust(lease_id lease, std::string why);
  /// Refuses a measurement without any metric of the workload.
  /// @returns whether it is one
  bool refuse_other_metrics(const stop_report& report, reply_address from);

  // -- gangs ------------------------------------------------------------------

  /// Whether trainers may train a path together at all: members together take
  /// more device time than one, so not while a study has a budget of it.
  [[nodiscard]] bool joins() const {
    return options_.parts > 1 && !options_.gang_key.empty()
           && !ledger_.has_budgets();
  }
  /// Whether nothing waits that a trainer could have for itself.
  [[nodiscard]] bool has_nothing_else() const;
  /// Chooses the idle trainers that train a path with the one that gets it.
  [[nodiscard]] std::vector<trainer_id> helpers_for(trainer_id trainer,
                                                    const path& chosen) const;
  /// Begins the leases of the helpers that train a path with its lead.
  void begin_followers(const running_lease& lead,
                       const std::vector<trainer_id>& helpers);
  /// Ends leases early whose paths had better have another number of members.
  void resize_gangs();
  /// Ends gangs early where their members could train paths that wait.
  void shrink_gangs();
  /// By kind of device, the trainers that could help with the leases.
  [[nodiscard]] std::map<std::string, std::uint64_t> helpers_needed() const;
  /// Of the idle trainers, those that stay here for that.
  [[nodiscard]] std::set<trainer_id> kept_helpers() const;
  [[nodiscard]] helper_demand helpers() const;
  /// The idle trainers of a kind that others can reach, those that could be
  /// members first.
  [[nodiscard]] std::vector<trainer_id>
  idle_members(const std::string& kind) const;
  /// Ends what the followers of a lease have, which ends itself. Their trainers
  /// are free then, or released.
  void end_followers(lease_id lead);
  /// Takes in that a follower has ended before its lead.
  void end_follower(lease_end end);
  /// Forgets the lease of a follower.
  running_lease drop_follower(lease_id follower);
  /// A member of a gang has ended before its lead, which is about to end.
  /// @param why what says something of the path, or of `culprit`; nothing: it
  ///        has left in good order
  void break_gang(lease_id lead, const std::optional<error>& why,
                  std::optional<trainer_id> culprit);
  /// The gang of a lead was lost, or is about to be.
  void count_gang_loss(const running_lease& lead,
                       std::optional<trainer_id> culprit,
                       const std::string& why);
  /// Names a trainer to people, `trainer 5 (gpu7:4711)`.
  [[nodiscard]] std::string named(trainer_id trainer) const;
  /// Followers are where their lead is.
  void follow_lead(const running_lease& lead, const stop_report& report);
  /// The member that an error of a gang names, if it has not ended.
  [[nodiscard]] std::optional<trainer_id> culprit_of(lease_id lead,
                                                     const error& why) const;
  /// Whether a lead should have ended for long, as its gang is broken.
  [[nodiscard]] bool is_overdue(const reported_progress& lead) const;

  // -- ranks ------------------------------------------------------------------

  /// Gives back trainers that no others can reach.
  void give_up_unreachable();
  /// Gives back the trainers that wait for others, if it is time to.
  void give_back_collected();
  /// A trainer of a lease is needed more by others: all of a gang are free, and
  /// given back, once it ends.
  void yield_together(lease_id member);
  /// Gives back all trainers of a gang once it has ended, if one of them is to
  /// be: the rest cannot go on without it.
  void wind_down_together(lease_id lead);
  /// A gang was lost over a path. From some time on that says something of it.
  void judge_lost_gang(const running_lease& lead, const std::string& why);
  /// Returns how many trainers hold the ranks of a trial, at least.
  [[nodiscard]] std::uint32_t trainers_of_path() const {
    return std::max(ranks_ / leases_.most_ranks(), 1u);
  }

  /// Asserts that leases have as many ranks as they need.
  void check_ranks() const;

  // -- reports ----------------------------------------------------------------

  void take_report(const running_lease& lease, stop_report report,
                   reply_address from);
  void take_late(stop_report report, reply_address from);
  /// Takes out of a report that may have come before a checkpoint that was
  /// given up since: its file is gone.
  void leave_out_given_up(stop_report& report);
  /// Takes its checkpoint out of a report; the file goes once all is stored.
  void leave_out_saved(stop_report& report);
  void leave_out_partial(stop_report& report);
  /// Gives up the file of a checkpoint: it goes once all is stored.
  void give_up(node_id node, step_t at, const checkpoint& checkpoint);
  /// @param span since the report before, or since the lease was handed over
  /// @param leases that the trainer had meanwhile, on average
  void learn(const running_lease& lease, const stop_report& report, double span,
             double leases);
  /// Follows how fast kinds of device are, as far as it was measured.
  void compare_kinds();
  /// How much a trainer trains between two checkpoints of a stage, in seconds.
  [[nodiscard]] double save_seconds_apart(trainer_id trainer) const;
  /// Ends a lease early for a study that has had no device time yet: it need
  /// not wait until something of the lease is reported.
  void make_room_for_newcomers(const running_lease& lease);
  /// A lease has got on: it has not stalled.
  void note_progress(reported_progress& progress);
  /// Records what of a report is new. A checkpoint that is not needed goes.
  /// @param trainer whose name is known that made it; null: it is not
  void keep(const stop_report& report, const std::optional<recorded>& news,
            const std::string* trainer = nullptr);
  void end_lease(lease_end end);
  void take_failure(const running_lease& lease, const lease_end& end);
  /// Takes an end that nobody has asked for as the failure that it is.
  /// @returns whether the trainer is to blame
  bool hold_to_account(running_lease& lease, lease_end& end);
  /// A trainer says what it works on, or that it is idle: of its other leases
  /// it may have none.
  void miss_others(trainer_id trainer, lease_id at);
  void take_loss(const running_lease& lease, const std::string& why,
                 retry_policy::loss how);
  void carry_out(const verdict& what, const running_lease& lease,
                 const error& why);
  /// The settings of those who wait for what a stage reaches beyond a state.
  [[nodiscard]] std::vector<settings_table::settings>
  settings_waiting(const stage& where, step_t from) const;
  /// Whether a failure counts for a study: what has failed under others'
  /// settings alone is tried again under its own.
  [[nodiscard]] bool holds_for(node_id failed, study_no study) const;
  /// Takes a checkpoint out of the plan; its file goes once that is stored.
  void evict_checkpoint(node_id node, step_t at);
  void forget_damaged(checkpoint damaged);
  void recheck_all();

  // -- looking ----------------------------------------------------------------

  [[nodiscard]] merge_view view() const;
  [[nodiscard]] bool is_leasing() const { return started_ && !halted_; }
  [[nodiscard]] bool is_waited_for(const running_lease& lease) const;
  /// As `merger_status::hindered`.
  [[nodiscard]] std::string hindrance() const;
  /// How long heartbeats may show the present state of a lease.
  [[nodiscard]] double stall_seconds(const running_lease& lease) const;
  /// The expected time of that state; nothing: nobody has measured it.
  [[nodiscard]] std::optional<double>
  expected_seconds(const running_lease& lease) const;
  /// How long heartbeats may come of a lease without a report; nothing: nobody
  /// has measured how long its steps take.
  [[nodiscard]] std::optional<double>
  unreported_seconds_max(const running_lease& lease) const;
  [[nodiscard]] bool has_study(study_no study, const char* what);
  void log(merge_effect::log_line::level severity, std::string text);

  merger_options options_;
  const std::uint32_t ranks_; ///< of each trial
  std::string key_;

  std::shared_ptr<kept_plan> kept_;
  search_plan& plan_;    ///< of `kept_`
  device_kinds& kinds_;  ///< likewise
  retention retention_; ///< counts what the plan begins with
  /// Files with parts of a checkpoint that could not be read.
  std::set<std::string> suspected_;
  time_estimates estimates_;
  scheduler chooser_;
  study_table studies_;
  settings_table settings_; ///< of the studies
  /// Of each node where training has failed, the settings that were tried.
  std::map<node_id, std::set<settings_table::settings>> failed_under_;
  lease_table leases_;
  gang_losses losses_;
  collecting collecting_;
  share_ledger ledger_;
  retry_policy retries_;
  outbox outbox_;
  usage usage_;
  /// Files of checkpoints that were given up, the last ones in this order. A
  /// report that comes later does not bring them back.
  std::deque<std::string> given_up_;

  /// Leases that may train what nobody waits for any more: they have gone on,
  /// or trials have ceased to wait.
  std::set<lease_id> recheck_;
  /// Why the trainers that were free last were given no lease, where that was
  /// for their time limits; empty: it was not.
  std::string short_of_time_;

  moment now_;
  bool started_ = false;
  bool halted_ = false;
  bool retiring_ = false;
  double announced_weight_ = 0; ///< to the pool
  /// Likewise, the trainers that could be used; nothing: announce it anew.
  std::optional<std::uint64_t> announced_demand_ = 0;
  std::set<std::string> announced_kinds_; ///< likewise, of their devices
  std::uint32_t usual_members_ = 1; ///< that a path needs of the last granted
  helper_demand announced_helpers_;       ///< likewise
  placement_facts facts_; ///< likewise, with the next demand
  std::uint64_t facts_version_ = 0; ///< of `estimates_`
  std::map<trainer_id, std::string> names_; ///< of trainers that are here
  /// Mean times until its trainers are interrupted, as far as the pool knows.
  std::map<trainer_id, double> between_interruptions_;
  /// The pool grants what it has before it answers.
  std::uint64_t demands_announced_ = 0, demands_answered_ = 0;

  effects effects_; ///< of the present event
};

} // namespace hippo
