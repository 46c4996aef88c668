#pragma once

#include <cstdint>
#include <istream>
#include <string>

#include "hippo/base/error.hpp"

namespace hippo {

/// The result of a replay.
struct trace_replay {
  std::uint64_t lines = 0;
  std::uint64_t cores = 0;
  std::uint64_t events = 0; ///< that were done again with equal effects
  /// Events of cores that cannot begin again: mergers with the plan of an
  /// earlier run, and whatever follows an exception.
  std::uint64_t left_out = 0;
  /// The first line whose effects differ, with those that come of it now;
  /// empty: none do.
  std::string difference{};
};

/// Feeds the events that `core_trace` has written to fresh cores, and compares
/// the digests of their effects. A last line that was cut short is no error.
/// @returns what came of that, or `errc::malformed_message` with the line that
///          is no part of a trace
expected<trace_replay> replay_trace(std::istream& from);

} // namespace hippo
