#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "hippo/base/ids.hpp"
#include "hippo/base/log_level.hpp"
#include "hippo/net/wire/messages.hpp"
#include "hippo/plan/schedule/placement.hpp"
#include "hippo/service/merge/kept_code.hpp"
#include "hippo/service/merge/orders.hpp"
#include "hippo/service/merge/outbox.hpp"

// The events of a merger, and its effects.

namespace hippo::merge_event {

// -- from studies and the service ---------------------------------------------

/// A study is added; its number is that of the studies before.
struct study_added {
  study_registration study;
};
struct orders_given {
  study_no study{};
  study_orders orders;
};
struct weight_set {
  study_no study{};
  double weight = 1;
};
/// A study may have so much more of its budgets.
struct budget_raised {
  study_no study{};
  double device_seconds = 0;
  double cost = 0;
};
/// Whether nothing new may start for a study; what runs goes on.
struct paused_set {
  study_no study{};
  bool paused = false;
};
/// A study is gone, whatever became of it: nothing is trained for it any more,
/// and what comes in its name is ignored.
struct study_left {
  study_no study{};
};
/// Leasing may begin: every study that is to share from the start is there.
struct started {};
/// Nothing more is leased, and what runs ends after its present step, with a
/// checkpoint.
struct halted {};
/// Nothing more is leased, ever, and what runs is cancelled; once all is over
/// and stored, `retired` says so.
struct retiring {};
/// The checkpoints may take so many bytes.
struct budget_set {
  std::uint64_t bytes = 0;
};
/// A commit is stored.
struct committed {
  std::uint64_t number = 0;
};
/// Nothing has happened but that time has passed.
struct time_passed {};

// -- from trainers ------------------------------------------------------------

/// A stop was passed.
struct reported {
  stop_report report;
  reply_address from{};
};
/// A report that nobody has acknowledged: of a lease that has ended, or of an
/// earlier run.
struct resent {
  stop_report report;
  reply_address from{};
};
struct lease_ended {
  lease_end end;
};
/// A trainer has sent what cannot be understood.
struct malformed {
  trainer_id trainer{};
  std::string why;
};

// -- from the pool ------------------------------------------------------------

/// A trainer may be used until it is released.
struct granted {
  trainer_id trainer{};
  std::string kind{}; ///< of its device
  /// Mean time until it is interrupted; 0: it is not known.
  double seconds_between_interruptions = 0;
  double price = 0; ///< of an hour of it; 0: nothing, or it is not known
  std::string name{}; ///< by which people know the trainer
  std::uint32_t at_once = 1; ///< leases that it trains at once
  std::uint32_t code_at_once = 1; ///< the same of code that studies bring
  std::optional<double> seconds_left{}; ///< until it leaves; nothing: no limit
  std::string gang{}; ///< HOST:PORT for others of a gang; empty: it is in none
  std::uint32_t ranks = 1; ///< processes of a trial that it holds
};
/// A trainer is gone.
struct lost {
  trainer_id trainer{};
  std::string why{}; ///< a line; empty: it has left in good order
};
/// A trainer of that name that was lost had only been cut off.
struct trainer_back {
  std::string name;
};
/// These could train for the merger, as far as is known, whoever holds them.
struct able_trainers {
  std::map<trainer_id, std::string> trainers; ///< the kinds of their devices
};
/// A trainer is alive, and has reached that state of a lease.
struct heartbeat {
  trainer_id trainer{};
  lease_id lease{};
  step_t at = 0;
};
/// Others need a trainer more.
struct yield_asked {
  trainer_id trainer{};
};
/// The pool has granted what there is for the demand announced last.
struct demand_answered {};

} // namespace hippo::merge_event

namespace hippo::merge_effect {

// -- to trainers --------------------------------------------------------------

struct send_lease {
  trainer_id trainer{};
  lease work;
};
struct send_stop {
  trainer_id trainer{};
  stop_request stop;
};
struct send_cancel {
  trainer_id trainer{};
  lease_id lease{};
};
struct send_ack {
  reply_address to{};
  ack report;
};

// -- to the pool --------------------------------------------------------------

struct release_trainer {
  trainer_id trainer{};
};
/// The trainer is not to be granted to this merger for so long; it is released
/// next.
struct cool_down_trainer {
  trainer_id trainer{};
  std::chrono::milliseconds span{0};
  std::string unable{}; ///< why it cannot start the workload; empty: it can
  bool joined = false;  ///< nor is any that holds only some ranks of a trial
};
/// The trainer has failed at what another one could do.
struct blame_trainer {
  trainer_id trainer{};
  std::string why;
};
/// A lease has failed on the trainer, whoever is to blame.
struct note_failure {
  trainer_id trainer{};
  std::string why; ///< a line
};
/// The trainer makes no progress; it is not the merger's any more.
struct give_back_stalled {
  trainer_id trainer{};
  std::string why;
};
/// The trainer has said something.
struct note_alive {
  trainer_id trainer{};
};
/// The number of further trainers that studies of that weight could use.
struct announce_demand {
  double weight = 0;
  std::uint64_t trainers = 0;
  std::set<std::string> kinds{}; ///< of their devices; empty: any
  placement_facts facts{};
  helper_demand helpers{};
};

// -- to studies and the service -----------------------------------------------

/// Is to be answered by `committed`; its news are sent and its files deleted
/// then.
struct commit {
  commit_request what;
};
/// A study may start so many trials more.
struct offer_capacity {
  study_no study{};
  std::uint64_t trials = 0;
};
/// Nothing of a paused study runs any more.
struct notify_quiesced {
  study_no study{};
};
/// A study has had all that it may have of something.
struct notify_spent {
  study_no study{};
  study_limit what{};
  std::uint64_t raises = 0; ///< of its budgets before
};
/// Everything is over and stored.
struct retired {
  std::uint64_t trained_steps = 0;
};

/// Trainers cannot read what they are to run: it is to be looked at, and left
/// there anew if it is not what it was.
struct restore_code {
  std::shared_ptr<const kept_code> code; ///< not null
};

/// A line for the log.
struct log_line {
  using level = log_level;
  level severity = level::info;
  std::string text;
};

} // namespace hippo::merge_effect

namespace hippo {

using any_merge_event = std::variant<
  merge_event::study_added, merge_event::orders_given, merge_event::weight_set,
  merge_event::paused_set, merge_event::study_left, merge_event::started,
  merge_event::halted, merge_event::retiring, merge_event::budget_set,
  merge_event::committed, merge_event::time_passed, merge_event::reported,
  merge_event::resent, merge_event::lease_ended, merge_event::malformed,
  merge_event::granted, merge_event::lost, merge_event::trainer_back,
  merge_event::able_trainers, merge_event::heartbeat, merge_event::yield_asked,
  merge_event::demand_answered, merge_event::budget_raised>;

using any_merge_effect = std::variant<
  merge_effect::send_lease, merge_effect::send_stop, merge_effect::send_cancel,
  merge_effect::send_ack, merge_effect::release_trainer,
  merge_effect::cool_down_trainer, merge_effect::blame_trainer,
  merge_effect::note_failure, merge_effect::give_back_stalled,
  merge_effect::note_alive, merge_effect::announce_demand,
  merge_effect::commit, merge_effect::offer_capacity,
  merge_effect::notify_quiesced, merge_effect::notify_spent,
  merge_effect::retired, merge_effect::restore_code,
  merge_effect::log_line>;

} // namespace hippo
