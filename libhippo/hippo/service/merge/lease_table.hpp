#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hippo/base/ids.hpp"
#include "hippo/plan/search_plan.hpp"
#include "hippo/service/merge/moment.hpp"

namespace hippo {

/// How far a lease is.
struct reported_progress {
  step_t reached = 0; ///< the state of the last report
  step_t saved = 0;   ///< the last state that has a checkpoint
  moment granted;
  moment reported; ///< when the last report came, or the grant
  bool has_reported = false; ///< of `reached`, that is
  bool has_recorded = false; ///< whether any of them told something new
  bool taken_up = false; ///< whether its trainer has said anything of it
  bool is_cancelled = false; ///< whether the trainer was asked to drop it
  bool ends_early = false;   ///< whether it was asked to end before its end
  std::string fault{}; ///< what its trainer did that none may; empty: none
  double steps_per_second = 0; ///< of the last report; 0: none came
  /// The leases that its trainer has had since the last report or the grant,
  /// itself among them, added up over the seconds up to `leases_counted`.
  double lease_seconds = 0;
  moment leases_counted;
  bool outranked = false; ///< by what was waiting at the last report
  step_t heartbeat_at = 0; ///< the state of the last heartbeat
  moment heartbeat;        ///< when that came
  double still_seconds = 0; ///< for how long heartbeats have had that state
  double unreported_seconds = 0; ///< heartbeats have come since a report
  /// When its trainer said last that it does something else, or is idle; none:
  /// it has said since that it works on this.
  std::optional<moment> missed{};
  double missed_seconds = 0; ///< for how long it has said so
  /// How long that was for the first state, once another one was reached.
  std::optional<double> first_step_seconds{};
  /// Where it was asked to measure after it had begun.
  std::vector<step_t> added_measurements{};
  // Of a gang's lead:
  std::optional<moment> broken{}; ///< since another member has ended
  bool is_loss_counted = false;   ///< by whatever has broken it
  // Of another member:
  bool has_ended = false; ///< by its own account, in good order
};

/// A lease that a trainer works on.
struct running_lease {
  trainer_id trainer{};
  /// By which people know the trainer: it stays when one that was lost comes
  /// again with another number. Empty: it is not known.
  std::string trainer_name{};
  lease work;
  std::vector<std::string> speed_keys; ///< of the stages
  std::size_t bytes = 0; ///< of its configurations on their way, about
  reported_progress progress;

  [[nodiscard]] lease_id id() const { return work.number; }
  /// How many trainers train it together.
  [[nodiscard]] unsigned members() const {
    return work.gang ? static_cast<unsigned>(work.gang->members.size()) : 1;
  }
  /// Whether another lease, the lead's, reports what it trains.
  [[nodiscard]] bool is_follower() const {
    return work.gang && work.gang->rank > 0;
  }
  /// The stop that it is to report next; null: it has reported the last one.
  /// A lease that only measures begins where it ends: that it has got there
  /// says nothing.
  [[nodiscard]] const stop_point* next_stop() const;
  /// Whether a state is yet to be reported, as far as its way is concerned.
  [[nodiscard]] bool is_to_report(step_t at) const {
    return at > progress.reached
           || (at == progress.reached && !progress.has_reported);
  }
  /// Whether its last stop was reported.
  [[nodiscard]] bool is_told() const {
    return !is_to_report(work.stages.back().end);
  }
};

/// Returns the index of the stage that training up to state `at` has been in;
/// beyond all of them, the last one's.
std::size_t stage_index(const lease& lease, step_t at);

/// The trainers that the pool has granted, their lanes, and the leases on them.
///
/// A trainer has a lane for each lease that it trains at once. It is *free*
/// while it may be given a further lease.
///
/// Trainers that train a path together, a gang, have a lease each: that of the
/// lead, and those of its *followers*, which end with it at the latest.
///
/// @invariant a trainer's leases are those of its occupied lanes
/// @invariant the lease of a lane exists and names that trainer and lane
/// @invariant a free trainer has an empty lane and does not yield
/// @invariant a lease has not reached less than it has saved, nor anything
///            outside of its stages
/// @invariant the lead of a follower is there; the trainers of both have no
///            other lease
class lease_table {
public:
  /// @param first number of the first lease
  explicit lease_table(lease_id first);

  // -- trainers ---------------------------------------------------------------

  /// Takes in a trainer; it is free.
  /// @param lanes leases that it trains at once; not 0
  /// @param leaves_at the end of its time limit; nothing: it has none
  /// @param gang_address where others of a gang reach it; empty: nowhere
  /// @param ranks processes of a trial that it holds; not 0
  /// REQUIRES: it is not here.
  void add(trainer_id trainer, std::uint32_t lanes = 1,
           std::optional<moment> leaves_at = std::nullopt,
           std::string gang_address = {}, std::uint32_t ranks = 1);

