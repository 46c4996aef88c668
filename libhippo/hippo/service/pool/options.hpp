#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "hippo/base/byte_ledger.hpp"
#include "hippo/forecast/machines/machines.hpp"
#include "hippo/plan/schedule/placement.hpp"

namespace hippo {

class trace_log;

/// The most trainers that are gone and remembered, the last ones.
inline constexpr std::size_t gone_trainers_max = 1000;

/// A stalled trainer is expected back for this long, and what others have
/// failed at is left to it. Else, where two trainers each stall at something of
/// their own, each would get the same again, without an end.
inline constexpr std::chrono::seconds stalled_awaited{30};

/// The most trainers that a merger's demand counts for in `waiting_leases`.
inline constexpr std::uint64_t waiting_leases_max = 1000;

/// How the pool watches its trainers.
struct pool_options {
  std::chrono::milliseconds heartbeat_interval{1000};
  /// A trainer that sends nothing within this timeout is treated as dead.
  std::chrono::milliseconds silence_max{15'000};
  /// The rule by which mergers get one of several kinds of device.
  placement_rule placement = placement_rule::advantage;
  /// The kinds of machine that trainers may be on: what they cost, and how
  /// often they are interrupted. Nothing: there is no list of them.
  std::optional<fleet> machines{};
  /// Books reports that trainers send again for mergers that are not there yet.
  /// Not null.
  std::shared_ptr<byte_ledger> held = std::make_shared<byte_ledger>();
  /// Where the events are written; null: nowhere. It is no matter of the core.
  std::shared_ptr<trace_log> trace{};
};

} // namespace hippo
