#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "hippo/forecast/simulate/learning_curve.hpp"
#include "hippo/forecast/simulate/profile.hpp"
#include "hippo/model/lease.hpp"

namespace hippo {

/// The checkpoints of simulated training, which lie in memory only, by folder
/// and file. Those that the service gives up stay: a state is 144 bytes.
using simulated_store = std::unordered_map<std::string, curve_state>;

/// The next event of simulated training.
using simulated_event = std::variant<stop_report, lease_end>;

/// One lease of simulated training, as a function of virtual time: the events
/// that `hippo::run` would bring about, and when.
///
/// A lease waits for `dispatch_seconds`, loads its checkpoint if it starts from
/// one, and then goes from stop to stop: it trains, evaluates and saves as the
/// stop asks. What is drawn at random (the time of the stretch up to a stop,
/// whether and where a stage fails) is addressed by the seed, the workload key,
/// the lease's number, the node and the step: equal leases go alike in every
/// simulation, whatever runs beside them. Reports carry no spread of the times
/// to load, evaluate and save. A gang trains and measures as many times as fast
/// as the profile says of its members. The speed of a trial of several ranks
/// does not depend on the number of trainers that hold them.
///
/// All times are since the lease was handed over. Calls must come in the order
/// of time. Not thread-safe.
class simulated_training {
public:
  using duration = std::chrono::nanoseconds;

  /// @param profile outlives this; has the table that it names, if it does
  /// @param store outlives this
  simulated_training(const simulation_profile& profile, simulated_store& store,
                     std::uint64_t seed, lease lease);

  /// Returns when the next event comes. Changes with `add_stop` and `cancel`.
  /// REQUIRES: the lease has not ended
  [[nodiscard]] duration next_time() const noexcept;

  /// Returns the next event and goes on after it; a `lease_end` is the last.
  /// REQUIRES: the lease has not ended
  simulated_event take();

  /// Asks for a further stop, or for more at one that is asked for already. One
  /// at which the lease is to end comes after the present step at the earliest.
  /// @returns false if training has passed `stop.at`, or ends before it
  bool add_stop(stop_point stop, duration now);

  /// Asks for the lease to end after the present step.
  void cancel(duration now);

  /// Returns the state that training has reached.
  [[nodiscard]] step_t reached(duration now) const noexcept;

  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] const lease& work() const noexcept { return lease_; }

private:
  /// The time until the next event.
  struct stretch {
    std::optional<stop_point> stop;  ///< that it leads to; none: the lease ends
    std::vector<duration> step_ends; ///< of the steps that it trains
    std::optional<error> failure;    ///< that ends it without a report
    bool last_step_fails = false;
    curve_state state; ///< that it leads to
    metrics values;    ///< if the stop evaluates, also those not finite
    bool diverged = false;
    duration end{}; ///< when its event comes
  };

  void start();
  void plan();
  void plan_steps();
  void plan_stop();
  void train_step(const configuration& config, step_t at);
  void measure();
  [[nodiscard]] duration evaluate_time() const;
  void end_with(error why, duration when);
  [[nodiscard]] const stage& stage_at(step_t at) const;
  [[nodiscard]] std::optional<step_t> failing_step(const stage& stage) const;
  [[nodiscard]] error cancelled(step_t at) const;
  stop_report report();
  lease_end finish();

  const simulation_profile* profile_;
  simulated_store* store_;
  lease lease_;
  std::uint64_t address_; ///< of what is drawn for this lease
  learning_curve curve_;

  step_t at_; ///< the state at the begin of the stretch
  curve_state state_;
  duration begin_{}; ///< of the stretch's training
  duration load_{};
  std::size_t next_stop_ = 0;
  double speedup_ = 1; ///< by the other members of a gang
  stretch now_;
  bool cancelled_ = false;
  bool ended_ = false;
};

} // namespace hippo
