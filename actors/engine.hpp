#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <variant>

#include "hippo/model/lease.hpp"

namespace hippo {

/// A lease does not end although it was cancelled, and nothing can end it but
/// the end of this process: the engine takes no more leases. As the last of a
/// lease, in place of its `lease_end`.
struct device_stuck {
  lease_end end;
};

/// What an engine tells of the lease that it runs.
using engine_event = std::variant<stop_report, lease_end, device_stuck>;

/// Takes an engine's events. Called from any thread.
using engine_sink = std::function<void(engine_event)>;

/// What trains; the seam between the trainer actor and a device. No call
/// blocks: work goes on elsewhere and is told through the sink.
///
/// It has as many lanes as its trainer trains leases at once, and each can be
/// given a lease: each of these has a state of its own, and no result depends
/// on what others train.
class engine {
public:
  virtual ~engine() = default;

  /// Starts a lease. Every lease that is started is ended by one `lease_end`, or
  /// by a `device_stuck`.
  /// REQUIRES: the leases of its lane and those of other workload keys, if any,
  ///           have ended.
  virtual void start(const lease& lease, engine_sink sink) = 0;

  /// Asks for a further stop; without effect if it is passed or the lease does
  /// not run. One at which the lease is to end comes after the present step at the
  /// earliest.
  virtual void add_stop(lease_id lease, const stop_point& stop) = 0;

  /// Has the lease end: by itself or, if that takes too long, by the end of what
  /// trains. Without effect if it does not run.
  virtual void cancel(lease_id lease) = 0;

  /// For how long a lease that was cancelled has not returned from its call of
  /// training; 0: it was not, or no call runs.
  [[nodiscard]] virtual std::chrono::milliseconds
  overdue(lease_id /*lease*/) const {
    return {};
  }

  /// The state that a lease has reached; 0 if it does not run.
  [[nodiscard]] virtual step_t reached(lease_id lease) const = 0;
};

} // namespace hippo
