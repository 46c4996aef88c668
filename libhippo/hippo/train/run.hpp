#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "hippo/checkpoint/state_store.hpp"
#include "hippo/model/lease.hpp"
#include "hippo/train/call_watch.hpp"
#include "hippo/train/gang_lead.hpp"
#include "hippo/train/recent_states.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// How others reach a lease while it trains. Thread-safe.
class lease_control {
public:
  explicit lease_control(std::vector<stop_point> stops);

  /// Asks for a further stop, or for more at one that is asked for already. One
  /// at which the lease is to end comes after what is claimed at the earliest.
  /// @returns false if training has passed `stop.at`, or ends before it
  /// REQUIRES: `stop.at` is not before the lease's first step.
  bool add(stop_point stop);

  /// Asks for the lease to end after the present step.
  void cancel() noexcept { cancelled_ = true; }
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_; }

  /// Returns the first stop at or after `at`, which stays changeable, or
  /// nothing after the last one.
  [[nodiscard]] std::optional<stop_point> peek(step_t at) const;

  /// Takes the steps from `at` up to the next stop for training, but none beyond
  /// `most`: later `add`s for states between fail. @returns the state to reach
  [[nodiscard]] step_t claim(step_t at, step_t most);

  /// Takes the stop at `at`: later `add`s for it or anything before it fail.
  [[nodiscard]] std::optional<stop_point> take(step_t at);

  /// Whether the last stop has been taken.
  [[nodiscard]] bool done() const;

private:
  mutable std::mutex mutex_;
  std::vector<stop_point> stops_; ///< sorted by `at`
  step_t passed_ = 0;             ///< steps below are out of reach
  std::atomic<bool> cancelled_{false};
};

/// The work of a device's thread while it trains; counts for the heartbeat.
struct lease_progress {
  explicit lease_progress(call_limits limits = {}) : calls(limits) {}

  watched_calls calls; ///< of the workload, from lease to lease
  std::atomic<lease_id> lease{};
  std::atomic<step_t> at{0};
};

/// Runs `work` on `lease`: loads its start (or inits), trains a few steps at a
/// time (so that it can be reached several times a second), stops where
/// `control` says, evaluates, saves, and reports each stop. Ends at the last
/// stop (or at one that was made so), at the first failure, or when cancelled.
/// A metric that is not finite is the failure `errc::diverged`; such a stop is
/// reported without values and saves nothing. A failure among several steps is
/// tried again step by step, so that it is placed at the right one. One after
/// the lease was cancelled is no failure: it may have been ended for that.
/// `gang_lost` is `errc::gang_lost`.
/// Checkpoints are named by `checkpoint_name`. While they are written, training
/// goes on, up to the last stop or until several states wait (`stop_queue`);
/// a stop is reported, and its state kept, once its checkpoint is there.
/// @param present the checkpoint whose state `work` is in, if there is one, now
///        and when this returns. A lease that starts from it loads nothing.
/// @param kept states that `work` can restore: a lease that starts from one of
///        them reads nothing. All are let go of once `work` has thrown, as that
///        may have been for want of memory.
/// @param store where states are read and written, one at a time
/// @param now_ns a monotonic clock in nanoseconds
/// @param report called once for each stop, in their order, from this thread or
///        another one
lease_end run(workload& work, std::optional<checkpoint>& present,
              recent_states& kept, const lease& lease, state_store& store,
              const std::string& device, lease_control& control,
              lease_progress& progress,
              const std::function<std::uint64_t()>& now_ns,
              const std::function<void(const stop_report&)>& report);

/// Runs `work` on a lease of a gang as a member that is not the lead: brings it
/// into the lease's first state, as `run` does, and trains and measures by the
/// orders of `lead` until it says that the lease has ended. Stops and reports
/// nothing, nor does it look at metrics; it
/// leaves once `control` has a stop before the end of the lease. Other
/// parameters are those of `run`, and so are failures.
lease_end follow(workload& work, std::optional<checkpoint>& present,
                 recent_states& kept, const lease& lease, state_store& store,
                 const std::string& device, lease_control& control,
                 lease_progress& progress,
                 const std::function<std::uint64_t()>& now_ns, gang_lead& lead);

} // namespace hippo
