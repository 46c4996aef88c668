#pragma once

#include <chrono>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "hippo/core/backoff.hpp"
#include "hippo/merge/lease_table.hpp"
#include "hippo/schedule/scheduler.hpp"

namespace hippo {

/// The path is leased again.
struct retry {
  bool trainer_leaves = false; ///< it hands back whatever it is given
};

/// The trainer's disk or network has failed, by no fault of the path. It gets
/// no work for that long.
struct cool_down {
  std::chrono::milliseconds span{0};
};

/// The measurement of a state is not finite.
struct mark_diverged {
  node_id node = 0;
  step_t at = 0;
};

/// The checkpoint that the lease started from cannot be used.
struct forget_checkpoint {
  node_id node = 0;
  step_t at = 0;
};

/// Training has failed too often: every trial that needs that state fails.
struct fail_from {
  node_id node = 0;
  step_t at = 0;
  error reason;
};

/// What a failed lease means.
using verdict
  = std::variant<retry, cool_down, mark_diverged, forget_checkpoint, fail_from>;

/// Counts failures, and says what each of them means.
///
/// @invariant of each failed state at least one trainer has tried, and no more
///            trainers than attempts were made
class retry_policy {
public:
  /// A state that training could not leave is left to other trainers for so
  /// long.
  static constexpr double other_trainer_seconds = 60;

  /// How long a trainer gets no work whose disk or network has failed: at
  /// first, and at most after it has failed again and again.
  static constexpr std::chrono::milliseconds cool_down_first{1000};
  static constexpr std::chrono::milliseconds cool_down_last{60'000};

  /// @param attempts_max how often training from a state may fail; not 0
  explicit retry_policy(unsigned attempts_max);

  /// Takes in the failure of a lease.
  /// @param plan what its checkpoint is looked up in
  /// REQUIRES: `end.failure` is set.
  verdict judge(const running_lease& x, const lease_end& end,
                const search_plan& plan, moment now);

  /// A lease of the trainer has ended well.
  void note_success(trainer_id x) { cool_downs_.erase(x); }

  /// A trainer has left.
  void forget(trainer_id x) { cool_downs_.erase(x); }

  /// Whether a trainer has failed at a path that others, which are at work,
  /// should try now.
  /// @complexity O(failures on the path's nodes * leases)
  [[nodiscard]] bool is_left_to_others(trainer_id x, const path& what,
                                       const lease_table& leases,
                                       moment now) const;

  void check_invariants() const;

private:
  /// Where training has failed.
  struct failed_state {
    unsigned attempts = 0;
    std::set<trainer_id> trainers; ///< that have tried
    moment last;
  };

  verdict judge_training(const running_lease& x, const lease_end& end,
                         moment now);

  unsigned attempts_max_;
  /// By node, and the state that was saved last.
  std::map<std::pair<node_id, step_t>, failed_state> failures_;
  /// Of trainers whose disk or network failed last.
  std::map<trainer_id, backoff> cool_downs_;
};

} // namespace hippo
