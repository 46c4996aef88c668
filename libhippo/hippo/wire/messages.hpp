#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hippo/core/error.hpp"
#include "hippo/train/lease.hpp"

namespace hippo {

/// The version of the messages between service and trainers. Grows whenever
/// one side can no longer understand the other.
inline constexpr std::uint32_t protocol_version = 1;

/// What a trainer says first.
struct hello {
  std::uint32_t protocol = protocol_version; ///< the sender's, not 0
  std::string host;                          ///< empty: unknown
  std::uint64_t process_id = 0;              ///< on `host`; 0: unknown
  std::string device; ///< kind of device, decides the bits; not empty
  std::vector<std::string> workloads; ///< names it can train, none empty
  std::uint32_t threads = 0;          ///< that it trains with; 0: unknown
  friend bool operator==(const hello&, const hello&) = default;
};

/// The pool's answer to a `hello`.
struct welcome {
  std::optional<error> refusal; ///< if set, the rest means nothing
  std::uint64_t trainer = 0;    ///< number of the trainer, from 1
  std::uint64_t beat_interval_ms = 0; ///< from 1 to `max_beat_interval_ms`
};

/// Asks the trainer of a lease to stop at a further step.
struct stop_request {
  std::uint64_t lease = 0; ///< not 0
  stop_point point;        ///< evaluates or saves, or both
  friend bool operator==(const stop_request&, const stop_request&) = default;
};

/// Asks the trainer of a lease to end it after the present step.
struct cancel_request {
  std::uint64_t lease = 0; ///< not 0
  friend bool operator==(const cancel_request&,
                         const cancel_request&) = default;
};

/// Says that a trainer is alive, and how far it is.
struct beat {
  std::uint64_t trainer = 0; ///< not 0
  std::uint64_t lease = 0;   ///< 0: idle
  step_t at = 0;             ///< the state it has reached
  std::uint64_t count = 0;   ///< grows by 1 with each beat
  friend bool operator==(const beat&, const beat&) = default;
};

} // namespace hippo
