#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hippo/model/run_record.hpp"
#include "hippo/model/trainers_cost.hpp"
#include "hippo/model/view/views.hpp"
#include "hippo/service/merge/moment.hpp"
#include "hippo/service/pool/demand_table.hpp"
#include "hippo/service/pool/events.hpp"
#include "hippo/service/pool/kind_gains.hpp"
#include "hippo/service/pool/kind_table.hpp"
#include "hippo/service/pool/machine_prices.hpp"
#include "hippo/service/pool/need_table.hpp"
#include "hippo/service/pool/options.hpp"
#include "hippo/service/pool/pool_view.hpp"
#include "hippo/service/pool/stuck.hpp"
#include "hippo/service/pool/trainer_table.hpp"
#include "hippo/service/pool/workload_demand.hpp"

namespace hippo {

/// How many refused trainers are remembered.
inline constexpr std::size_t refused_trainers_max = 64;

/// Decides which merger gets which trainer, and which trainers are alive:
/// events in, effects out.
///
/// A pure state machine: the same events at the same moments give the same
/// effects. Holds no clock, no thread and no I/O.
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
/// The ranks of a trial are held by one trainer, or by several of one kind. Of
/// these a merger is granted one after the other, if enough are there; where it
/// gives them back since others need them sooner, it is granted none for a
/// while.
///
/// @invariant those of its parts
/// @invariant the devices that a merger holds in the shares are its trainers
/// @invariant rests are of mergers that are there
/// @invariant of each kind as many trainers are counted as are there
class pool_core {
public:
  using effects = std::vector<any_pool_effect>;

  pool_core(pool_options options, moment begun);

  /// Takes in what happens. @returns what is to be done about it, in this order
  /// @param now not before that of the last event
  effects apply(any_pool_event event, moment now);

  // -- looking ----------------------------------------------------------------

  /// The merger of a workload key that has introduced itself.
  [[nodiscard]] std::optional<merger_number>
  merger_of(const std::string& workload_key) const {
    return needs_.merger_of(workload_key);
  }
  /// In order of their numbers; of those that are gone, the last ones.
  /// @param now up to when their time counts; nothing: up to the last event
  [[nodiscard]] std::vector<trainer_record>
  trainers(std::optional<moment> now = std::nullopt) const;
  /// The costs of trainers whose machines are known, by kind, in the order of
  /// the list; those that nobody remembers included.
  /// @param now as of `trainers`
  [[nodiscard]] std::vector<trainers_cost>
  costs(std::optional<moment> now = std::nullopt) const;
  /// How many trainers are connected that no merger holds, and that have ended
  /// what they were given before.
  [[nodiscard]] std::uint64_t idle() const { return trainers_.idle(); }
  /// How many leases would begin at once if there were trainers for them, at
  /// most `waiting_leases_max` for each merger.
  [[nodiscard]] std::uint64_t waiting_leases() const {
    return demands_.waiting_leases();
  }
  [[nodiscard]] std::vector<stuck_workload> stuck() const {
    return stuck_workloads(view());
  }
  /// In the order in which mergers have introduced themselves.
  [[nodiscard]] std::vector<workload_demand> demands() const {
    return workload_demands(view());
  }
  /// The last trainers that were refused, at most `refused_trainers_max`.
  [[nodiscard]] const std::deque<refused_trainer>& refused() const {
    return refused_;
  }
  /// As of `trainer_table::idle_seconds`.
  [[nodiscard]] std::map<trainer_id, double> idle_seconds(moment now) const {
    return trainers_.idle_seconds(now);
  }
  /// The merger that holds a trainer, if any does.
  [[nodiscard]] std::optional<merger_number>
  holder_of(trainer_id trainer) const;
  /// The merger for which a trainer was asked back, if it was.
  [[nodiscard]] std::optional<merger_number>
  reserved_for(trainer_id trainer) const;
  [[nodiscard]] const pool_options& options() const { return options_; }
  /// Mean time until a trainer of a kind of device goes, as it was counted; 0:
  /// none has.
  [[nodiscard]] double
  seconds_between_interruptions(const std::string& kind) const {
    return kinds_.seconds_between_interruptions(kind);
  }

  /// Asserts the invariants. Does nothing in release builds.
  void check_invariants() const;

private:
  // -- events -----------------------------------------------------------------

  void on(pool_event::registered& event);
  void on(pool_event::heard& event);
  void on(pool_event::leaving& event);
  void on(pool_event::disconnected& event);
  void on(pool_event::introduced& event);
  void on(pool_event::demanded& event);
  void on(pool_event::merger_ended& event);
  void on(pool_event::released& event);
  void on(pool_event::stalled& event);
  void on(pool_event::cooled_down& event);
  void on(pool_event::blamed& event);
  void on(pool_event::lease_failed& event);
  void on(pool_event::alive& event);
  void on(pool_event::review_due& event);
  void on(pool_event::ticked& event);

  // -- sharing ----------------------------------------------------------------

  /// Sees to it that every merger gets its share. Follows whatever changes what
  /// they want and hold.
  void share();
  void book_time();
  void tell_able_trainers();
  void note_waiting();
  void grant_idle();
  void log_stuck();
  void ask_back();

  // -- trainers ---------------------------------------------------------------

  void note_refused(const hello& who, const std::string& why);
  void take_back(pool_trainer& trainer);
  void part_from(trainer_id number, const std::string& why);
  void lose(trainer_id number, const std::string& why);
  void let_go(trainer_id number);
  void forget_gone();
  [[nodiscard]] double
  between_interruptions_of(const pool_trainer& trainer) const;

  [[nodiscard]] pool_view view() const {
    return {trainers_, demands_, needs_, kinds_, booked_until_};
  }
  void log(bool is_warning, std::string text);

  pool_options options_;
  trainer_table trainers_;
  kind_table kinds_;
  demand_table demands_;
  need_table needs_;
  machine_prices prices_;
  kind_gains gains_; ///< at the last change of anything
  std::deque<refused_trainer> refused_; ///< oldest first

  moment now_;
  moment booked_until_; ///< time of trainers, kinds and shares
  moment ticked_;
  bool review_due_ = false;   ///< whether a review of the shares is to come
  bool able_changed_ = false; ///< who is able to train for whom

  effects effects_; ///< of the present event
};

} // namespace hippo