  /// Forgets a trainer. @returns the leases that it had
  /// REQUIRES: it is here; none of them has followers.
  std::vector<running_lease> remove(trainer_id trainer_number);

  /// Gives a trainer no further lease, so that it can be released once those
  /// that it has have ended.
  void wind_down(trainer_id trainer);

  /// Lets a trainer be free that has an empty lane, unless it winds down.
  void set_free(trainer_id trainer_number);

  /// A trainer is free no longer, until `set_free`. REQUIRES: it is here.
  void set_aside(trainer_id trainer);

  /// No trainer is free afterwards.
  void set_aside_free() { free_.clear(); }

  /// Returns the free trainers without a lease.
  [[nodiscard]] std::vector<trainer_id> idle_trainers() const;

  // -- leases -----------------------------------------------------------------

  /// Returns the number for a lease to be begun.
  lease_id next_id();

  /// Begins a lease on the lane that it names.
  /// REQUIRES: the lane is empty; the number is from `next_id`.
  void begin(running_lease lease);

  /// Ends a lease. Its lane is empty then; its trainer is not free before
  /// `set_free`. REQUIRES: it runs and has no followers.
  running_lease end(lease_id lease_number);

  /// Counts the leases of a trainer up to now (`lease_seconds`): to be called
  /// before their number changes. REQUIRES: `has(number)`
  void count_leases(trainer_id trainer_number, moment now);

  /// Returns how many leases a trainer has had on average since the last report
  /// of one of them or its grant, which begins anew. REQUIRES: it runs.
  double take_mean_leases(lease_id lease_number, moment now);

  /// The progress of a lease that runs. REQUIRES: it does.
  reported_progress& progress(lease_id lease);

  /// Notes the checkpoint whose state a lane is in; empty: none.
  void set_present(trainer_id trainer_number, std::uint32_t lane,
                   std::string file);

  // -- looking ----------------------------------------------------------------

  /// One of a trainer's lanes.
  struct lane_entry {
    std::optional<lease_id> lease;
    std::string present; ///< file of the checkpoint whose state it is in
  };
  struct trainer_entry {
    std::vector<lane_entry> lanes;
    std::size_t leases = 0;
    bool yields = false; ///< whether it winds down
    std::optional<moment> leaves_at; ///< by its time limit; nothing: no limit
    std::string gang_address;        ///< empty: it trains alone
    std::uint32_t ranks = 1;         ///< processes of a trial that it holds
  };

  /// Returns the lease of that number, or null if it does not run.
  [[nodiscard]] const running_lease* find(lease_id lease) const;
  [[nodiscard]] const std::map<lease_id, running_lease>& leases() const {
    return leases_;
  }
  /// Returns the followers of a lease, by rank.
  [[nodiscard]] std::vector<lease_id> followers_of(lease_id lead) const;
  /// Returns a lead and its followers, by rank.
  [[nodiscard]] std::vector<lease_id> members_of(lease_id lead) const;
  /// Whether any lease has followers.
  [[nodiscard]] bool has_gangs() const { return !followers_.empty(); }
  [[nodiscard]] bool has(trainer_id trainer) const {
    return trainers_.count(trainer) > 0;
  }
  /// REQUIRES: `has(trainer)`
  [[nodiscard]] const trainer_entry& trainer(trainer_id trainer) const;
  /// Returns the leases of a trainer, by lane. REQUIRES: `has(number)`
  [[nodiscard]] std::vector<lease_id>
  leases_of(trainer_id trainer_number) const;
  [[nodiscard]] const std::set<trainer_id>& free_trainers() const {
    return free_;
  }
  [[nodiscard]] std::size_t trainers() const { return trainers_.size(); }
  /// Returns how many trainers have a lease.
  [[nodiscard]] std::size_t trainers_at_work() const { return at_work_; }
  /// Returns how many lanes a trainer has had that was here, at most.
  [[nodiscard]] std::uint32_t most_lanes() const { return most_lanes_; }
  /// Returns how many ranks of a trial a trainer held that was here, at most.
  [[nodiscard]] std::uint32_t most_ranks() const { return most_ranks_; }
  /// Returns how many leases were begun.
  [[nodiscard]] std::uint64_t begun() const {
    return number_of(next_) - number_of(first_);
  }

  /// Asserts the invariants of all trainers and leases.
  void check_invariants() const;

private:
  /// Asserts the invariants of one trainer and its leases.
  void check(trainer_id trainer) const;

  std::uint32_t most_lanes_ = 1;
  std::uint32_t most_ranks_ = 1;
  lease_id first_;
  lease_id next_;
  std::map<trainer_id, trainer_entry> trainers_;
  std::map<lease_id, running_lease> leases_;
  /// Followers behind their leads.
  std::set<std::pair<lease_id, lease_id>> followers_;
  std::set<trainer_id> free_;
  std::size_t at_work_ = 0; ///< trainers with a lease
};

} // namespace hippo
