#pragma once

#include <vector>

#include "hippo/forecast/preview/fleet_choice.hpp"
#include "simulated_fleet.hpp"
#include "simulation.hpp"

namespace hippo {

/// What machines may take and cost, and how to say it.
struct fleet_question {
  fleet_limits limits;
  bool as_json = false;
  std::vector<workload_timings> measured{}; ///< by a service; may be empty
};

/// Simulates studies on numbers of machines, and prints which to take. Says
/// on stderr what goes on, if that is a terminal, and what is wrong.
/// @param what studies, their catalogue, and profiles for machines that name
///        none; its trainers and machines are of no matter
/// @returns the exit code: `exit_failed` if no machines keep to the limits
int preview_fleet(simulation what, const known_machines& machines,
                  const fleet_question& question);

} // namespace hippo
