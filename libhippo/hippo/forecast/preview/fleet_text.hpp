#pragma once

#include <string>
#include <vector>

#include "hippo/forecast/preview/fleet_choice.hpp"

namespace hippo {

/// Where the times of a kind of machine come from.
struct kind_source {
  std::size_t kind = 0;   ///< of the fleet
  std::string text; ///< e.g. `from l4.yaml`; empty: nothing is known of it
};

/// A table of the machines that are worth taking, and which one to take; then
/// what was left out, and where the times come from. At most 120 columns wide.
std::string fleet_text(const fleet& machines, const fleet_choice& choice,
                       const fleet_limits& limits,
                       const std::vector<kind_source>& sources);

/// Top level: `chosen`, `cheapest`, `soonest`, `nearest_in_time` and
/// `nearest_in_cost` (indices of `candidates`, or null), `deadline_seconds` and
/// `budget` (or null), `front` (indices), `sources` (by the name of the kind),
/// and `candidates`: `machines` (numbers by the name of the kind), `use` (as
/// `hippo simulate --use` takes it), `trainers`, `fate`, `seconds_bound`,
/// `cost_bound`, `simulations`, `step_times` (where they come from, by the name
/// of the kind) and, if there are any, `seconds` and `cost`
/// (`mean`, `low`, `high`) and `lost_share`. Two-space indented.
std::string fleet_json(const fleet& machines, const fleet_choice& choice,
                       const fleet_limits& limits,
                       const std::vector<kind_source>& sources);

} // namespace hippo
