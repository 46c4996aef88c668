#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "hippo/base/backoff.hpp"
#include "hippo/base/byte_ledger.hpp"
#include "hippo/base/ids.hpp"
#include "hippo/forecast/machines/costs.hpp"
#include "hippo/forecast/machines/machines.hpp"
#include "hippo/model/run_record.hpp"
#include "hippo/net/wire/messages.hpp"
#include "hippo/plan/schedule/fair_shares.hpp"
#include "hippo/plan/schedule/placement.hpp"
#include "hippo/service/pool/workload_need.hpp"

namespace hippo {

/// The pool remembers so many trainers that are gone, the last ones.
inline constexpr std::size_t gone_trainers_max = 1000;

/// From here on a trainer that has not returned from a call that was cancelled
/// is said to be held up: most return sooner.
inline constexpr std::chrono::seconds unreturned_shown{5};

/// So long a trainer that has stalled is expected back, and what others have
/// failed at is left to it. Else, where two trainers each stall at something of
/// their own, each would get the same again, without an end.
inline constexpr std::chrono::seconds stalled_awaited{30};

/// As so many a merger counts that could use any number of trainers.
inline constexpr std::uint64_t waiting_leases_max = 1000;

/// How the pool watches its trainers.
struct pool_options {
  std::chrono::milliseconds heartbeat_interval{1000};
  /// A trainer that sends nothing within this timeout is treated as dead.
  std::chrono::milliseconds silence_max{15'000};
  /// Who gets which of several kinds of device.
  placement_rule placement = placement_rule::advantage;
  /// The kinds of machine that trainers may be on: what they cost, and how
  /// often they are interrupted. Nothing: there is no list of them.
  std::optional<fleet> machines{};
  /// Books reports that trainers send again for mergers that are not there yet.
  /// Not null.
  std::shared_ptr<byte_ledger> held = std::make_shared<byte_ledger>();
};

/// Decides which merger gets which trainer, and which trainers are alive.
///
/// A pure state machine: each event returns what is to be done, in that order.
/// Reads no clock; `now` never decreases from one event to the next. Mergers
/// go by numbers that the caller gives them, trainers by numbers from 1.
///
/// An idle trainer goes to the merger that has had the least device time for
/// its weight, of those that have something to train. Where there are several
/// kinds of device, one that gains more by its kind goes first, as long as that
/// leaves nobody far behind (`placement_rule`). Where one falls far behind all
/// the same, because others train on without an end, they are asked to yield a
/// trainer.
///
/// Where a trainer fails, it rests: for the merger that says so alone, as long
/// as nobody knows whose fault it is or the trainer cannot start the workload;
/// for all of them once it is *sick*, because others have trained what it could
/// not. Both are tried again after a while, and end with the first report. Who
/// registers anew rests on.
///
/// @invariant a trainer that a merger holds is connected, and has been idle
///            before
/// @invariant the devices that a merger holds in the shares are its trainers
/// @invariant a trainer is reserved only while another merger holds it
/// @invariant a sick trainer has been blamed, and rests are of mergers that are
///            there
/// @invariant no two needs have the same key
/// @invariant at most `gone_trainers_max` trainers are remembered that are gone
/// @invariant of each kind as many trainers are counted as are there
/// @invariant a trainer's machine is one of the list, and has its price
class pool_core {
public:
  using time_point = std::chrono::steady_clock::time_point;
  using merger_id = std::uint64_t; ///< the caller's number of a merger

