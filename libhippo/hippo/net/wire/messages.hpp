#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "hippo/base/error.hpp"
#include "hippo/base/ids.hpp"
#include "hippo/model/lease.hpp"

namespace hippo {

/// The version of the messages between service and trainers. Grows whenever
/// one side can no longer understand the other.
inline constexpr std::uint32_t protocol_version = 8;

/// The first message of a trainer.
struct hello {
  std::uint32_t protocol = protocol_version; ///< the sender's, not 0
  std::string host;                          ///< empty: unknown
  std::uint64_t process_id = 0;              ///< on `host`; 0: unknown
  std::string device; ///< kind of device, decides the bits; not empty
  /// The workloads that it can train, by name, and their versions: what
  /// decides their results beside the device. An empty one fits all.
  std::map<std::string, std::string> workloads;
  std::uint32_t threads = 0;      ///< that it trains with; 0: unknown
  std::uint64_t memory_bytes = 0; ///< of its device; 0: unknown
  std::string driver; ///< of its GPU: newest CUDA it can run, e.g. `13.0`
  std::string compute_capability; ///< of its GPU, e.g. `9.0`; both empty: none
  /// The option `numerics` of the workloads that it trains; empty: any.
  std::string numerics{};
  /// Between the warning that it has to go and its end; 0: unknown, or none.
  std::uint32_t notice_seconds = 0;
  std::string machine{}; ///< its kind, by name; empty: as the device says
  /// The leases that it trains at once, from 1 to `lanes_max`: of built-in
  /// workloads, and of code that studies bring.
  std::uint32_t at_once = 1;
  std::uint32_t code_at_once = 1;
  /// Seconds until it begins to leave by itself; 0: it has no time limit.
  std::uint32_t seconds_left = 0;
  std::uint32_t ranks = 1; ///< processes of each trial, at most `ranks_max`
  std::string gang{}; ///< HOST:PORT for others of a gang; empty: it is in none
  friend bool operator==(const hello&, const hello&) = default;
};

/// The pool's answer to a `hello`.
struct welcome {
  std::optional<error> refusal; ///< if set, the rest means nothing
  trainer_id trainer{};
  /// From 1 to `max_heartbeat_interval_ms`.
  std::uint64_t heartbeat_interval_ms = 0;
};

/// Asks the trainer of a lease to stop at a further step.
struct stop_request {
  lease_id lease{}; ///< not 0
  stop_point point;        ///< evaluates or saves, or both
  friend bool operator==(const stop_request&, const stop_request&) = default;
};

/// Asks the trainer of a lease to end it after the present step.
struct cancel_request {
  lease_id lease{}; ///< not 0
  friend bool operator==(const cancel_request&,
                         const cancel_request&) = default;
};

/// Says that a trainer is alive, and how far it is.
struct heartbeat {
  trainer_id trainer{}; ///< not 0
  lease_id lease{};   ///< 0: idle
  step_t at = 0;             ///< the state it has reached
  std::uint64_t count = 0;   ///< grows by 1 with each heartbeat
  /// Since the lease was cancelled, whose call of training has not returned; 0:
  /// it was not, or no call runs.
  std::uint64_t overdue_ms = 0;
  friend bool operator==(const heartbeat&, const heartbeat&) = default;
};

/// Says that a report is durable, or will never be needed.
struct ack {
  lease_id lease{}; ///< not 0
  step_t at = 0;
  friend bool operator==(const ack&, const ack&) = default;
};

/// A report that was never acknowledged.
struct resent {
  std::string workload_key; ///< of its lease; not empty
  stop_report report;       ///< its `node` is not 0
};

/// Says that a trainer is about to end.
struct goodbye {
  trainer_id trainer{}; ///< not 0
  friend bool operator==(const goodbye&, const goodbye&) = default;
};

} // namespace hippo
