#pragma once

#include <string>

#include "hippo/preview/fleet_choice.hpp"
#include "simulation.hpp"

namespace hippo {

/// Which machines are thought of, and what they may take.
struct fleet_question {
  std::string file; ///< of the machines and their prices
  fleet_limits limits;
  bool as_json = false;
};

/// Simulates studies on the machines of a file, and prints which to take. Says
/// on stderr what goes on, if that is a terminal, and what is wrong.
/// @param what studies, their catalogue, and profiles for machines that name
///        none; its trainers and machines are of no matter
/// @returns the exit code: `exit_failed` if no machines keep to the limits
int preview_fleet(simulation what, const fleet_question& question);

} // namespace hippo