  /// How long a sick trainer rests: at first, and at most. So long after the
  /// last time it begins with the first again.
  static constexpr std::chrono::milliseconds sick_first{1000};
  static constexpr std::chrono::milliseconds sick_last{600'000};
  /// So long after the first trainer has come it is said which devices of the
  /// list of machines none has.
  static constexpr std::chrono::seconds listed_devices_after{60};

  // -- effects ----------------------------------------------------------------

  /// The trainer is the merger's from now on.
  struct grant {
    merger_id merger = 0;
    trainer_id trainer{};
    std::string kind{}; ///< of its device
    /// Mean time until it is interrupted: lost, or told to go; 0: not known.
    double seconds_between_interruptions = 0;
    double price = 0;   ///< of an hour; 0: nothing, or it is not known
    std::string name{}; ///< of the trainer: host and process
    std::uint32_t at_once = 1; ///< leases that it trains at once
    std::uint32_t code_at_once = 1; ///< the same of code that studies bring
    friend bool operator==(const grant&, const grant&) = default;
  };

  /// The merger is asked to release the trainer as soon as that pays.
  struct ask_to_yield {
    merger_id merger = 0;
    trainer_id trainer{};
    friend bool operator==(const ask_to_yield&, const ask_to_yield&) = default;
  };

  /// The merger is notified that its trainer is gone.
  struct notify_lost {
    merger_id merger = 0;
    trainer_id trainer{};
    std::string why{}; ///< empty: it has left, or was told to
    friend bool operator==(const notify_lost&, const notify_lost&) = default;
  };

  /// The merger is notified that a trainer of that name which was lost had only
  /// been cut off: the same process has registered anew.
  struct notify_back {
    merger_id merger = 0;
    std::string name;
    friend bool operator==(const notify_back&, const notify_back&) = default;
  };

  /// The merger is told which trainers could train for it, whoever holds them:
  /// those that are connected, know its workload, and are not known to fail;
  /// one that has stalled for a while yet.
  struct tell_able {
    merger_id merger = 0;
    std::map<trainer_id, std::string> trainers; ///< the kinds of their devices
    friend bool operator==(const tell_able&, const tell_able&) = default;
  };

  /// The merger is notified that its trainer works on a lease, or says that it
  /// is idle.
  struct forward_heartbeat {
    merger_id merger = 0;
    heartbeat what;
    friend bool operator==(const forward_heartbeat&,
                           const forward_heartbeat&) = default;
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

  /// `review` is due after this span, beside any that is due already.
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

  using effect
    = std::variant<grant, ask_to_yield, notify_lost, notify_back, tell_able,
                   forward_heartbeat, dismiss, watch, unwatch, review_after,
                   log_line>;
  using effects = std::vector<effect>;

  // -- events -----------------------------------------------------------------

  pool_core(pool_options options, time_point now);

  /// A trainer wants to join.
  /// @param known the number under which the same one is connected already: it
  ///              has missed the answer
  /// @returns the answer, with a number or a refusal
  welcome admit(const hello& x, std::optional<trainer_id> known,
                time_point now, effects& out);

  /// A trainer has sent a heartbeat. With the first on which it is idle it may
  /// be given work.
  effects note_heartbeat(const heartbeat& x, time_point now);

  /// A trainer has passed a stop of a lease: it is alive, it is not sick, and
  /// it can train for the merger that holds it.
  effects note_alive(trainer_id x, time_point now);

  /// A trainer ends, once its merger has released it.
  effects leave(trainer_id x, time_point now);

  /// A trainer's connection or process has ended.
  /// @param in_order whether it ended without an error
  effects disconnect(trainer_id x, bool in_order, const std::string& why,
                     time_point now);

  /// A merger can use the trainers that can train its workload; without this,
  /// any. Replaces what another one with that workload key has said.
  void introduce(merger_id who, workload_need need);

  /// A merger of that weight could use so many trainers, beside those that it
  /// holds.
  /// @param kinds of their devices; empty: any
  /// REQUIRES: `weight > 0`
  effects demand(merger_id who, double weight, std::uint64_t wanted,
                 std::set<std::string> kinds, time_point now,
                 placement_facts facts = {});

  /// A merger has ended; its trainers are free.
  effects forget_merger(merger_id who, time_point now);

  /// A merger is done with a trainer.
  effects release(trainer_id x, time_point now);

  /// A merger is done with a trainer that makes no progress; it is given work
  /// again once it is idle by its own account.
  effects stall(trainer_id x, const std::string& why, time_point now);

  /// The merger that holds the trainer is not to be given it for that span;
  /// others may be.
  /// @param unable why the trainer cannot start the workload; empty: it can
  effects cool_down(trainer_id x, std::chrono::milliseconds span,
                    const std::string& unable, time_point now);

  /// The trainer has failed at what another one could do: it is sick, and is
  /// given no work for a while, longer each time.
  effects blame(trainer_id x, const std::string& why, time_point now);

  /// A lease has failed on the trainer, whoever is to blame: it is counted.
  void note_failure(trainer_id x, const std::string& why);

  /// A review that was asked for is due.
  /// @param ends_cool_down as it was asked for
  effects review(bool ends_cool_down, time_point now);

  /// Looks for trainers that are silent, once in `heartbeat_interval`. When the
  /// caller itself has not run for a while, that time counts for none of them.
  effects tick(time_point now);

  // -- what is known ----------------------------------------------------------

  /// A workload that has something to train, which no trainer can.
  struct stuck_workload {
    std::string key; ///< the workload key
    std::string why; ///< and what to do
    friend bool operator==(const stuck_workload&,
                           const stuck_workload&) = default;
  };

  /// The merger of a workload key that has introduced itself.
  [[nodiscard]] std::optional<merger_id>
  merger_of(const std::string& workload_key) const;
  /// In order of their numbers; of those that are gone, the last ones.
  /// @param now up to when their time counts; nothing: up to the last event
  [[nodiscard]] std::vector<trainer_record>
  trainers(std::optional<time_point> now = std::nullopt) const;
  /// What trainers have cost whose machines are known, by kind, in the order of
  /// the list; those that nobody remembers included.
  /// @param now as of `trainers`
  [[nodiscard]] std::vector<trainers_cost>
  costs(std::optional<time_point> now = std::nullopt) const;
  /// How many trainers are connected that no merger holds, and that have ended
  /// what they were given before.
  [[nodiscard]] std::uint64_t idle() const;
  /// How many leases would begin at once if there were trainers for them, at
  /// most `waiting_leases_max` for each merger.
  [[nodiscard]] std::uint64_t waiting_leases() const;
  [[nodiscard]] std::vector<stuck_workload> stuck() const;
  /// The merger that holds a trainer, if any does.
  [[nodiscard]] std::optional<merger_id> holder_of(trainer_id x) const;
  /// The merger for which a trainer was asked back, if it was.
  [[nodiscard]] std::optional<merger_id> reserved_for(trainer_id x) const;
  [[nodiscard]] const pool_options& options() const { return options_; }
  /// Mean time until a trainer of a kind of device goes, as it was counted; 0:
  /// none has.
  [[nodiscard]] double
  seconds_between_interruptions(const std::string& kind) const;

  /// Asserts the invariants.
  void check_invariants() const;

private:
  struct trainer_entry {
    trainer_record record;
    std::map<std::string, std::string> workloads; ///< versions, by name
    std::string numerics; ///< of the workloads that it trains; empty: any
    std::optional<merger_id> holder;       ///< none: idle
    std::optional<merger_id> reserved_for; ///< none: not asked back
    time_point granted;
    time_point since; ///< when it was given work last, or has lost it
    double interruptions = 0; ///< of its machine, an hour, if that is known
    time_point last_message;
    /// By merger, for how long it is not given to it, and why it cannot train
    /// for it; empty: it can.
    struct rest {
      time_point until;
      std::string unable;
    };
    std::map<merger_id, rest> rests;
    time_point sick_until;
    std::optional<time_point> blamed; ///< for the last time
    backoff sick_pauses{sick_first, sick_last};
    bool ready = false;   ///< whether it is idle by its own account
    /// Until when it counts as able though it has stalled.
    std::optional<time_point> awaited_until;
    lease_id ends{}; ///< that it works on although nobody holds it; 0: none
    /// Since when a lease was to end whose call of training has not returned.
    std::optional<time_point> unreturned_since;
    lease_id unreturned{};       ///< that lease
    time_point unreturned_said; ///< when a heartbeat has said so last
    bool leaving = false; ///< whether it has taken leave
    bool gone = false;

    void add_time(time_point until, trainer_record& to) const;
    /// Takes in what a heartbeat says of leases that were to end.
    /// @param interval between two of a lease
    void note_unreturned(const heartbeat& x, time_point now,
                         std::chrono::milliseconds interval);
    /// As `trainer_record::held_up`.
    [[nodiscard]] std::string held_up(time_point now) const;
    /// Whether it may be given work, now or later.
    [[nodiscard]] bool is_there() const { return !gone && !leaving; }
    [[nodiscard]] bool is_idle(time_point now) const {
      return is_there() && !holder && ready && sick_until <= now;
    }
    /// Whether a merger's lease would fail on it, as far as is known.
    [[nodiscard]] bool is_able(merger_id x) const {
      const auto i = rests.find(x);
      return i == rests.end() || i->second.unable.empty();
    }
    [[nodiscard]] bool is_resting(merger_id x, time_point now) const {
      const auto i = rests.find(x);
      return i != rests.end() && i->second.until > now;
    }
    /// Whether it knows a workload in the version that is needed.
    [[nodiscard]] bool knows(const workload_need& need) const;
    /// Whether it knows it, and computes as that is to be computed.
    [[nodiscard]] bool can_train(const workload_need& need) const;
  };

  struct merger_entry {
    merger_id id = 0;
    std::uint64_t wanted = 0; ///< trainers that it could use
    std::set<std::string> kinds{}; ///< of their devices; empty: any
    placement_facts facts{};
  };

  /// Trainers of a kind of device.
  struct kind_entry {
    std::size_t trainers = 0; ///< that are there
    std::uint64_t memory_bytes = 0; ///< of the last one that has come
    double seconds = 0; ///< for which trainers were there, added up over them
    std::uint64_t interruptions = 0; ///< trainers that have gone
  };

  /// What mergers gain by kinds of device.
  struct preferences {
    /// By the merger's place and kind. Empty: nothing speaks against turns.
    std::vector<std::map<std::string, double>> gains;
    double slack = 0; ///< of turns, by which the one that gains may be ahead
    [[nodiscard]] bool empty() const { return gains.empty(); }
  };

  /// What a merger that has introduced itself needs.
  struct need_entry {
    merger_id merger = 0;
    workload_need need;
    std::string logged_stuck{}; ///< why it has to wait, as the log has it
    /// With `tell_able`.
    std::optional<std::map<trainer_id, std::string>> told{};
  };

  struct projected_shares;

  /// A trainer that a merger may be asked for.
  struct candidate {
    trainer_id number{};
    trainer_entry* trainer = nullptr;
    std::size_t from = 0; ///< the merger's place
  };

  [[nodiscard]] std::optional<std::size_t> place_of(merger_id x) const;
  [[nodiscard]] bool suits(const trainer_entry& x, merger_id merger) const;
  [[nodiscard]] bool has_trainer_for(merger_id merger) const;
  [[nodiscard]] std::map<trainer_id, std::string>
  able_for(merger_id merger) const;
  /// Whether a trainer suits a merger, and is of a kind that it could use now.
  [[nodiscard]] bool is_of_use(const trainer_entry& x, merger_id merger) const;
  [[nodiscard]] bool is_stuck(const need_entry& x) const;
  [[nodiscard]] std::string why_stuck(const need_entry& x) const;
  /// The kinds that it waits for, if no trainer is of any; else nothing.
  [[nodiscard]] std::string kinds_lacking(const need_entry& x) const;
  [[nodiscard]] bool could_use(const trainer_entry& x,
                               std::size_t place) const;
  [[nodiscard]] std::optional<std::size_t>
  next_for(const trainer_entry& x, const fair_shares& shares) const;
  void note_preferences();
  [[nodiscard]] std::vector<std::map<std::string, double>> gains() const;
  [[nodiscard]] std::vector<std::set<std::string>> assigned_kinds() const;
  [[nodiscard]] std::vector<std::string> kinds_by_strength() const;
  [[nodiscard]] bool is_contended() const;
  trainer_entry* find_connected(trainer_id x);

  void catch_up(time_point now);
  void note_waiting();
  void grant_idle(time_point now, effects& out);
  void log_stuck(effects& out);
  void tell_able_trainers(effects& out);
  std::optional<candidate> candidate_for(const projected_shares& next,
                                         std::size_t to);
  void ask_back(effects& out);
  void share(time_point now, effects& out);
  void take_back(trainer_entry& x);
  void count_time(trainer_entry& x) const;
  void keep_cost(const trainer_record& x);
  void find_machine(trainer_entry& x, const std::string& said,
                    effects& out) const;
  void look_for_listed_devices(time_point now, effects& out);
  [[nodiscard]] double between_interruptions_of(const trainer_entry& x) const;
  void forget_gone();
  void rest_on(trainer_entry& x, time_point now) const;
  void part_from(trainer_id number, trainer_entry& x, const std::string& why,
                 time_point now, effects& out);
  void lose(trainer_id number, const std::string& why, time_point now,
            effects& out);
  void let_go(trainer_id number, time_point now, effects& out);
  /// Asserts the invariants in debug builds.
  void checked() const;

  pool_options options_;
  std::map<trainer_id, trainer_entry> trainers_;
  trainer_id last_trainer_{};
  std::vector<need_entry> needs_;
  std::vector<merger_entry> mergers_;
  fair_shares shares_;      ///< of the mergers, by their places above
  time_point shared_until_; ///< what `shares_` knows of
  std::map<std::string, kind_entry> kinds_; ///< that have ever been there
  preferences preferences_; ///< at the last change of anything
  time_point ticked_;
  /// What trainers have cost that nobody remembers, by kind of machine.
  std::map<std::string, trainers_cost> forgotten_costs_;
  std::optional<time_point> first_joined_; ///< when the first trainer has
  bool has_looked_for_devices_ = false; ///< of the list of machines
  bool review_due_ = false; ///< whether a review of the shares is to come
  bool able_changed_ = false; ///< who is able to train for whom
};

} // namespace hippo
