#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "hippo/base/ids.hpp"
#include "hippo/net/wire/messages.hpp"
#include "hippo/plan/schedule/placement.hpp"
#include "hippo/service/pool/workload_need.hpp"

// The events of the pool, and the effects that it answers them with. Mergers
// go by numbers that the caller gives them, trainers by numbers from 1.

namespace hippo {

/// The caller's number of a merger.
using merger_number = std::uint64_t;

} // namespace hippo

namespace hippo::pool_event {

// -- from trainers ------------------------------------------------------------

/// A trainer wants to join; `answer_hello` tells it what came of that.
struct registered {
  hello what;
  /// Its number if the same one is connected already: it has missed the answer.
  std::optional<trainer_id> known{};
};
/// A trainer has sent a heartbeat. With the first on which it is idle it may be
/// given work.
struct heard {
  heartbeat what;
};
/// A trainer ends, once its merger has released it.
struct leaving {
  trainer_id trainer{};
};
/// A trainer's connection or process has ended.
struct disconnected {
  trainer_id trainer{};
  bool in_order = false; ///< whether it ended without an error
  std::string why{};
};

// -- from mergers -------------------------------------------------------------

/// A merger can use the trainers that can train its workload; without this,
/// any. Replaces what another one with that workload key has said.
struct introduced {
  merger_number merger = 0;
  workload_need need;
};
/// A merger could use more trainers, beside those that it holds.
struct demanded {
  merger_number merger = 0;
  double weight = 1; ///< above 0
  std::uint64_t trainers = 0;
  std::set<std::string> kinds{}; ///< of their devices; empty: any
  placement_facts facts{};
  helper_demand helpers{};
};
/// A merger has ended; its trainers are free.
struct merger_ended {
  merger_number merger = 0;
};
/// A merger is done with a trainer.
struct released {
  trainer_id trainer{};
};
/// A merger is done with a trainer that makes no progress; it is given work
/// again once it is idle by its own account.
struct stalled {
  trainer_id trainer{};
  std::string why{};
};
/// The merger that holds the trainer is not to be given it for that span;
/// others may be.
struct cooled_down {
  trainer_id trainer{};
  std::chrono::milliseconds span{0};
  std::string unable{}; ///< why it cannot start the workload; empty: it can
  bool joined = false;  ///< nor is any that holds only some ranks of a trial
};
/// The trainer has failed at what another one could do: it is sick, and is
/// given no work for a while, longer each time.
struct blamed {
  trainer_id trainer{};
  std::string why{};
};
/// A lease has failed on the trainer, whoever is to blame: it is counted.
struct lease_failed {
  trainer_id trainer{};
  std::string why{};
};
/// A trainer has passed a stop of a lease: it is alive, it is not sick, and it
/// can train for the merger that holds it.
struct alive {
  trainer_id trainer{};
};

// -- from the clock -----------------------------------------------------------

/// A review that was asked for is due.
struct review_due {
  bool ends_cool_down = false; ///< as it was asked for
};
/// It is time to look for trainers that are silent, once in
/// `heartbeat_interval`. If the caller itself has not run for a while, that
/// time counts for none of them.
struct ticked {};

} // namespace hippo::pool_event

namespace hippo::pool_effect {

// -- to trainers --------------------------------------------------------------

/// The answer to `registered`: a number, or a refusal. Comes before all that
/// names the number.
struct answer_hello {
  welcome what;
};
/// The trainer is notified that it has to register anew, should it only have
/// been cut off.
struct dismiss {
  trainer_id trainer{};
  friend bool operator==(const dismiss&, const dismiss&) = default;
};
/// The trainer is watched from now on.
struct watch {
  trainer_id trainer{};
  friend bool operator==(const watch&, const watch&) = default;
};
/// The trainer is gone: it is watched no longer, and sent nothing more.
struct unwatch {
  trainer_id trainer{};
  friend bool operator==(const unwatch&, const unwatch&) = default;
};

// -- to mergers ---------------------------------------------------------------

/// The trainer is the merger's from now on.
struct grant {
  merger_number merger = 0;
  trainer_id trainer{};
  std::string kind{}; ///< of its device
  /// Mean time until it is interrupted: lost, or told to go; 0: not known.
  double seconds_between_interruptions = 0;
  double price = 0;          ///< of an hour; 0: nothing, or it is not known
  std::string name{};        ///< of the trainer: host and process
  std::uint32_t at_once = 1; ///< leases that it trains at once
  std::uint32_t code_at_once = 1; ///< the same of code that studies bring
  std::optional<double> seconds_left{}; ///< until it leaves; nothing: no limit
  std::string gang{}; ///< HOST:PORT for others of a gang; empty: it is in none
  std::uint32_t ranks = 1; ///< processes of a trial that it holds
  friend bool operator==(const grant&, const grant&) = default;
};
/// The merger is asked to release the trainer as soon as that pays.
struct ask_to_yield {
  merger_number merger = 0;
  trainer_id trainer{};
  friend bool operator==(const ask_to_yield&, const ask_to_yield&) = default;
};
/// The merger is notified that its trainer is gone.
struct notify_lost {
  merger_number merger = 0;
  trainer_id trainer{};
  std::string why{}; ///< empty: it has left, or was told to
  friend bool operator==(const notify_lost&, const notify_lost&) = default;
};
/// The merger is notified that a trainer of that name which was lost had only
/// been cut off: the same process has registered anew.
struct notify_back {
  merger_number merger = 0;
  std::string name;
  friend bool operator==(const notify_back&, const notify_back&) = default;
};
/// The merger is told which trainers could train for it, whoever holds them:
/// those that are connected, know its workload, and are not known to fail; one
/// that has stalled for a while yet.
struct tell_able {
  merger_number merger = 0;
  std::map<trainer_id, std::string> trainers; ///< the kinds of their devices
  friend bool operator==(const tell_able&, const tell_able&) = default;
};
/// The merger is notified that its trainer works on a lease, or says that it is
/// idle.
struct forward_heartbeat {
  merger_number merger = 0;
  heartbeat what;
  friend bool operator==(const forward_heartbeat&,
                         const forward_heartbeat&) = default;
};

// -- to the clock and the log -------------------------------------------------

/// `review_due` is to come after this span, beside any that is due already.
struct review_after {
  std::chrono::milliseconds span{0};
  /// Whether that ends a cool-down; else it follows how shares go on.
  bool ends_cool_down = false;
  friend bool operator==(const review_after&, const review_after&) = default;
};
/// A line for the log.
struct log_line {
  bool is_warning = false;
  std::string text;
  friend bool operator==(const log_line&, const log_line&) = default;
};

} // namespace hippo::pool_effect

namespace hippo {

using any_pool_event = std::variant<
  pool_event::registered, pool_event::heard, pool_event::leaving,
  pool_event::disconnected, pool_event::introduced, pool_event::demanded,
  pool_event::merger_ended, pool_event::released, pool_event::stalled,
  pool_event::cooled_down, pool_event::blamed, pool_event::lease_failed,
  pool_event::alive, pool_event::review_due, pool_event::ticked>;

using any_pool_effect =
  std::variant<pool_effect::answer_hello, pool_effect::dismiss,
               pool_effect::watch, pool_effect::unwatch, pool_effect::grant,
               pool_effect::ask_to_yield, pool_effect::notify_lost,
               pool_effect::notify_back, pool_effect::tell_able,
               pool_effect::forward_heartbeat, pool_effect::review_after,
               pool_effect::log_line>;

} // namespace hippo
