#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "hippo/base/backoff.hpp"
#include "hippo/base/ids.hpp"
#include "hippo/model/run_record.hpp"
#include "hippo/net/wire/messages.hpp"
#include "hippo/service/merge/moment.hpp"
#include "hippo/service/pool/events.hpp"
#include "hippo/service/pool/workload_need.hpp"

namespace hippo {

/// How long a sick trainer rests: at first, and at most. That long after the
/// last time it begins with the first again.
inline constexpr std::chrono::milliseconds sick_rest_first{1000};
inline constexpr std::chrono::milliseconds sick_rest_max{600'000};

/// From here on a trainer that has not returned from a call that was cancelled
/// is said to be held up: most return sooner.
inline constexpr std::chrono::seconds unreturned_shown{5};

/// The name of a trainer: its host and process.
std::string trainer_name(const hello& hello);

/// A trainer as the pool knows it: its abilities, its merger, and the reasons
/// that keep it from being given work.
struct pool_trainer {
  /// The one that says this, before it has a number.
  static pool_trainer from(const hello& hello, moment now);

  trainer_record record;
  std::map<std::string, std::string> workloads; ///< versions, by name
  std::string numerics; ///< of the workloads that it trains; empty: any
  std::optional<merger_number> holder;       ///< none: idle
  std::optional<merger_number> reserved_for; ///< none: not asked back
  moment granted;
  moment since;             ///< when it was given work last, or has lost it
  /// When it joined, or said first that it had no lease; nothing: it has one.
  std::optional<moment> idle_since;
  double interruptions = 0; ///< of its machine, an hour, if that is known
  std::optional<moment> leaves_at; ///< by its time limit; nothing: no limit
  moment last_message;
  /// By merger, for how long it is not given to it, and why it cannot train for
  /// it; empty: it can.
  struct rest {
    moment until;
    std::string unable;
  };
  std::map<merger_number, rest> rests;
  moment sick_until;
  std::optional<moment> blamed; ///< for the last time
  backoff sick_pauses{sick_rest_first, sick_rest_max};
  bool ready = false; ///< whether it is idle by its own account
  bool was_ready = false; ///< whether it has ever been, under its number
  /// Until when it counts as able though it has stalled.
  std::optional<moment> awaited_until;
  lease_id ends{}; ///< that it works on although nobody holds it; 0: none
  /// Since when a lease was to end whose call of training has not returned.
  std::optional<moment> unreturned_since;
  lease_id unreturned{};  ///< that lease
  moment unreturned_said; ///< when a heartbeat has said so last
  std::string gang;       ///< where others of a gang reach it; empty: nowhere
  bool helps = false;     ///< whether its merger gives it up at once
  bool leaving = false;   ///< whether it has taken leave
  bool gone = false;

  /// Adds the time since it was given work, or has lost it, to a record.
  void add_time(moment until, trainer_record& to) const;
  /// Counts its time up to then. Whatever changes whether it has work begins
  /// with this.
  void count_time(moment until);
  /// Takes in whether a heartbeat speaks of a lease.
  void note_idle(const heartbeat& heartbeat, moment now);
  /// Takes in what a heartbeat says of leases that were to end.
  /// @param interval between two of a lease
  void note_unreturned(const heartbeat& heartbeat, moment now,
                       std::chrono::milliseconds interval);
  /// It has failed at what another one could do.
  /// @returns how long it rests from now on; nothing: it rests already
  std::optional<std::chrono::milliseconds> fall_sick(const std::string& why,
                                                     moment now);
  /// Goes on with the rest of one that is gone and was the same.
  void rest_on(const pool_trainer& before, moment now);

  /// As `trainer_record::seconds_left`.
  [[nodiscard]] std::optional<double> seconds_left(moment now) const;
  /// As `trainer_record::held_up`.
  [[nodiscard]] std::string held_up(moment now) const;
  /// Whether it may be given work, now or later.
  [[nodiscard]] bool is_there() const { return !gone && !leaving; }
  [[nodiscard]] bool is_idle(moment now) const {
    return is_there() && !holder && ready && sick_until <= now;
  }
  /// Whether a merger's lease would not fail on it, as far as is known.
  [[nodiscard]] bool is_able(merger_number merger) const {
    const auto i = rests.find(merger);
    return i == rests.end() || i->second.unable.empty();
  }
  [[nodiscard]] bool is_resting(merger_number merger, moment now) const {
    const auto i = rests.find(merger);
    return i != rests.end() && i->second.until > now;
  }
  /// Whether it knows a workload in the version that is needed.
  [[nodiscard]] bool knows(const workload_need& need) const;
  /// Whether it holds all ranks of a trial.
  [[nodiscard]] bool holds_all(const workload_need& need) const {
    return record.ranks == need.ranks;
  }
  /// Whether others like it may hold the ranks of a trial together with it.
  [[nodiscard]] bool can_join(const workload_need& need) const {
    return !gang.empty() && divides(need);
  }
  /// The same, were it only to be reached by others.
  [[nodiscard]] bool divides(const workload_need& need) const {
    return record.ranks < need.ranks && need.ranks % record.ranks == 0;
  }
  /// Whether it knows it, computes as that is to be computed, and holds the
  /// ranks of a trial, alone or with others.
  [[nodiscard]] bool can_train(const workload_need& need) const;
};

} // namespace hippo
